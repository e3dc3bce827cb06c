"""The arguments of a call: read, checked and copied before anything of the tool runs."""

from __future__ import annotations

import functools
import json
from collections import UserDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from small_toolboxes import as_tool, box, called, error_of

from toolcrib_core import ArgumentsTooLarge, InvalidArguments, MalformedJson
from toolcrib_runtime import RetryPolicy, RunnableTool
from toolcrib_runtime.arguments import take_arguments
from toolcrib_runtime.testing import EventRecorder, FakeTool, fake_tool

_SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "unit": {"enum": ["celsius", "kelvin"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def forecast() -> FakeTool:
    return fake_tool("forecast", returns="sun", schema=_SCHEMA)


class Pair(NamedTuple):
    one: int
    other: int


class Number(float):
    """A float of another class, as the numbers of numpy are."""


@pytest.mark.req("RT-3")
@pytest.mark.fault("B6", "B7", "B8", "B10")
@pytest.mark.parametrize(
    "given",
    [
        pytest.param("", id="empty text"),
        pytest.param("{", id="half an object"),
        pytest.param("[]", id="a list as text"),
        pytest.param("null", id="null as text"),
        pytest.param("{'city': 'Oslo'}", id="python instead of JSON"),
        pytest.param('{"city": "Oslo"} {"city": "Rome"}', id="two documents"),
        pytest.param('{"city": "Oslo", "city": "Rome"}', id="a key twice"),
        pytest.param('{"city": "Oslo", "days": NaN}', id="NaN as text"),
        pytest.param('{"city": "Oslo", "days": 1e999}', id="infinity as text"),
        pytest.param('{"city": "\\ud800"}', id="a lone surrogate as text"),
        pytest.param(b'{"city": "\xff"}', id="not UTF-8"),
        pytest.param("\ufeff{}", id="a byte order mark"),
        pytest.param('{"city": ' * 10_000, id="10,000 deep as text"),
        pytest.param({}, id="nothing"),
        pytest.param(None, id="none"),
        pytest.param([], id="a list"),
        pytest.param(5, id="a number"),
        pytest.param({"city": 5}, id="a wrong type"),
        pytest.param({"city": "Oslo", "days": "5"}, id="a number in quotes"),
        pytest.param({"city": "Oslo", "days": 0}, id="too small"),
        pytest.param({"city": "Oslo", "days": True}, id="a boolean for an integer"),
        pytest.param({"city": "Oslo", "days": float("nan")}, id="NaN"),
        pytest.param({"city": "Oslo", "days": 10**30}, id="a number of 31 digits"),
        pytest.param({"city": "Oslo", "unit": "rankine"}, id="not among the allowed"),
        pytest.param({"city": "Oslo", "planet": "Earth"}, id="unknown"),
        pytest.param({"city": "\ud800"}, id="a lone surrogate"),
        pytest.param('{"city": "a\\u0000b"}', id="a NUL character as text", marks=pytest.mark.req("CT-7")),
        pytest.param({"city": "a\x00b"}, id="a NUL character", marks=pytest.mark.req("CT-7")),
        pytest.param({"city": "Oslo", "\x00": 1}, id="a NUL character in a key", marks=pytest.mark.req("CT-7")),
        pytest.param(UserDict({"city": "\x00"}), id="a NUL character in a mapping", marks=pytest.mark.req("CT-7")),
        pytest.param({"city": object()}, id="an object"),
        pytest.param({"city": b"Oslo"}, id="bytes"),
        pytest.param({1: "Oslo"}, id="a key that is no text"),
        pytest.param({"city": "Oslo", "tags": {"a"}}, id="a set"),
        pytest.param({"city": Number(1.5)}, id="a number of another class for a text"),
        pytest.param({"city": Pair(1, 2)}, id="a named tuple for a text"),
        pytest.param({"city": functools.reduce(lambda inner, _: [inner], range(10_000), 1)}, id="10,000 deep"),
        pytest.param({"city": "x" * 50_000_000}, id="50 MB"),
        pytest.param(UserDict({"town": "Oslo"}), id="a mapping of another class"),
    ],
)
async def test_bad_arguments_of_every_kind_never_start_the_tool(given: Any) -> None:
    tool = forecast()

    result = await box(tool).call("forecast", given)

    assert result.outcome == "error"
    assert result.error is not None
    assert result.error.category in {"validation", "limit"}
    assert result.error.code in {"toolbox.invalid-arguments", "toolbox.malformed-json", "toolbox.arguments-too-large"}
    assert (tool.calls, result.attempts, result.snapshot, result.input_digest) == ([], 0, None, None)


@pytest.mark.req("RT-3")
async def test_arguments_that_hold_themselves_never_start_the_tool() -> None:
    tool, given = forecast(), {"city": "Oslo"}
    given["days"] = given

    result = await box(tool).call("forecast", given)

    assert error_of(result) == ("toolbox.arguments-too-large", "limit")
    assert tool.calls == []


@pytest.mark.req("RT-3")
@pytest.mark.parametrize(
    "given",
    [
        '{"city": "Oslo", "days": 3}',
        b'{"city": "Oslo", "days": 3}',
        {"city": "Oslo", "days": 3},
        UserDict({"city": "Oslo", "days": 3}),
        MappingProxyType({"city": "Oslo", "days": 3}),
        {"city": "Oslo", "days": Number(3)},
    ],
)
async def test_good_arguments_arrive_however_they_were_given(given: Any) -> None:
    tool = forecast()

    result = await box(tool).call("forecast", given)

    assert result.unwrap() == "sun"
    assert tool.calls == [{"city": "Oslo", "days": 3}]
    assert result.input_digest == (await box(tool).call("forecast", {"days": 3, "city": "Oslo"})).input_digest


@pytest.mark.req("CT-7")
@pytest.mark.parametrize("form", [dict, json.dumps, UserDict])
async def test_a_backslash_before_four_zeros_is_no_nul_character(form: Callable[[Any], Any]) -> None:
    tool = forecast()

    result = await box(tool).call("forecast", form({"city": "\\u0000"}))

    assert result.unwrap() == "sun"
    assert tool.calls == [{"city": "\\u0000"}]


@pytest.mark.req("CT-7")
async def test_a_tool_may_answer_with_a_nul_character() -> None:
    async def read() -> dict[str, str]:
        return {"text": "a\x00b"}

    assert (await box(as_tool(read)).call("read")).unwrap() == {"text": "a\x00b"}


async def test_no_arguments_are_an_empty_object() -> None:
    tool = fake_tool("ping", returns="pong")

    assert (await box(tool).call("ping")).unwrap() == "pong"
    assert tool.calls == [{}]


@pytest.mark.req("RT-11", "D1-5d")
def test_every_violation_has_its_pointer_what_is_allowed_and_the_likely_meaning() -> None:
    with pytest.raises(InvalidArguments) as refused:
        take_arguments(forecast(), {"citty": "Oslo", "days": 0, "unit": "rankine"})

    violations: Any = refused.value.details["violations"]
    assert [
        (each["pointer"], each["keyword"], each.get("expected"), each.get("didYouMean")) for each in violations
    ] == [
        ("", "additionalProperties", ["city", "days", "unit", "tags"], "city"),
        ("", "required", "city", None),
        ("/days", "minimum", 1, None),
        ("/unit", "enum", ["celsius", "kelvin"], None),
    ]
    assert "Oslo" not in str(refused.value.to_dict())


@pytest.mark.req("RT-11")
async def test_an_obvious_slip_is_shown_mended_in_the_details_without_the_value() -> None:
    result = await box(forecast()).call("forecast", {"city": "Oslo", "days": "5"})

    assert result.error is not None
    assert result.error.details["repaired"] == [{"pointer": "/days", "send": "the same integer, without quotes"}]


@pytest.mark.req("RT-11")
async def test_what_is_not_obvious_is_not_shown_mended() -> None:
    result = await box(forecast()).call("forecast", {"city": "Oslo", "days": "five"})

    assert result.error is not None
    assert "repaired" not in result.error.details


@pytest.mark.req("RT-11")
@pytest.mark.parametrize("given", [{"city": "Oslo", "days": "5"}, '{"city": "Oslo", "days": "5"}'])
async def test_with_repair_on_a_slip_is_mended_told_and_validated_again(given: Any) -> None:
    tool, heard = forecast(), EventRecorder()
    toolbox = box(tool, repair=True, listeners=(heard,))

    result = await toolbox.call("forecast", given)

    assert result.unwrap() == "sun"
    assert tool.calls == [{"city": "Oslo", "days": 5}]
    assert heard.data("repaired") == [{"repairs": [{"pointer": "/days", "from": "string", "to": "integer"}]}]
    assert result.input_digest == (await toolbox.call("forecast", {"city": "Oslo", "days": 5})).input_digest


@pytest.mark.req("RT-11")
async def test_a_slip_that_stays_invalid_when_mended_is_refused_with_repair_on() -> None:
    tool = forecast()

    result = await box(tool, repair=True).call("forecast", {"city": "Oslo", "days": "0"})

    assert error_of(result) == ("toolbox.invalid-arguments", "validation")
    assert tool.calls == []


@pytest.mark.req("RT-11")
async def test_arguments_that_need_no_repair_are_told_of_none() -> None:
    heard = EventRecorder()

    await box(forecast(), repair=True, listeners=(heard,)).call("forecast", {"city": "Oslo"})

    assert "repaired" not in heard.kinds()


@pytest.mark.req("RT-7", "RT-11")
async def test_a_validation_error_is_never_tried_again() -> None:
    heard = EventRecorder()
    tool = as_tool(forecast(), retries=RetryPolicy(attempts=5))

    result = await box(tool, retries=RetryPolicy(), listeners=(heard,)).call("forecast", {})

    assert result.error is not None
    assert not result.error.retryable
    assert "retry" not in heard.kinds()


@pytest.mark.req("D1-5l")
@pytest.mark.parametrize(
    ("given", "error"),
    [("{", MalformedJson), ({"x": [[]] * 200_000}, ArgumentsTooLarge), ([], InvalidArguments)],
)
def test_the_kind_of_fault_is_told_by_the_class(given: Any, error: type[Exception]) -> None:
    tool: RunnableTool = fake_tool("echo")

    with pytest.raises(error):
        take_arguments(tool, given)


async def test_a_caller_that_changes_its_arguments_afterwards_changes_nothing() -> None:
    given = {"city": "Oslo", "tags": ["a"]}
    tool = forecast()

    taken = take_arguments(tool, given)
    given["tags"].append("b")

    assert taken.parsed["tags"] == ["a"]
    assert (await called(tool, taken.snapshot)).ok
