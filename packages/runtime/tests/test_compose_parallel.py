"""Tools side by side: the first failure stops the rest, and nothing is left running."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from composed_tools import Hanging, failing, other_tasks
from small_toolboxes import background, box, called

from toolcrib_core import InvalidDefinition, JsonValue, ToolError, ToolErrorCategory
from toolcrib_runtime import Cancellation, Invocation, Proceed, create_tool, parallel
from toolcrib_runtime.testing import FakeClock, fake_tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.req("RT-12")
async def test_all_run_at_once_and_their_values_stand_in_the_order_of_the_tools() -> None:
    barrier = [asyncio.Event(), asyncio.Event()]

    async def slow(city: str) -> str:
        barrier[0].set()
        await barrier[1].wait()
        return f"slow {city}"

    async def quick(city: str) -> str:
        await barrier[0].wait()
        barrier[1].set()
        return f"quick {city}"

    one, other = (create_tool(each, description="Go.", effects="read") for each in (slow, quick))

    async with asyncio.timeout(5):
        result = await called(parallel(one, other), {"city": "Rome"})

    assert result.value == ["slow Rome", "quick Rome"]


@pytest.mark.req("RT-12")
async def test_each_gets_the_arguments_that_it_takes() -> None:
    one = fake_tool("one", schema=closed(city=TEXT))
    other = fake_tool("other", schema=closed(city=TEXT, days=WHOLE))
    every = fake_tool("every")

    await called(parallel(one, other, every), {"city": "Rome", "days": 2})

    assert (one.calls, other.calls) == ([{"city": "Rome"}], [{"city": "Rome", "days": 2}])
    assert every.calls == other.calls


@pytest.mark.req("RT-12")
async def test_a_tool_with_patterns_for_its_names_gets_all_arguments() -> None:
    labels = fake_tool("labels", schema={**closed(), "patternProperties": {"^x-": {}}})

    await called(parallel(labels, fake_tool("any")), {"x-a": 1})

    assert labels.calls == [{"x-a": 1}]


@pytest.mark.req("RT-12")
def test_it_takes_what_its_tools_take_together() -> None:
    one = fake_tool("one", schema={**closed(city={"$ref": "#/$defs/City"}), "$defs": {"City": TEXT}})
    other = fake_tool("other", schema={**closed(days=WHOLE), "required": ["days"]})

    taken = parallel(one, other).definition.input_schema

    assert taken == {
        "type": "object",
        "properties": {"city": {"$ref": "#/$defs/City"}, "days": WHOLE},
        "required": ["days"],
        "$defs": {"City": TEXT},
        "additionalProperties": False,
    }


@pytest.mark.req("RT-12")
def test_it_gives_a_list_of_what_its_tools_give_where_that_can_be_said() -> None:
    plain = fake_tool("plain", output=str)
    tied = fake_tool("tied", output={"type": "array", "items": {"$ref": "#/$defs/City"}, "$defs": {"City": TEXT}})
    inner = fake_tool("inner", output={"type": "object", "properties": {"a": {"$ref": "#"}, "b": True}})

    given: Any = parallel(plain, fake_tool("silent"), tied, inner).definition.output_schema

    assert given["prefixItems"] == [TEXT, {}, {}, {}]
    assert (given["minItems"], given["maxItems"]) == (4, 4)


@pytest.mark.req("RT-12")
def test_one_name_must_not_mean_two_things() -> None:
    one = fake_tool("one", schema=closed(when={"type": "string", "description": "A day."}))
    same = fake_tool("same", schema=closed(when={"type": "string", "description": "Which day."}))
    other = fake_tool("other", schema=closed(when=WHOLE))

    assert parallel(one, same)
    with pytest.raises(InvalidDefinition, match="`when` means something else in `default:other"):
        parallel(one, other)


@pytest.mark.req("RT-12")
@pytest.mark.fault("I6")
async def test_the_first_failure_stops_the_others_and_is_the_failure_of_the_whole() -> None:
    hanging, broken = Hanging(), failing("broken")

    async with asyncio.timeout(5):
        result = await called(parallel(hanging.tool, broken), {})

    assert result.error is not None
    assert result.error.message == f"Step 2 of the parallel, `{broken.id}`, failed: It is broken."
    assert result.error.category is ToolErrorCategory.CONFLICT
    assert (hanging.stopped.is_set(), other_tasks()) == (True, set())


@pytest.mark.req("RT-12")
@pytest.mark.fault("I6")
async def test_after_a_failure_the_task_of_the_caller_is_as_it_was() -> None:
    task = asyncio.current_task()
    assert task is not None

    await called(parallel(Hanging().tool, failing("broken")), {})

    assert task.cancelling() == 0


@pytest.mark.req("RT-12")
async def test_of_two_failures_at_once_the_first_tool_is_named() -> None:
    one, other = failing("one"), failing("other")

    result = await called(parallel(one, other), {})

    assert result.error is not None
    assert f"Step 1 of the parallel, `{one.id}`" in result.error.message


@pytest.mark.req("RT-7", "RT-12")
async def test_when_a_tool_was_stopped_that_must_not_run_twice_the_outcome_is_unknown() -> None:
    writing, started = Hanging("write", effects="write"), asyncio.Event()

    async def fail_then() -> None:
        await writing.started.wait()
        started.set()
        raise ToolError("It is broken.", category=ToolErrorCategory.VALIDATION)

    broken = create_tool(fail_then, description="Fail.", effects="read")

    async with asyncio.timeout(5):
        result = await called(parallel(broken, writing.tool), {})

    assert result.error is not None
    assert (result.error.category, result.error.retryable) == (ToolErrorCategory.UNKNOWN_OUTCOME, False)
    assert result.error.message.startswith(f"Nobody knows whether `{writing.tool.id}` did its work: Step 1 of the")
    assert result.error.details["cause"]["category"] == "validation"  # type: ignore[index]


@pytest.mark.req("RT-7", "RT-12")
async def test_a_step_whose_outcome_is_unknown_makes_that_of_the_whole_unknown() -> None:
    lost = fake_tool("lost", raises=ConnectionResetError("gone"), effects="write")

    first = await called(parallel(lost, fake_tool("fine")), {})
    second = await called(parallel(failing("broken"), lost), {})

    assert first.error is not None
    assert second.error is not None
    assert first.error.category is second.error.category is ToolErrorCategory.UNKNOWN_OUTCOME
    assert first.error.message.startswith(f"Step 1 of the parallel, `{lost.id}`")
    assert second.error.message.startswith(f"Nobody knows whether `{lost.id}`")


@pytest.mark.req("RT-5", "RT-12")
@pytest.mark.fault("I6")
async def test_a_deadline_stops_every_tool() -> None:
    clock, one, other = FakeClock(), Hanging("one"), Hanging("other")
    toolbox = box(parallel(one.tool, other.tool, name="both"), timeout=5, clock=clock)

    async with asyncio.timeout(5), background(toolbox.call("both", {})) as call:
        await asyncio.gather(one.started.wait(), other.started.wait())
        await clock.advance(5)
        result = await call

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.TIMEOUT
    assert (one.stopped.is_set(), other.stopped.is_set(), other_tasks()) == (True, True, set())


@pytest.mark.req("RT-6", "RT-12")
@pytest.mark.fault("I6")
async def test_taking_the_call_back_stops_every_tool() -> None:
    one, other, switch = Hanging("one"), Hanging("other"), Cancellation()
    toolbox = box(parallel(one.tool, other.tool, name="both"))

    async with asyncio.timeout(5), background(toolbox.call("both", {}, cancellation=switch)) as call:
        await asyncio.gather(one.started.wait(), other.started.wait())
        switch.cancel()
        result = await call

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.CANCELLED
    assert (one.stopped.is_set(), other.stopped.is_set(), other_tasks()) == (True, True, set())


@pytest.mark.req("RT-6", "RT-12")
@pytest.mark.fault("I6")
async def test_a_caller_that_is_cancelled_twice_still_leaves_nothing_running() -> None:
    cleaning, may_end = asyncio.Event(), asyncio.Event()

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await may_end.wait()

    slow = create_tool(tidy, description="Tidy up.", effects="read")
    other = Hanging()
    toolbox = box(parallel(slow, other.tool, name="both"))

    async with asyncio.timeout(5), background(toolbox.call("both", {})) as call:
        await other.started.wait()
        call.cancel()
        await cleaning.wait()
        call.cancel()
        await other.stopped.wait()
        may_end.set()
        await asyncio.wait([call])

    assert (call.cancelled(), other_tasks()) == (True, set())


@pytest.mark.req("RT-5", "RT-12")
@pytest.mark.fault("I3", "I6")
async def test_a_tool_that_does_not_let_itself_be_stopped_is_given_up_and_leaves_nothing_running() -> None:
    clock, started, swallowed = FakeClock(), asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        while True:
            try:
                started.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed.set()

    tool = create_tool(stubborn, description="Stay.", effects="read")
    toolbox = box(parallel(tool, Hanging().tool, name="both"), timeout=5, clock=clock)

    async with asyncio.timeout(5), background(toolbox.call("both", {})) as call:
        await started.wait()
        await clock.advance(5)
        await swallowed.wait()
        await clock.advance(1)
        result = await call

    assert result.error is not None
    assert (result.error.category, other_tasks()) == (ToolErrorCategory.TIMEOUT, set())


@pytest.mark.req("RT-12", "RT-17")
async def test_a_middleware_that_raises_cancellederror_unasked_is_an_error_and_no_cancellation() -> None:
    async def confused(invocation: Invocation, proceed: Proceed) -> JsonValue:
        if invocation.parent is not None:
            raise asyncio.CancelledError
        return await proceed(invocation)

    result = await called(parallel(fake_tool("one"), fake_tool("other")), {}, middleware=(confused,))

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.INTERNAL
