"""What a tool returns becomes plain JSON, or is refused with the place named."""

from __future__ import annotations

import datetime
import enum
import functools
import itertools
import json
import uuid
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson
import pytest
from pydantic import BaseModel, computed_field
from small_toolboxes import as_tool, box, called, error_of

from toolcrib_core.schema.limits import JsonLimits
from toolcrib_runtime import OutputTooLarge, ToolOutput, UnusableOutput
from toolcrib_runtime.outputs import OUTPUT_LIMITS, json_value
from toolcrib_runtime.testing import fake_tool

pytestmark = pytest.mark.fault("I1")

Point = namedtuple("Point", "x y")  # noqa: PYI024  # a plain one is what is tested


class Colour(enum.StrEnum):
    RED = "red"


class Number(float):
    """A float of another class, as the numbers of numpy are."""


class Text(str):
    __slots__ = ()


class Model(BaseModel):
    day: datetime.date
    price: Decimal


@dataclass
class Data:
    models: list[Model]


class FailsToSay(BaseModel):
    @computed_field
    @property
    def broken(self) -> int:
        raise KeyError("no such thing")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        ("text", "text"),
        ("tëxt", "tëxt"),
        (Text("text"), "text"),
        (True, True),
        (2**63, 2**63),
        (1.5, 1.5),
        (Number(1.5), 1.5),
        ({"a": [Number(2)]}, {"a": [2.0]}),
        ((1, (2, 3)), [1, [2, 3]]),
        (Point(1, 2), [1, 2]),
        ({"points": [Point(1, Number(2))]}, {"points": [[1, 2.0]]}),
        (OrderedDict(a=1), {"a": 1}),
        (Colour.RED, "red"),
        ({"colour": Colour.RED}, {"colour": "red"}),
        (Model(day=datetime.date(2026, 1, 2), price=Decimal("1.10")), {"day": "2026-01-02", "price": "1.10"}),
        (
            Data(models=[Model(day=datetime.date(2026, 1, 2), price=Decimal(1))]),
            {"models": [{"day": "2026-01-02", "price": "1"}]},
        ),
        (uuid.UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        (datetime.timedelta(hours=1), "PT1H"),
        ({1}, [1]),
        (frozenset({"a"}), ["a"]),
    ],
)
def test_what_has_a_json_form_is_given_in_it(value: object, plain: object) -> None:
    given = json_value(value, tool="t:x")

    assert given == plain
    assert json.loads(json.dumps(given)) == plain
    assert type(given) in {type(None), str, bool, int, float, list, dict}


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {"deep": [object()]},
        float("nan"),
        [float("inf")],
        {"a": {object()}},
        b"\xff",
        int,
        ValueError("x"),
        2**70,
        "\ud800",
        {"\ud800": 1},
        FailsToSay(),
        [FailsToSay()],
        lambda: 1,
        range(3),
        memoryview(b"x"),
    ],
)
def test_what_has_no_json_form_is_refused(value: object) -> None:
    with pytest.raises(UnusableOutput) as refused:
        json_value(value, tool="t:x")

    assert refused.value.category == "output_validation"
    assert refused.value.message.startswith("The output of `t:x` is not JSON: at `")


@pytest.mark.parametrize(
    "value",
    [
        itertools.count(),
        (each for each in itertools.count()),
        iter([1]),
        {"deep": [(1, itertools.cycle("ab"))]},
        open,
        [{"a": map(str, itertools.count())}],
    ],
    ids=["count", "generator", "list", "nested", "function", "map"],
)
def test_an_iterator_is_refused_unread_since_it_may_have_no_end(value: object) -> None:
    with pytest.raises(UnusableOutput):
        json_value(value, tool="t:x")


def test_the_message_says_where_and_what_kind_but_never_the_value() -> None:
    with pytest.raises(UnusableOutput, match="at `/a/1` it is not a finite number"):
        json_value({"a": ["token-1234", float("nan")]}, tool="t:x")


def test_a_value_that_holds_itself_is_too_deep() -> None:
    value: dict[str, Any] = {}
    value["self"] = value

    with pytest.raises(OutputTooLarge, match="deeper than 200"):
        json_value(value, tool="t:x")


