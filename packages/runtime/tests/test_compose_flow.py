"""Tools in a row, by a condition, and one instead of another."""

from __future__ import annotations

from typing import Any

import pytest
from composed_tools import NUMBER, counting, failing
from small_toolboxes import called

from toolcrib_core import InvalidDefinition, ToolErrorCategory
from toolcrib_runtime import create_tool, fallback, map_output, pipe, when
from toolcrib_runtime.testing import fake_tool


def schema(**properties: Any) -> dict[str, Any]:
    """A closed object of which every property is required."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


@pytest.mark.req("RT-12", "D1-7b")
async def test_a_pipe_gives_each_value_to_the_next_tool() -> None:
    made = pipe(counting("one"), counting("two"), counting("three"))

    result = await called(made, {"n": 1})

    assert result.value == {"n": 4}
    assert (made.definition.input_schema, made.definition.output_schema) == (
        counting("one").definition.input_schema,
        NUMBER,
    )


@pytest.mark.req("RT-12")
@pytest.mark.parametrize(
    "takes",
    [
        schema(text=TEXT),
        {"type": "object", "properties": {"text": {}}},
        {"type": "object", "properties": {"text": TEXT, "limit": WHOLE}, "required": ["text"]},
    ],
)
async def test_a_value_that_is_no_object_becomes_the_one_parameter(takes: dict[str, Any]) -> None:
    count = fake_tool("count", schema=takes)

    await called(pipe(fake_tool("read", returns="hello", output=str), count), {})

    assert count.calls == [{"text": "hello"}]


@pytest.mark.req("RT-12")
@pytest.mark.fault("I6")
@pytest.mark.parametrize(
    ("gives", "takes", "why"),
    [
        (TEXT, schema(a=TEXT, b=TEXT), "gives a value of type string, and the other does not have one parameter"),
        (TEXT, {"type": "object"}, "does not have one parameter"),
        ({"type": ["string", "null"]}, schema(n=WHOLE), "a value of type string or null, and `n` takes another type"),
        (schema(a=TEXT), schema(b=TEXT), "never gives `b`, which the other needs"),
        (schema(a=TEXT, b=TEXT), schema(b=TEXT), "gives `a`, which the other does not take"),
        (schema(n=TEXT), schema(n=WHOLE), "gives `n` as a value of type string, and the other takes another type"),
    ],
)
def test_tools_that_can_never_fit_are_refused_when_they_are_composed(
    gives: dict[str, Any], takes: dict[str, Any], why: str
) -> None:
    before, after = fake_tool("before", output=gives), fake_tool("after", schema=takes)

    with pytest.raises(InvalidDefinition, match=why) as refused:
        pipe(before, after)

    assert before.id in refused.value.message
    assert "map_output" in str(refused.value.hint)


@pytest.mark.req("RT-12")
@pytest.mark.parametrize(
    ("gives", "takes"),
    [
        ({"type": ["object", "string"]}, schema(n=WHOLE)),
        ({"type": "number"}, schema(n=WHOLE)),
        ({"anyOf": [TEXT, WHOLE]}, schema(a=TEXT, b=TEXT)),
        ({"type": "string"}, {"type": "object", "properties": {"n": True}}),
        ({"type": "object"}, schema(n=WHOLE)),
        (schema(n=WHOLE), {"type": "object", "properties": {"n": {"type": "number"}}}),
    ],
)
def test_tools_that_may_fit_are_composed(gives: dict[str, Any], takes: dict[str, Any]) -> None:
    assert pipe(fake_tool("before", output=gives), fake_tool("after", schema=takes))


@pytest.mark.req("RT-11", "RT-12")
@pytest.mark.fault("I6")
async def test_a_value_that_turns_out_not_to_fit_is_a_validation_error_of_that_step() -> None:
    after = fake_tool("after", schema=schema(n=WHOLE))

    result = await called(pipe(fake_tool("before", returns={"n": "one"}), after), {})

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.VALIDATION
    assert result.error.message.startswith(f"Step 2 of the pipe, `{after.id}`, failed: ")
    assert (result.error.details["violations"][0]["pointer"], after.calls) == ("/n", [])  # type: ignore[index]


@pytest.mark.req("RT-11", "RT-12")
@pytest.mark.fault("I6")
@pytest.mark.parametrize("value", ['{"a": 1}', None, [1, 2], 5])
async def test_text_and_null_are_never_read_as_the_arguments_of_a_step(value: object) -> None:
    after = fake_tool("after", schema={"type": "object", "properties": {"a": {}, "b": {}}})

    result = await called(pipe(fake_tool("before", returns=value), after), {})

    assert result.error is not None
    assert (result.error.category, after.calls) == (ToolErrorCategory.VALIDATION, [])
    assert "must be an object, not " in result.error.message


@pytest.mark.req("RT-12")
async def test_a_function_between_two_tools_makes_them_fit() -> None:
    count = fake_tool("count", schema=schema(words=WHOLE))
    read = fake_tool("read", returns="a b c", output=str)

    def words(value: Any) -> dict[str, int]:
        return {"words": len(value.split())}

    await called(pipe(map_output(read, words, output={}), count), {})

    assert count.calls == [{"words": 3}]


@pytest.mark.req("RT-12")
@pytest.mark.parametrize(("n", "ran"), [(1, "then"), (-1, "otherwise")])
async def test_when_runs_the_one_tool_or_the_other(n: int, ran: str) -> None:
    then, otherwise = (fake_tool(name, returns=name, schema=NUMBER) for name in ("then", "otherwise"))

    result = await called(when(lambda given: given["n"] > 0, then, otherwise), {"n": n})

    assert (result.value, len(then.calls) + len(otherwise.calls)) == (ran, 1)


@pytest.mark.req("RT-12")
async def test_when_without_another_tool_gives_the_arguments_back() -> None:
    then = fake_tool("then", schema=NUMBER)

    async def never(given: Any) -> bool:
        given.clear()
        return False

    result = await called(when(never, then), {"n": 1})

    assert (result.value, then.calls) == ({"n": 1}, [])


@pytest.mark.req("RT-12")
async def test_when_says_what_it_gives_if_both_tools_give_the_same() -> None:
    add, read = counting("add"), fake_tool("read", schema=NUMBER, output=str)

    same, different = when(bool, add, counting("more")), when(bool, add, read)

    assert (same.definition.output_schema, different.definition.output_schema) == (NUMBER, None)
    assert when(bool, add).definition.output_schema is None


@pytest.mark.req("RT-12")
def test_when_takes_tools_that_differ_only_in_their_prose() -> None:
    def other(n: int) -> None:
        """Add many.

        Args:
            n: Another description.
        """

    described = create_tool(other, effects="read")

    assert when(bool, counting("add"), described)
    with pytest.raises(InvalidDefinition, match="take different arguments"):
        when(bool, described, fake_tool("text", schema=schema(n=TEXT)))


@pytest.mark.req("RT-12")
async def test_fallback_tries_the_tools_in_order_until_one_gives_a_value() -> None:
    down = failing("down", ToolErrorCategory.UNAVAILABLE)
    good, spare = fake_tool("good", returns="value"), fake_tool("spare")

    result = await called(fallback(down, good, spare), {"q": 1})

    assert (result.value, good.calls, spare.calls) == ("value", [{"q": 1}], [])


@pytest.mark.req("RT-12")
@pytest.mark.parametrize(
    "category",
    [
        ToolErrorCategory.VALIDATION,
        ToolErrorCategory.PERMISSION,
        ToolErrorCategory.APPROVAL_REQUIRED,
        ToolErrorCategory.CANCELLED,
        ToolErrorCategory.BUDGET,
        ToolErrorCategory.UNKNOWN_OUTCOME,
        ToolErrorCategory.CONFLICT,
    ],
)
async def test_fallback_does_not_get_round_a_refusal(category: ToolErrorCategory) -> None:
    spare = fake_tool("spare")

    result = await called(fallback(failing("no", category), spare), {})

    assert result.error is not None
    assert (result.error.category, spare.calls) == (category, [])


@pytest.mark.req("RT-12")
async def test_fallback_lists_what_it_tried() -> None:
    down, broken = failing("down", ToolErrorCategory.UNAVAILABLE), fake_tool("broken", raises=ValueError("no"))

    result = await called(fallback(down, broken), {})

    assert result.error is not None
    assert result.error.message.startswith(f"Step 2 of the fallback, `{broken.id}`, failed")
    tried: Any = result.error.details["tried"]
    assert [(each["tool"], each["code"]) for each in tried] == [
        (down.id, "tool.test.broken"),
        (broken.id, "tool.default.broken.failed"),
    ]


@pytest.mark.req("RT-12")
async def test_fallback_gives_each_tool_the_arguments_that_it_takes() -> None:
    first = failing("first", ToolErrorCategory.TIMEOUT, schema=schema(city=TEXT, days=WHOLE))
    second = fake_tool("second", schema=schema(city=TEXT))

    result = await called(fallback(first, second), {"city": "Rome", "days": 2})

    assert (result.ok, second.calls) == (True, [{"city": "Rome"}])


@pytest.mark.req("RT-12")
def test_fallback_refuses_a_tool_that_needs_what_the_first_does_not_take() -> None:
    second = fake_tool("second", schema=schema(city=TEXT, key=TEXT))

    with pytest.raises(InvalidDefinition, match="needs `key`, which `default:first` does not take"):
        fallback(fake_tool("first", schema=schema(city=TEXT)), second)

    assert fallback(fake_tool("open"), second)
