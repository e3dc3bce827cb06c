from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from view_cases import attempted

from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.outward import outward
from toolcrib_mcp.views import read_selector
from toolcrib_mcp.views.selectors import (
    EXAMPLES,
    OPERATORS,
    SELECTORS,
    All,
    Bytes,
    Condition,
    Head,
    Keys,
    Lines,
    Order,
    Path,
    Pointer,
    Raw,
    Rows,
    Search,
    Shape,
    Tail,
    type_of,
)

pytestmark = pytest.mark.req("GW-4.6")


@pytest.mark.parametrize(
    ("raw", "selector"),
    [
        ({"type": "head"}, Head(lines=50)),
        ({"type": "head", "chars": 80}, Head(lines=None, chars=80)),
        ({"type": "tail", "lines": 3.0}, Tail(lines=3)),
        ({"type": "lines", "start": 2, "end": 2}, Lines(start=2, end=2)),
        ({"type": "lines"}, Lines()),
        ({"type": "bytes", "start": 0, "end": 1}, Bytes(start=0, end=1)),
        ({"type": "search", "text": "a", "context": 0}, Search(text="a", context=0)),
        (
            {"type": "search", "pattern": "a+", "ignore_case": True, "max": 3},
            Search(pattern="a+", ignore_case=True, max=3),
        ),
        ({"type": "pointer", "pointer": ""}, Pointer()),
        ({"type": "path", "path": "$.a"}, Path(path="$.a")),
        ({"type": "keys", "pointer": None}, Keys()),
        ({"type": "shape", "pointer": "/a"}, Shape(pointer="/a")),
        ({"type": "all"}, All()),
        ({"type": "raw"}, Raw()),
        (
            {
                "type": "rows",
                "columns": ["a", "b", "a"],
                "where": [
                    {"column": "a", "op": "==", "value": 1},
                    {"column": "b", "op": "in", "value": [1, "x", None]},
                ],
                "sort": [{"column": "a", "desc": True}],
                "start": 5,
                "count": 2,
            },
            Rows(
                columns=("a", "b"),
                where=(Condition(column="a", op="=", value=1), Condition(column="b", op="in", value=(1, "x", None))),
                sort=(Order(column="a", desc=True),),
                start=5,
                count=2,
            ),
        ),
    ],
)
def test_a_selector_is_read_from_its_json(raw, selector):
    assert read_selector(raw) == selector