def test_a_value_that_holds_itself_and_what_is_not_json_ends_too() -> None:
    value: list[Any] = []
    value += [value, value, object()]

    with pytest.raises(UnusableOutput):
        json_value(value, tool="t:x", limits=JsonLimits(max_depth=50, max_nodes=10_000, max_bytes=10_000))


@pytest.mark.parametrize(
    "value",
    [
        functools.reduce(lambda inner, _: [inner], range(5_000), 1),
        [0] * (OUTPUT_LIMITS.max_nodes + 1),
        "x" * (OUTPUT_LIMITS.max_bytes + 1),
        "ü" * OUTPUT_LIMITS.max_bytes,
        "\0" * (OUTPUT_LIMITS.max_bytes // 2),
    ],
    ids=["depth", "nodes", "bytes", "bytes of UTF-8", "bytes when escaped"],
)
def test_what_is_over_a_limit_is_refused_as_too_large(value: object) -> None:
    with pytest.raises(OutputTooLarge) as refused:
        json_value(value, tool="t:x")

    assert refused.value.category == "limit"
    assert len(refused.value.message) < 500


async def test_a_toolbox_can_set_the_limits() -> None:
    limits = JsonLimits(max_depth=3, max_nodes=10, max_bytes=100)

    result = await called(fake_tool("big", returns=list(range(20))), output_limits=limits)

    assert error_of(result) == ("toolbox.output-too-large", "limit")


async def test_the_tool_keeps_no_hand_on_what_it_returned() -> None:
    kept = {"a": [1]}
    result = await called(fake_tool("kept", returns=kept))

    kept["a"].append(2)

    assert result.value == {"a": [1]}


@pytest.mark.req("RT-11")
async def test_a_value_that_breaks_the_output_schema_has_a_category_of_its_own() -> None:
    async def count() -> int:
        return "many"

    result = await called(count)

    assert error_of(result) == ("toolbox.invalid-output", "output_validation")
    assert result.error is not None
    assert not result.error.retryable
    assert (result.value, result.attempts, result.output_digest) == (None, 1, None)
    assert "many" not in str(result.error.to_dict())


@pytest.mark.req("RT-11")
async def test_every_place_of_a_bad_output_is_listed() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}

    result = await called(fake_tool("bad", returns={"a": "x", "b": 1}, output=schema))

    assert result.error is not None
    violations: Any = result.error.details["violations"]
    assert [each["pointer"] for each in violations] == ["/a", "/b"]


async def test_a_model_as_the_return_type_is_checked_and_given_as_json() -> None:
    async def price() -> Model:
        return Model(day=datetime.date(2026, 1, 2), price=Decimal(1))

    assert (await called(price)).unwrap() == {"day": "2026-01-02", "price": "1"}


async def test_content_blocks_travel_beside_the_value() -> None:
    block = {"type": "image", "data": "aGk=", "mimeType": "image/png"}

    result = await called(fake_tool("draw", returns=ToolOutput(value={"w": 1}, content=(block,))))

    assert (result.value, result.content) == ({"w": 1}, (block,))


async def test_content_that_is_not_json_is_refused() -> None:
    result = await called(fake_tool("draw", returns=ToolOutput(content=({"data": b"\xff"},))))

    assert error_of(result) == ("toolbox.unusable-output", "output_validation")


async def test_without_blocks_of_its_own_a_value_is_shown_as_text() -> None:
    words, data, nothing = fake_tool("words", returns="hi"), fake_tool("data", returns={"a": 1}), fake_tool("nothing")

    results = [await box(words, data, nothing).call(name) for name in ("words", "data", "nothing")]

    assert [each.content for each in results] == [
        ({"type": "text", "text": "hi"},),
        ({"type": "text", "text": '{"a":1}'},),
        ({"type": "text", "text": "null"},),
    ]


async def test_bad_output_of_a_tool_that_must_not_run_twice_is_no_open_question() -> None:
    result = await called(as_tool(lambda: object(), name="write", effects="write"))

    assert error_of(result) == ("toolbox.unusable-output", "output_validation")


async def test_a_result_is_always_json() -> None:
    result = await called(fake_tool("bad", returns=object()))

    assert orjson.loads(orjson.dumps(result.to_dict()))["outcome"] == "error"
