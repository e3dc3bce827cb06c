"""YAML that is refused: bombs, tags, merges, duplicates, and what two readers would take for two things."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from loading_packs import GOOD, loaded, pack_with, places, violations, write_text

from toolcrib_toolpacks import yaml_reading
from toolcrib_toolpacks.yaml_reading import MAX_FILE_BYTES, read_yaml


@contextmanager
def _cpu_below(seconds: float) -> Iterator[None]:
    started = time.process_time()
    yield
    assert time.process_time() - started < seconds


def _laughs(levels: int) -> str:
    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, levels)]
    return "\n".join(lines)


def _codes(text: str | bytes) -> list[tuple[int, int, str]]:
    data = text if isinstance(text, bytes) else text.encode()
    return [(*each.place, each.code) for each in read_yaml(data).faults]


@pytest.mark.req("TP-11")
@pytest.mark.fault("C1")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(_laughs(9), "anchor", id="billion laughs"),
        pytest.param("&a [*a]", "anchor", id="recursive alias"),
        pytest.param("[" * 1000 + "]" * 1000, "too-deep", id="1,000 lists deep"),
        pytest.param("[" * 200_000, "too-deep", id="200,000 lists deep"),
        pytest.param("{a: " * 1000, "too-deep", id="1,000 mappings deep"),
        pytest.param("- " * 1000, "too-deep", id="1,000 items deep"),
        pytest.param("? " * 1000, "key-not-text", id="keys of keys"),
        pytest.param("a: " + "x" * 10_000_000, "too-large", id="10 MB"),
        pytest.param("[" + "1," * 30_000 + "]", "too-many-values", id="30,000 values"),
        pytest.param("[" + "no," * 30_000 + "]", "ambiguous-value", id="30,000 faults"),
    ],
)
def test_a_bomb_is_refused_before_it_goes_off(tmp_path: Path, text: str, code: str) -> None:
    write_text(tmp_path, "a.tool.yaml", text)

    # The promise is 50 ms; this is only far below what following it would take.
    with _cpu_below(2):
        found = violations(tmp_path)

    assert code in {each.code for each in found}
    assert len(found) <= 120


@pytest.mark.req("TP-3", "TP-11", "D0-3d")
@pytest.mark.fault("C2")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: !!python/object:os.system x", [(1, 4, "tag")]),
        ("a: !custom {b: 1}\nc: !!str 3\nd: ! 3", [(1, 4, "tag"), (2, 4, "tag"), (3, 4, "tag")]),
        ("a:\n  <<: {x: 1}", [(2, 3, "merge-key")]),
        ("a: 1\nb: 2\n'a': 3", [(3, 1, "duplicate-key")]),
        ("a:\n  x: 1\n  x: {y: 1, y: 2}", [(3, 3, "duplicate-key"), (3, 13, "duplicate-key")]),
        ("a: 1\n---\nb: 2", [(2, 1, "second-document")]),
        ("%YAML 1.1\n---\na: 1", [(1, 1, "directive")]),
        ("%TAG ! tag:x,2000:\n---\na: 1", [(1, 1, "directive")]),
        ("a:\n\tb: 1", [(2, 1, "tab")]),
        ("a:\tb", [(1, 3, "tab")]),
        ("a: {b: 1,\n\tc: 2}", [(2, 1, "tab")]),
        ("a: &x 1", [(1, 4, "anchor")]),
        ("a: *x", [(1, 4, "alias")]),
        ("*x : 1", [(1, 1, "alias")]),
        ("a: [1, 2\nb: 3", [(2, 2, "not-yaml")]),
        ("a: b: c", [(1, 5, "not-yaml")]),
        ('a: "\\0"', [(1, 4, "not-text")]),
        (b"a: \x07", [(1, 4, "not-text")]),
        (b"a: b\nc: \xff", [(2, 4, "not-utf-8")]),
        (
            "1: a\ntrue: b\non: c\n~: d",
            [(1, 1, "key-not-text"), (2, 1, "key-not-text"), (3, 1, "key-not-text"), (4, 1, "key-not-text")],
        ),
        ("? {a: 1}\n: b", [(1, 3, "key-not-text")]),
        ("? [a]\n: b", [(1, 3, "key-not-text")]),
    ],
)
def test_what_a_pack_may_not_use_is_refused_with_line_and_column(
    text: str | bytes, found: list[tuple[int, int, str]]
) -> None:
    assert _codes(text) == found


@pytest.mark.fault("C2")
@pytest.mark.parametrize("text", ["a: 'x\ty'", 'a: "x\ty"', "a: b # \tcomment", "# \t\na: 1", "a: |\n  x\ty\n  z"])
def test_a_tab_may_stand_in_a_text_and_in_a_comment(text: str) -> None:
    assert _codes(text) == []


@pytest.mark.req("TP-3")
@pytest.mark.fault("C3")
@pytest.mark.parametrize(
    "word",
    [
        "no",
        "Yes",
        "ON",
        "off",
        "012",
        "0o17",
        "0x1F",
        "0b11",
        "1_000",
        "1:30",
        "12:30:45.5",
        "2024-01-01",
        "2024-01-01T10:00:00Z",
        ".inf",
        "-.INF",
        ".nan",
        "+5",
        ".5",
        "5.",
        "=",
        "+1.5e3",
        "190:20:30",
    ],
)
def test_a_word_that_readers_disagree_about_must_be_in_quotes(word: str) -> None:
    plain, in_quotes = read_yaml(f"a: {word}".encode()), read_yaml(f"a: '{word}'".encode())

    assert [each.code for each in plain.faults] == ["ambiguous-value"]
    assert (in_quotes.value, in_quotes.faults) == ({"a": word}, ())


@pytest.mark.fault("C3")
@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("0", 0),
        ("1.10", 1.1),
        ("2e3", 2000.0),
        ("-1.5E-2", -0.015),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("n", "n"),
        ("y", "y"),
        ("1.2.3", "1.2.3"),
        ("-", "-"),
        (".", "."),
        ("..", ".."),
        ("v1", "v1"),
        ("node", "node"),
        ("tomorrow", "tomorrow"),
        ("12:61", "12:61"),
        ("_1", "_1"),
        ("9007199254740991", 2**53 - 1),
        ("-9007199254740991", 1 - 2**53),
    ],
)
def test_a_word_that_all_readers_agree_about_is_what_it_looks_like(word: str, value: object) -> None:
    document = read_yaml(f"a: {word}".encode()) if word != "-" else read_yaml(b"a: '-'")

    assert document.faults == ()
    assert (document.value["a"], type(document.value["a"])) == (value, type(value))


@pytest.mark.fault("C3")
@pytest.mark.parametrize("word", ["9007199254740992", "-9007199254740992", "1e999", "9" * 400, "-1" + "0" * 5000])
def test_a_number_that_json_cannot_carry_is_refused(word: str) -> None:
    assert [code for *_, code in _codes(f"a: {word}")] == ["number-too-large"]


@pytest.mark.fault("C3")
def test_a_value_of_the_wrong_kind_is_told_once_and_not_twice(tmp_path: Path) -> None:
    document = yaml.safe_dump(dict(GOOD), sort_keys=False)
    text = document.replace("deterministic: true", "deterministic: no").replace("timeoutMs: 2000", "timeoutMs: 012")
    write_text(tmp_path, "a.tool.yaml", text)

    assert places(tmp_path) == [("deterministic", "ambiguous-value"), ("timeoutMs", "ambiguous-value")]


@pytest.mark.req("TP-11")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "not-a-mapping"),
        ("# nothing", "not-a-mapping"),
        ("[1]", "not-a-mapping"),
        ("x", "not-a-mapping"),
        ("---", "not-a-mapping"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str, code: str) -> None:
    write_text(tmp_path, "a.tool.yaml", text)

    assert places(tmp_path) == [("", code)]


@pytest.mark.req("TP-11")
def test_every_value_has_the_place_it_was_read_from() -> None:
    document = read_yaml(b"\xef\xbb\xbfa: 1\nb:\n  - x\n  - {c: d}\n'e f': 2\n")

    assert document.value == {"a": 1, "b": ["x", {"c": "d"}], "e f": 2}
    assert document.places == {
        (): (1, 1),
        ("a",): (1, 1),
        ("b",): (2, 1),
        ("b", 0): (3, 5),
        ("b", 1): (4, 5),
        ("b", 1, "c"): (4, 6),
        ("e f",): (5, 1),
    }
    assert document.place(("b", 7, "x")) == (2, 1)
    assert document.place(("nothing",)) == (1, 1)


@pytest.mark.req("TP-11")
def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    text = b"a: '" + b"x" * (MAX_FILE_BYTES - 5) + b"'"

    assert _codes(text) == []
    assert [code for *_, code in _codes(text + b" ")] == ["too-large"]


@pytest.mark.req("TP-11")
@pytest.mark.parametrize(
    "text", [_laughs(5), "a: [1, 2", "a: 1\nb: {c: [x, 'y']}", "a:\n\tb: 1", "a: \x07", "x: 1\n---\n", 'a: "\\ud800"']
)
def test_without_the_parser_in_c_the_same_is_read_and_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_c = read_yaml(text.encode())
    monkeypatch.setattr(yaml_reading, "_PARSER", yaml.SafeLoader)

    in_python = read_yaml(text.encode())

    assert in_python.value == in_c.value or in_c.faults
    assert bool(in_python.faults) == bool(in_c.faults)


@pytest.mark.req("CT-7")
@pytest.mark.parametrize(
    "form",
    [{}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}, {"ensure_ascii": False}],
    ids=["plain", "indented", "tabs", "compact", "not escaped"],
)
def test_a_pack_that_was_written_as_json_loads(form: dict[str, Any], tmp_path: Path) -> None:
    text = 'rain \U0001f327, a tab\t, a line\u2028, \\ud83d, \x7f, "quotes" and \\'
    document = pack_with({"description": text, "metadata": {"\U0001f327": ["\U0001f327\U0001f327"]}})
    write_text(tmp_path, "a.tool.yaml", json.dumps(document, **form))

    pack = loaded(tmp_path)

    assert pack.description == text
    assert pack.metadata == {"\U0001f327": ["\U0001f327\U0001f327"]}


@pytest.mark.req("TP-11", "D0-3d")
@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("cmd: [echo, {{ input.city }}]", 'must be in quotes, as in `"{{ input.name }}"`'),
        ("url: {{ input.url }}", 'must be in quotes, as in `"{{ input.name }}"`'),
        ("description: Greets: a person", "A text that holds `: ` must be in quotes"),
        ("description: @home", "A text that begins with this character must be in quotes"),
        ("a: 1\ndescription: 'hi\nb: 1\n", "while scanning a quoted scalar that begins on line 2"),
    ],
    ids=["list", "value", "colon", "sign", "quote"],
)
def test_a_mistake_that_authors_make_is_told_with_its_remedy(text: str, advice: str) -> None:
    assert advice in read_yaml(text.encode()).faults[0].message


@pytest.mark.req("CT-7")
def test_half_of_a_character_is_refused_and_what_only_looks_like_an_escape_is_kept() -> None:
    assert _codes(b'a: "\\ud83d"\n') == [(1, 4, "not-text")]
    assert read_yaml(b'a: \\ud83d\\ude00\nb: "\\\\ud83d\\\\ude00"').value == dict.fromkeys("ab", "\\ud83d\\ude00")
