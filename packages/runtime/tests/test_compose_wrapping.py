"""One tool made another: arguments filled in, values looked at or changed, tries repeated."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from composed_tools import NUMBER, counting
from pydantic import BaseModel
from small_toolboxes import called

from toolcrib_core import DuplicateTool, InvalidArguments, InvalidDefinition, NotJson, ToolErrorCategory
from toolcrib_runtime import RetryPolicy, ToolCall, bind, create_toolbox, map_input, map_output, retry, tap
from toolcrib_runtime.testing import fake_tool

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city", "days"],
    "additionalProperties": False,
}


class Trip(BaseModel):
    """Where to go."""

    town: str
    days: int = 1


@pytest.mark.req("RT-12")
async def test_bound_arguments_are_filled_in_and_leave_the_schema() -> None:
    weather = fake_tool("weather", schema=WEATHER)
    made = bind(weather, {"days": 3})

    result = await called(made, {"city": "Rome"})

    assert (result.ok, weather.calls) == (True, [{"city": "Rome", "days": 3}])
    assert made.definition.input_schema == {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }


@pytest.mark.req("RT-12")
@pytest.mark.parametrize("is_open", [False, True])
async def test_no_caller_can_give_a_bound_argument(*, is_open: bool) -> None:
    weather = fake_tool("weather", schema={**WEATHER, "additionalProperties": is_open})

    result = await called(bind(weather, {"days": 3}), {"city": "Rome", "days": 5})

    assert result.error is not None
    assert (result.error.category, weather.calls) == (ToolErrorCategory.VALIDATION, [])
    assert "`days`" in result.error.message


@pytest.mark.req("RT-12")
async def test_what_was_bound_cannot_be_changed_afterwards() -> None:
    values: dict[str, Any] = {"where": ["Rome"]}
    tool = fake_tool("tool", schema={"type": "object", "properties": {"where": {"type": "array"}}})
    made = bind(tool, values)

    values["where"].append("Oslo")
    await called(made, {})
    tool.calls[0]["where"].append("Oslo")
    await called(made, {})

    assert tool.calls[1] == {"where": ["Rome"]}


@pytest.mark.req("RT-12")
def test_binding_an_unknown_name_is_refused_with_the_name_that_was_meant() -> None:
    with pytest.raises(InvalidDefinition, match="has no parameter `dyas`") as refused:
        bind(fake_tool("weather", schema=WEATHER), {"dyas": 3})

    assert refused.value.hint == "Did you mean `days`? It has `city`, `days`."


@pytest.mark.req("RT-12")
@pytest.mark.parametrize(("name", "hint"), [("units", "It has `city`, `days`."), ("x", "It names none.")])
def test_a_name_that_is_like_no_other_is_refused_with_those_there_are(name: str, hint: str) -> None:
    tool = fake_tool("tool", schema=WEATHER) if name == "units" else fake_tool("tool")

    with pytest.raises(InvalidDefinition) as refused:
        bind(tool, {name: 3})

    assert refused.value.hint == hint


@pytest.mark.req("RT-11", "RT-12")
def test_bound_values_are_validated_when_they_are_bound_and_never_shown() -> None:
    with pytest.raises(InvalidArguments) as refused:
        bind(fake_tool("weather", schema=WEATHER), {"days": "s3cret"})

    assert [each["pointer"] for each in refused.value.details["violations"]] == ["/days"]  # type: ignore[attr-defined]
    assert "s3cret" not in str(refused.value.to_dict())


@pytest.mark.req("RT-12")
def test_a_bound_value_that_is_no_json_is_refused() -> None:
    with pytest.raises(NotJson):
        bind(fake_tool("weather", schema=WEATHER), {"days": object()})  # type: ignore[dict-item]


@pytest.mark.req("RT-12")
async def test_a_schema_about_several_arguments_is_still_obeyed_but_does_not_ask_for_bound_ones() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Number"}, "b": {"$ref": "#/$defs/Number"}, "c": True},
        "dependentRequired": {"a": ["b"]},
        "allOf": [{"required": ["b"]}, {"not": {"required": ["c"]}}],
        "$defs": {"Number": {"type": "integer"}},
    }
    tool = fake_tool("tool", schema=schema)
    made = bind(tool, {"b": 2})

    good, bad = await called(made, {"a": 1}), await called(made, {"a": 1, "c": 3})

    assert (good.ok, tool.calls) == (True, [{"a": 1, "b": 2}])
    assert bad.error is not None
    assert bad.error.category is ToolErrorCategory.VALIDATION
    assert made.definition.input_schema.keys() == {"type", "properties", "required", "$defs"}


@pytest.mark.req("RT-12")
def test_two_bindings_of_one_tool_are_not_taken_for_one_another() -> None:
    weather = fake_tool("weather", schema=WEATHER)
    short, long = bind(weather, {"days": 1}), bind(weather, {"days": 14})

    assert short.definition.digest != long.definition.digest
    with pytest.raises(DuplicateTool):
        create_toolbox([short, long])
    assert len(create_toolbox([short, bind(weather, {"days": 14}, name="long_forecast")])) == 2


@pytest.mark.req("RT-10", "RT-12")
async def test_an_approval_for_one_binding_is_none_for_another() -> None:
    wipe = fake_tool("wipe", schema=WEATHER, effects="unknown")
    boxes = [create_toolbox([bind(wipe, {"days": days})]) for days in (1, 14)]
    call = ToolCall(tool="bind_wipe", arguments={"city": "Rome"})
    first = await boxes[0].execute(call)
    assert first.action is not None

    token = boxes[0].grant(first.action, by="grace")
    result = await boxes[1].execute(call._replace(approval=token))

    assert (result.ok, wipe.calls) == (False, [])


@pytest.mark.req("RT-12")
@pytest.mark.parametrize("is_async", [False, True])
async def test_tap_shows_a_copy_of_the_value_and_gives_the_value(*, is_async: bool) -> None:
    seen: list[object] = []

    def look(value: Any) -> None:
        seen.append(dict(value))
        value.clear()

    async def look_later(value: Any) -> None:
        await asyncio.sleep(0)
        look(value)

    result = await called(tap(counting("add"), look_later if is_async else look), {"n": 1})

    assert (result.value, seen) == ({"n": 2}, [{"n": 2}])


@pytest.mark.req("RT-12")
async def test_an_effect_that_fails_fails_the_call() -> None:
    def fail(value: object) -> None:
        raise ValueError("no")

    result = await called(tap(counting("add"), fail), {"n": 1})

    assert result.error is not None
    assert (result.error.category, result.error.code) == (
        ToolErrorCategory.INTERNAL,
        "tool.default.tap_add_fail.failed",
    )


@pytest.mark.req("RT-12")
async def test_map_input_keeps_the_schema_of_the_tool() -> None:
    made = map_input(counting("add"), lambda given: {"n": given["n"] * 10})

    result = await called(made, {"n": 1})

    assert result.value == {"n": 11}
    assert made.definition.input_schema == counting("add").definition.input_schema


@pytest.mark.req("RT-12")
async def test_map_input_takes_what_is_stated_as_a_type_or_a_schema() -> None:
    weather = fake_tool("weather", schema=WEATHER)

    async def to_city(trip: dict[str, Any]) -> dict[str, Any]:
        return {"city": trip["town"], "days": trip.get("days", 1)}

    by_type = map_input(weather, to_city, input=Trip)
    by_schema = map_input(weather, to_city, input={"type": "object", "required": ["town"]})

    assert by_type.definition.input_schema["required"] == ["town"]
    assert by_schema.definition.input_schema == {"type": "object", "required": ["town"]}
    assert (await called(by_type, {"town": "Rome"})).ok
    assert weather.calls == [{"city": "Rome", "days": 1}]


@pytest.mark.req("RT-11", "RT-12")
@pytest.mark.parametrize("mapped", ['{"n": 1}', None, {"n": "one"}])
async def test_what_a_function_makes_of_the_arguments_is_validated_as_such(mapped: Any) -> None:
    made = map_input(counting("add"), lambda given: mapped)

    result = await called(made, {"n": 1})

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.VALIDATION
    assert result.error.message.startswith("Step 1 of the map_input, `default:add")


@pytest.mark.req("RT-12")
async def test_map_output_changes_the_value_and_states_it() -> None:
    async def number(value: Any) -> int:
        await asyncio.sleep(0)
        return int(value["n"])

    made = map_output(counting("add"), number, output=int)

    result = await called(made, {"n": 1})

    assert (result.value, made.definition.output_schema) == (2, {"type": "integer"})


@pytest.mark.req("RT-11", "RT-12")
async def test_a_value_that_is_not_what_was_kept_or_stated_is_refused() -> None:
    kept = map_output(counting("add"), str)
    anything = map_output(counting("add"), str, output={})

    result = await called(kept, {"n": 1})

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.OUTPUT_VALIDATION
    assert (kept.definition.output_schema, anything.definition.output_schema) == (NUMBER, None)
    assert (await called(anything, {"n": 1})).value == "{'n': 2}"


@pytest.mark.req("RT-7", "RT-12")
@pytest.mark.parametrize("effects", ["write", "unknown"])
def test_retry_refuses_a_tool_that_must_not_run_twice(effects: Any) -> None:
    with pytest.raises(InvalidDefinition, match="may do its work twice"):
        retry(fake_tool("send", effects=effects))


@pytest.mark.req("RT-7", "RT-12")
async def test_retry_tries_again_until_it_works() -> None:
    flaky = fake_tool("flaky", sequence=[ConnectionRefusedError("not yet"), "done"])

    result = await called(retry(flaky, RetryPolicy(first_delay=0)), {})

    assert (result.value, len(flaky.calls)) == ("done", 2)
