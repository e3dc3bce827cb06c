from __future__ import annotations

import firewall_samples as samples
import pytest

from toolcrib_mcp.firewall import ContentKind, content_kind, summarise

pytestmark = pytest.mark.req("GW-4.5")

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x08"

KINDS = [
    (samples.issue_list(), ContentKind.RECORDS),
    (b'\xef\xbb\xbf [{"a": 1}]\r\n', ContentKind.RECORDS),
    (samples.search_answer(), ContentKind.JSON),
    (b"[]", ContentKind.JSON),
    (b'[{"a": 1}, 2]', ContentKind.JSON),
    (b"{}", ContentKind.JSON),
    (samples.orders(), ContentKind.TABLE),
    (b"\xef\xbb\xbfa;b\r\n1;2\r\n3;4\r\n", ContentKind.TABLE),
    (b"name\tsize\nx\t1\ny\t2\n", ContentKind.TABLE),
    (b"2024-01-01 00:00:00,a,b,c\n" * 5, ContentKind.TABLE),
    (samples.service_log(), ContentKind.LOG),
    (samples.access_log(), ContentKind.LOG),
    (samples.json_lines(), ContentKind.LOG),
    (b"info: started\nwarn: slow\ninfo: done\n", ContentKind.LOG),
    (b"May  1 12:00:00 host sshd[1]: opened\n" * 4, ContentKind.LOG),
    (b"2024-05-01 12:00:00,123 done\n" * 4, ContentKind.LOG),
    (b"level=info msg=started\nlevel=error msg=failed\nlevel=info msg=over\n", ContentKind.LOG),
    (samples.PYTHON, ContentKind.CODE),
    (samples.GO, ContentKind.CODE),
    (samples.DIFF, ContentKind.CODE),
    (samples.YAML, ContentKind.CODE),
    (b'[{"id": 1, "name": "cut off', ContentKind.CODE),
    (samples.HTML, ContentKind.MARKUP),
    (b"<!-- a comment -->\n<div>text</div>", ContentKind.MARKUP),
    (samples.XML, ContentKind.MARKUP),
    (b"<order id='1'><total>2</total></order>", ContentKind.MARKUP),
    (samples.MARKDOWN, ContentKind.MARKUP),
    (samples.PROSE, ContentKind.PROSE),
    (samples.REPORT, ContentKind.PROSE),
    (samples.LISTING, ContentKind.PROSE),
    (b"Yes, it is.\nNo, it is not.\nWell, perhaps.\n", ContentKind.PROSE),
    (b"a < b and b > c", ContentKind.PROSE),
    (b"", ContentKind.PROSE),
    (b" \n\t", ContentKind.PROSE),
    (b"42", ContentKind.PROSE),
    ("Grüße aus Köln. ".encode("latin-1") * 20, ContentKind.PROSE),
    (PNG, ContentKind.IMAGE),
    (b"\xff\xd8\xff\xe0\0\x10JFIF", ContentKind.IMAGE),
    (b"RIFF\0\0\0\0WEBPVP8 ", ContentKind.IMAGE),
    (b"RIFF\0\0\0\0WAVEfmt ", ContentKind.AUDIO),
    (b"ID3\x04\0\0", ContentKind.AUDIO),
    (b"%PDF-1.7\n", ContentKind.BINARY),
    (b"PK\x03\x04", ContentKind.BINARY),
    (b"some text\0and more", ContentKind.BINARY),
    (bytes(range(128, 256)) * 4, ContentKind.BINARY),
    ("zwei".encode("utf-16"), ContentKind.BINARY),
]

NAMED = [
    (b"42", "application/json", ContentKind.JSON),
    (b'"text"', "application/vnd.api+json", ContentKind.JSON),
    (b"not json", "application/json", ContentKind.PROSE),
    (b"", "application/json", ContentKind.PROSE),
    (b"a,b", "text/csv; charset=utf-8", ContentKind.TABLE),
    (b"one column\nonly", "text/csv", ContentKind.TABLE),
    (b"plain", "text/markdown", ContentKind.MARKUP),
    (b"plain", "text/html", ContentKind.MARKUP),
    (b"<svg/>", "image/svg+xml", ContentKind.MARKUP),
    (b"x = 1", "text/x-python", ContentKind.CODE),
    (b"a: 1", "application/yaml", ContentKind.CODE),
    (b'{"a": 1}\n{"a": 2}', "application/x-ndjson", ContentKind.LOG),
    (b"\0\1\2\3", "image/x-unheard-of", ContentKind.IMAGE),
    (b"\0\1\2\3", "audio/x-unheard-of", ContentKind.AUDIO),
    (b"\0\1\2\3", "video/mp4", ContentKind.BINARY),
    (b"Not found", "image/png", ContentKind.PROSE),
    (PNG, "text/plain", ContentKind.IMAGE),
]


@pytest.mark.parametrize(("content", "kind"), KINDS, ids=range(len(KINDS)))
def test_content_tells_what_it_is(content, kind):
    assert content_kind(content) is kind


@pytest.mark.parametrize(("content", "media_type", "kind"), NAMED, ids=range(len(NAMED)))
def test_a_media_type_is_a_hint_and_no_proof(content, media_type, kind):
    assert content_kind(content, media_type) is kind


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "typescript",
            b"import { a } from './a'\nexport interface Order {\n  id: number\n}\nconst total: number = 1\n",
        ),
        ("javascript", b"const a = require('a')\nfunction run() {\n  return a;\n}\nmodule.exports = run\n"),
        ("rust", b"use std::io;\npub struct A {\n}\nimpl A {\n    pub fn new() -> A {\n        let a = 1;\n    }\n}\n"),
        (
            "java",
            b"package a.b;\nimport java.util.List;\npublic class A {\n    private int x;\n    public int x() {}\n}\n",
        ),
        ("c", b"#include <stdio.h>\n#define N 3\nint main(void) {\n    return N;\n}\n"),
        ("ruby", b"require 'json'\nclass A\n  def run\n    1\n  end\nend\n"),
        ("php", b"<?php\nnamespace A;\n$a = 1;\nclass B {\n    public function run() {\n    }\n}\n"),
        ("shell", b"#!/bin/sh\nset -e\nrun() {\n  echo hello\n}\nif [ -f a ]; then\n  run\nfi\n"),
        ("sql", b"CREATE TABLE a (\n  id int\n);\nINSERT INTO a VALUES (1);\nSELECT * FROM a\nWHERE id = 1;\n"),
        ("css", b".a {\n  color: red;\n}\n#b {\n  margin: 0;\n}\n"),
        ("toml", b"[tool]\nname = 'a'\nsize = 3\n[tool.more]\nx = 1\n"),
    ],
)
def test_source_text_is_code_in_its_language(name, content):
    assert content_kind(content) is ContentKind.CODE
    assert summarise(content, ContentKind.CODE).facts["language"] == name


def test_a_kind_says_how_it_can_be_read():
    assert [kind for kind in ContentKind if kind.is_json] == [ContentKind.JSON, ContentKind.RECORDS]
    assert [kind for kind in ContentKind if not kind.is_text] == ["binary", "image", "audio"]