@pytest.mark.parametrize("type_", SELECTORS)
def test_the_example_of_every_type_is_a_correct_selector_of_that_type(type_):
    assert type_of(read_selector(json.loads(EXAMPLES[type_]))) == type_


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (None, "not null"),
        ("head", "not a string"),
        ([], "not a list"),
        ({}, "no `type`"),
        ({"type": 3}, "no `type`"),
        ({"type": "haed"}, "Did you mean `head`?"),
        ({"type": "../../etc/passwd"}, "no selector type"),
        ({"type": "head", "line": 3}, "Did you mean `lines`?"),
        ({"type": "all", "lines": 3}, "no field `lines`"),
        ({"type": "head", "lines": 0}, "from 1 to"),
        ({"type": "head", "lines": -5}, "from 1 to"),
        ({"type": "head", "chars": 10**30}, "from 1 to"),
        ({"type": "head", "lines": True}, "must be an integer"),
        ({"type": "head", "lines": 1.5}, "must be an integer"),
        ({"type": "head", "lines": float("nan")}, "must be an integer"),
        ({"type": "head", "lines": "3"}, "must be an integer"),
        ({"type": "head", "lines": 3, "chars": 4}, "not both"),
        ({"type": "lines", "start": 5, "end": 4}, "before `start`"),
        ({"type": "bytes", "start": 5, "end": 5}, "behind `start`"),
        ({"type": "bytes", "start": -1}, "from 0 to"),
        ({"type": "search"}, "either `text` or `pattern`"),
        ({"type": "search", "text": "a", "pattern": "a"}, "either `text` or `pattern`"),
        ({"type": "search", "text": ""}, "1 to 1,000 characters"),
        ({"type": "search", "text": "x" * 1_001}, "1 to 1,000 characters"),
        ({"type": "search", "text": "a\nb"}, "line break"),
        ({"type": "search", "text": "\ud800"}, "lone surrogate"),
        ({"type": "search", "text": ["a"]}, "must be a string"),
        ({"type": "search", "text": "a", "context": 21}, "from 0 to 20"),
        ({"type": "search", "text": "a", "ignore_case": "yes"}, "true or false"),
        ({"type": "pointer"}, "`pointer` is missing"),
        ({"type": "pointer", "pointer": "a/b"}, "begins with `/`"),
        ({"type": "pointer", "pointer": "/a~2"}, "`~0`"),
        ({"type": "pointer", "pointer": "/a" * 1_101}, "steps"),
        ({"type": "path"}, "`path` is missing"),
        ({"type": "path", "path": "$" * 1_001}, "1 to 1,000 characters"),
        ({"type": "rows", "columns": []}, "list of names"),
        ({"type": "rows", "columns": "a"}, "must be a list"),
        ({"type": "rows", "columns": [1]}, "list of names"),
        ({"type": "rows", "columns": ["a"] * 201}, "200 items"),
        ({"type": "rows", "where": ["a = 1"]}, "entry of `where` is an object"),
        ({"type": "rows", "where": [{"column": "a"}]}, "needs `column` and `op`"),
        ({"type": "rows", "where": [{"column": "a", "op": "=<", "value": 1}]}, "no operator"),
        ({"type": "rows", "where": [{"column": "a", "op": "conains", "value": 1}]}, "Did you mean `contains`?"),
        ({"type": "rows", "where": [{"column": "a", "op": "<"}]}, "needs a `value`"),
        ({"type": "rows", "where": [{"column": "a", "op": "=", "value": [1]}]}, "a number, a boolean or null"),
        ({"type": "rows", "where": [{"column": "a", "op": "in", "value": [[1]]}]}, "`in` needs"),
        ({"type": "rows", "where": [{"column": "a", "op": "in"}]}, "`in` needs"),
        ({"type": "rows", "where": [{"col": "a", "op": "=", "value": 1}]}, "no field `col`"),
        ({"type": "rows", "sort": [{"desc": True}]}, "needs a `column`"),
        ({"type": "rows", "sort": [{"column": "a", "desc": 1}]}, "true or false"),
        ({"type": "rows", "count": 0}, "from 1 to"),
    ],
)
def test_a_mistake_is_answered_with_what_is_right(raw, said):
    with pytest.raises(ViewFailed) as raised:
        read_selector(raw)

    assert said in raised.value.message
    assert raised.value.hint
    assert outward(raised.value)["error"] == "VIEW_FAILED"
    assert not raised.value.retryable


def test_the_hint_of_a_mistake_has_a_correct_selector():
    with pytest.raises(ViewFailed) as raised:
        read_selector({"type": "bytes", "start": "a"})

    assert EXAMPLES["bytes"] in str(raised.value.hint)


def test_every_operator_is_read():
    for op in OPERATORS:
        value = ["a"] if op == "in" else "a"
        read = read_selector({"type": "rows", "where": [{"column": "a", "op": op.upper(), "value": value}]})

        assert isinstance(read, Rows)
        assert read.where[0].op == op


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = "lines chars start end text pattern context max pointer path columns where sort count ignore_case column op"


@given(
    raw=JSON
    | st.dictionaries(st.sampled_from(FIELDS.split()), JSON, max_size=4).flatmap(
        lambda fields: st.sampled_from([*SELECTORS]).map(lambda type_: {"type": type_, **fields})
    )
)
def test_any_json_is_a_selector_or_a_refusal_with_a_hint(raw):
    answer = attempted(b"text", raw, ContentKind.RECORDS)

    if isinstance(answer, ViewFailed):
        assert answer.hint
        assert len(answer.message) < 500
