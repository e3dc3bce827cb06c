"""Reading JSON text: exact, bounded, or refused with the place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_strategies import finite_floats, json_values, names

from toolcrib_core.errors import ArgumentsTooLarge, MalformedJson, ToolError
from toolcrib_core.json_text import parse_json
from toolcrib_core.schema.limits import JsonLimits

SMALL = JsonLimits(max_depth=3, max_nodes=10, max_bytes=100)
PRINTABLE = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6)
VALUES = json_values(st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | finite_floats | PRINTABLE, names)


@settings(max_examples=150)
@given(VALUES, st.sampled_from([{}, {"indent": 2}, {"ensure_ascii": False}]))
def test_what_was_written_is_read_back_exactly(value: Any, style: dict[str, Any]) -> None:
    text = json.dumps(value, **style)

    read = parse_json(text)

    assert (read, repr(read)) == (value, repr(value))
    assert parse_json(text.encode()) == value


@pytest.mark.fault("B7")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9007199254740993", 2**53 + 1),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("-0", 0),
        ("0.12345678901234567890123", 0.12345678901234568),
        ('"18446744073709551616"', "18446744073709551616"),
        ("[1e-12345678901234567890]", [0.0]),
    ],
)
def test_a_number_that_can_be_kept_is_kept_exactly(text: str, value: Any) -> None:
    assert parse_json(text) == value


@pytest.mark.fault("B7")
@pytest.mark.parametrize(
    "number",
    ["1" * 5000, "-" + "1" * 5000, "1e999", "-1e999", "NaN", "Infinity", "-Infinity", str(2**64), str(-(2**63) - 1)],
)
def test_a_number_that_cannot_be_kept_is_refused_with_its_place(number: str) -> None:
    with pytest.raises(MalformedJson) as caught:
        parse_json('{"a": true,\n "n": ' + number + "}")

    assert caught.value.details["line"] == 2
    assert 7 <= int(str(caught.value.details["column"])) <= 8
    assert "line 2" in caught.value.message


@pytest.mark.fault("B8")
@pytest.mark.parametrize(
    ("data", "offset"),
    [
        ('{"a": 1, "a": 2}', 9),
        ('{"a": 1, "\\u0061": 2}', 9),
        ('{"x": [{"é": 1, "é": 2}]}', 16),
        ('{"a": "\\u003a", "a": 2}', 16),
        ('["\\ud800"]', 2),
        ('["ok", "\ud800"]', 8),
        ('["a\\u0000b"]', 3),
        (b'["a\x00b"]', 3),
        ("\ufeff[]", 0),
        (b"\xef\xbb\xbf[]", 0),
        (b'["\xc3\xa9", "\xff"]', 7),
        (b'["\xed\xa0\x80"]', 2),
        ("[1] [2]", 4),
        ("[1,]", 2),
        ("", 0),
    ],
)
def test_text_that_two_readers_would_read_differently_is_refused_with_its_place(data: str | bytes, offset: int) -> None:
    with pytest.raises(MalformedJson) as caught:
        parse_json(data)

    assert caught.value.details["offset"] == offset
    assert caught.value.details["column"] == offset + 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": {"k": 1}, "b": {"k": 2}}', {"a": {"k": 1}, "b": {"k": 2}}),
        ('[{"k": 1}, {"k": ":"}]', [{"k": 1}, {"k": ":"}]),
        ('{"a": "\\u003a", "b": {"a": 1}}', {"a": ":", "b": {"a": 1}}),
        ('"\\\\u0000"', "\\u0000"),
        ('["{[", "\\"}"]', ["{[", '"}']),
    ],
)
def test_text_that_only_looks_ambiguous_is_read(text: str, value: Any) -> None:
    assert parse_json(text) == value


@pytest.mark.fault("B6")
@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000 + "]" * 10_000,
        "[" * 10_000,
        "[" * 201 + "]" * 201,
        '"' + "a" * (5 * 1024 * 1024) + '"',
        "[" + "1," * 100_000 + "1]",
        "{" + ",".join(f'"{at}":1' for at in range(100_000)) + "}",
    ],
    ids=["deep", "deep and open", "one too deep", "long", "many items", "many keys"],
)
def test_a_text_over_the_limits_is_refused(text: str) -> None:
    with pytest.raises(ArgumentsTooLarge, match="too large"):
        parse_json(text)


@pytest.mark.parametrize(
    "text",
    ["[[[1]]]", '{"a":{"b":{"c":"[[[[[["}}}', "[1,2,3,4,5,6,7,8,9]", '"' + "a" * 98 + '"', '"' + "é" * 48 + '"'],
)
def test_a_text_at_its_limits_is_read(text: str) -> None:
    assert parse_json(text, limits=SMALL) == json.loads(text)


@pytest.mark.parametrize("text", ["[[[[1]]]]", "[1,2,3,4,5,6,7,8,9,10]", '"' + "a" * 99 + '"', '"' + "é" * 50 + '"'])
def test_a_text_just_over_its_limits_is_refused(text: str) -> None:
    with pytest.raises(ArgumentsTooLarge):
        parse_json(text, limits=SMALL)


@settings(max_examples=300)
@given(st.binary(max_size=60) | st.text(max_size=60) | st.text('{}[]",:0123456789.eE+-\\utrfalsn ', max_size=60))
def test_any_input_is_read_or_refused_with_a_tool_error(data: str | bytes) -> None:
    try:
        value = parse_json(data)
    except ToolError:
        return

    assert json.loads(data) == value


def test_the_message_does_not_hold_the_text() -> None:
    with pytest.raises(MalformedJson) as caught:
        parse_json('{"password": "hunter2", "password": "hunter3"}')

    assert "hunter" not in json.dumps(caught.value.to_dict())
