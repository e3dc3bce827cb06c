"""`toolcrib toolset import-openapi`: documents in files, the operations of one, and calls that arrive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toolset_services import Service, web_service
from typer.testing import CliRunner

from toolcrib_cli.app import app
from toolcrib_cli.toolset.documents import read_document
from toolcrib_core import ToolError
from toolcrib_mcp.errors import ConfigError

pytestmark = [pytest.mark.req("TS-9"), pytest.mark.req("TS-13"), pytest.mark.enable_socket]

SHOP = """\
openapi: 3.1.0
info: {title: Shop, version: 1.0}
x-shared: &shared {tags: [shop], deprecated: false}
servers: [{url: 'http://127.0.0.1:{port}/api', variables: {port: {default: '9'}}}]
security: [{key: []}]
paths:
  /orders:
    get:
      <<: *shared
      operationId: orders/list
      parameters:
        - {name: since, in: query, schema: {type: string, default: 2020-01-01}}
      responses:
        200: {description: Orders.}
    post:
      operationId: orders/create
      requestBody:
        required: true
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, properties: {item: {type: string}, on: {type: boolean}}}
  /legacy:
    put:
      operationId: legacy
      requestBody: {content: {application/xml: {schema: {type: object}}}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Shop-Key}
"""
KEY = "canary-key-of-the-shop"


@pytest.fixture
def service() -> Iterator[Service]:
    with web_service() as opened:
        opened.answer = {"id": 7}
        yield opened


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("TOOLCRIB_MASTER_KEY", "TOOLCRIB_MASTER_KEY_FILE", "TOOLCRIB_PRINCIPAL", "TOOLCRIB_TOOLSETS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TOOLCRIB_TOOLSETS_ALLOW", "loopback")
    file = tmp_path / "shop.yaml"
    file.write_text(SHOP, encoding="utf-8")
    return file


def _run(*arguments: str, text: str | None = None) -> Any:
    return CliRunner().invoke(app, ["toolset", *arguments], input=text)


def _json(*arguments: str, text: str | None = None) -> Any:
    result = _run(*arguments, "--json", text=text)
    assert result.exit_code == 0, result.exception or result.output
    return json.loads(result.stdout)


def _refused(*arguments: str, text: str | None = None) -> ToolError:
    result = _run(*arguments, text=text)
    assert isinstance(result.exception, ToolError), result.output
    return result.exception


REFUSED = [
    {
        "name": "legacy",
        "method": "PUT",
        "path": "/legacy",
        "reason": "its body is `application/xml`, which cannot be written",
    }
]


def test_a_document_is_imported_its_refusals_are_listed_and_its_tools_work(shop: Path, service: Service) -> None:
    port = service.url.rpartition(":")[2]
    _run("init-key")
    arguments = ("import-openapi", str(shop), "shop", "--variable", f"port={port}", "--key-file", "-")

    made = _json(*arguments, text=KEY)
    _run("enable", "http-api")
    called = _json("run", "shop", "orders_create", "--args", '{"body": {"item": "a b", "on": true}}')

    assert (made["name"], made["operations"], made["refused"]) == ("shop", ["orders_list", "orders_create"], REFUSED)
    assert called == {"result": {"id": 7}, "error": None}
    assert (service.asked[0].path, service.asked[0].body) == ("/api/orders", b"item=a%20b&on=true")
    assert service.asked[0].headers["x-shop-key"] == KEY


def test_people_see_what_is_left_out_and_why(shop: Path) -> None:
    _run("init-key")

    listed = _run("import-openapi", str(shop), "--dry-run")
    made = _run("import-openapi", str(shop), "shop", "--key-file", "-", text=KEY)

    assert listed.stdout.splitlines() == [
        "orders_list  GET http://127.0.0.1:9/api/orders",
        "orders_create  POST http://127.0.0.1:9/api/orders",
    ]
    assert made.stdout == "shop is there, with 2 tools.\n"
    left_out = (
        "1 operation is left out:\n  legacy  PUT /legacy: its body is `application/xml`, which cannot be written\n"
    )
    assert listed.stderr == left_out
    assert made.stderr.startswith(left_out)


def test_a_dry_run_makes_nothing_and_needs_no_master_key(shop: Path) -> None:
    listed = _json("import-openapi", str(shop), "--dry-run", "--base-url", "https://x.example")

    assert listed == {
        "operations": [
            {"name": "orders_list", "method": "GET", "path": "/orders", "server": "https://x.example"},
            {"name": "orders_create", "method": "POST", "path": "/orders", "server": "https://x.example"},
        ],
        "refused": REFUSED,
    }
    assert _json("list") == {"toolsets": []}


def test_only_what_is_chosen_becomes_a_tool(shop: Path, service: Service) -> None:
    _run("init-key")
    chosen = ("--only", "orders/l*", "--base-url", service.url, "--query", "k", "--key-file", "-")
    made = _json("import-openapi", str(shop), "shop", *chosen, text=KEY)
    _run("enable", "http-api")
    _json("run", "shop", "orders_list", "--args", '{"since": "x"}')

    assert (made["operations"], made["refused"]) == (["orders_list"], [])
    assert _json("show", "shop")["tools"] == ["orders_list"]
    assert service.asked[0].path == f"/orders?since=x&k={KEY}"


@pytest.mark.req("CT-3")
def test_what_the_service_says_of_a_failure_is_printed(shop: Path, service: Service) -> None:
    _run("init-key")
    _json("import-openapi", str(shop), "shop", "--base-url", service.url, "--key-file", "-", text=KEY)
    _run("enable", "http-api")
    service.status, service.answer = 422, {"error": "no such item"}

    result = _run("run", "shop", "orders_create", "--args", '{"body": {}}')

    assert result.exit_code == 1
    assert "(422)" in result.stderr
    assert "no such item" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "The instance needs a name."),
        (("shop", "--variable", "port"), "`port` is not a variable."),
        (("shop", "--variable", "prt=1"), "the servers have no variable `prt`; known are `port`"),
        (("shop", "--only", "orders/lst"), "`only` names `orders/lst`"),
        (("shop", "--query", "k", "--basic"), "name one of `header`, `query`, `cookie` and `basic`"),
        (("shop", "--base-url", "http://10.0.0.1"), "a private address"),
    ],
)
def test_wrong_options_get_a_clear_error_before_a_key_is_asked_for(
    shop: Path, options: tuple[str, ...], message: str
) -> None:
    assert message in _refused("import-openapi", str(shop), *options).message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{"a": 1,\n "b" 2}', "is not JSON at line 2, column 6: Expecting ':' delimiter."),
        ("a.json", '{"a": NaN}', "holds `NaN`, which is not JSON."),
        ("a.json", "[" * 100_000, "is nested too deep"),
        ("a.json", "[]", "is not a JSON object."),
        ("a.yaml", "", "is not a JSON object."),
        ("a.yaml", "a: [1, 2\nb: 3", "is not YAML at line 2, column"),
        ("a.yaml", "a: 1\nb: 2\na: 3", "cannot be used at line 3, column 1: the key `a` stands there twice."),
        ("a.yaml", "a: !thing x", "cannot be used at line 1, column 4: the tag `!thing` is not read."),
        ("a.yaml", "a: !!set {x}", "the tag `tag:yaml.org,2002:set` is not read."),
        ("a.yaml", "a: &a [*a]", "an alias stands for what it is in."),
        ("a.yaml", "? [a]\n: 1", "a key is not text."),
        ("a.yaml", "a: {<<: 1}", "what is merged is not an object."),
        ("a.yaml", "a: " + "[" * 300 + "]" * 300, "it is nested more than 200 deep."),
    ],
)
def test_a_file_that_cannot_be_read_gets_the_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        read_document(file)

    assert message in caught.value.message


def test_a_file_that_is_missing_too_large_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_bytes(b"#" * (16 * 1024 * 1024 + 1))
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff")

    for name, message in (
        ("none.yaml", "cannot be read"),
        ("large.yaml", "more than 16 MiB"),
        ("bytes.yaml", "not UTF-8 at byte 3"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_document(tmp_path / name)


def test_yaml_is_read_as_json_has_it(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "base: &base {a: 1, b: 2}\n"
        "more: &more {b: 3, c: 4}\n"
        "merged: {<<: [*base, *more], a: 0}\n"
        "200: {no: yes, on: off, true: True}\n"
        "plain: [2020-01-01, 010, 0x1F, 1_000, 1:30, 1.5, .5, 1.0e+999, .inf, ~, 'true', <<, =]\n",
        encoding="utf-8",
    )

    read = read_document(file)

    assert read["merged"] == {"a": 0, "b": 2, "c": 4}
    assert read["200"] == {"no": "yes", "on": "off", "true": True}
    assert read["plain"] == [
        "2020-01-01", 10, "0x1F", "1_000", "1:30", 1.5, 0.5, "1.0e+999", ".inf", None, "true", "<<", "=",
    ]  # fmt: skip
