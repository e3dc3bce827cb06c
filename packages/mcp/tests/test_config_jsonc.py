from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_core import MalformedJson, parse_json
from toolcrib_core.schema.limits import INSTANCE_LIMITS
from toolcrib_mcp.config.jsonc import line_of, lines_of, parse_jsonc

pytestmark = pytest.mark.req("GW-6.1")

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.text(st.sampled_from('a"\\/*,:]}é\n'), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('ab~/"', max_size=3), inner, max_size=4),
    max_leaves=20,
)


def read(text: str) -> object:
    return parse_jsonc(text, limits=INSTANCE_LIMITS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("// before\n[1] // after", [1]),
        ("[1, /* inside, ] */ 2]", [1, 2]),
        ("[1, 2,]", [1, 2]),
        ('{"a": 1,}', {"a": 1}),
        ("[1, // last\n /* really */ ]", [1]),
        ("[1 /* one */ ,\n]", [1]),
        ("[[1,],]", [[1]]),
        ('["// not a comment", "/* nor this */", ",]"]', ["// not a comment", "/* nor this */", ",]"]),
        ('["a\\"//b", 1]', ['a"//b', 1]),
        ("/**/ 1", 1),
        ("/* * ** / */ 1", 1),
    ],
)
def test_comments_and_trailing_commas_are_read_over(text, value):
    assert read(text) == value


@pytest.mark.parametrize(
    "text",
    ["[,]", "[1,,]", "{,}", "[1 2]", "[1] /* open", "[1] /*/", "[1] /", "{'a': 1}", "[1],", '{"a":,}', "# 1\n1", '"a'],
)
def test_everything_else_is_as_strict_as_json(text):
    with pytest.raises(MalformedJson):
        read(text)


def test_an_error_has_its_line_and_column_in_the_file_as_it_is():
    with pytest.raises(MalformedJson) as caught:
        read('{ // first\n  /* second\n  third */ "a": 1,\n  "b": oops\n}')

    assert (caught.value.details["line"], caught.value.details["column"]) == (4, 8)


@given(VALUES, st.booleans())
def test_what_any_writer_of_json_writes_is_read_as_it_was(value, indented):
    text = json.dumps(value, indent=2 if indented else None, ensure_ascii=False)

    assert read(text) == value


@given(VALUES)
def test_comments_between_all_lines_change_nothing(value):
    text = json.dumps(value, indent=2)

    assert read("\n".join(f"/* , */{line}// ]" for line in text.split("\n"))) == value


@given(st.text(st.sampled_from('[]{},:"\\/* \n1a')))
def test_plain_json_is_read_exactly_as_the_strict_reader_does(text):
    try:
        strict = parse_json(text)
    except MalformedJson:
        return

    assert read(text) == strict


def test_the_line_of_every_place_is_known():
    text = '{\n"a": [\n  1,\n  {"b": 2},\n  [\n   3]],\n"c/~": {\n  "d": /* here */\n  4}}'

    assert lines_of(text) == {
        "": 1,
        "/a": 2,
        "/a/0": 3,
        "/a/1": 4,
        "/a/1/b": 4,
        "/a/2": 5,
        "/a/2/0": 6,
        "/c~1~0": 7,
        "/c~1~0/d": 8,
    }


def test_the_line_of_what_is_missing_is_that_of_what_is_around_it():
    lines = lines_of('{\n"a": {\n"b": 1}}')

    assert [line_of(place, lines) for place in ("/a/b", "/a/c/d", "/x", "")] == [3, 2, 1, 1]
    assert line_of("/x", {}) == 1


@given(VALUES)
def test_every_place_of_a_document_has_a_line(value):
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()

    lines = lines_of(text)

    assert lines.keys() >= set(_containers(value, ""))
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


@given(st.text(st.sampled_from('[]{},:"\\/* \n1a')))
def test_lines_are_found_in_any_text_without_a_failure(text):
    assert isinstance(lines_of(text), dict)


def _containers(value: object, place: str) -> list[str]:
    if isinstance(value, list):
        return [place, *(each for index, item in enumerate(value) for each in _containers(item, f"{place}/{index}"))]
    if isinstance(value, dict):
        keys = {key: key.replace("~", "~0").replace("/", "~1") for key in value}
        return [place, *(each for key, item in value.items() for each in _containers(item, f"{place}/{keys[key]}"))]
    return []
