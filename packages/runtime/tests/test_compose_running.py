"""What is around a composed tool reaches its steps: rules, middleware, events, deadlines; at any depth."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from composed_tools import COMPOSERS, REPEATABLE_COMPOSERS, Composer, Hanging, counting, other_tasks
from small_toolboxes import ANYTHING, background, box, called

from toolcrib_core import JsonValue, ToolErrorCategory
from toolcrib_runtime import (
    Cancellation,
    Executor,
    Invocation,
    LocalExecutor,
    Policy,
    Proceed,
    RunnableTool,
    Work,
    ask,
    bind,
    create_tool,
    deny,
    lazy,
    parallel,
    pipe,
    retry,
    tap,
)
from toolcrib_runtime.compose.steps import MAX_NESTING
from toolcrib_runtime.testing import EventRecorder, FakeClock, fake_tool

# A lazy tool has the one name that it is listed under: a rule about it holds for the whole call.
DERIVING = {name: each for name, each in REPEATABLE_COMPOSERS.items() if name != "lazy"}


@pytest.mark.req("RT-10", "RT-12")
@pytest.mark.parametrize("compose", DERIVING.values(), ids=DERIVING)
@pytest.mark.parametrize(("rule", "category"), [(deny, "permission"), (ask, "approval_required")])
async def test_a_rule_about_a_tool_holds_when_that_is_a_step(compose: Composer, rule: Any, category: str) -> None:
    secret = fake_tool("vault:open")
    made = compose(secret)

    result = await box(made, policy=Policy(by_risk=None, rules=(rule("vault:open"),))).call(made.id, {})

    assert result.error is not None
    assert (result.error.category.value, secret.calls) == (category, [])
    assert secret.id in result.error.message


@pytest.mark.req("RT-12", "RT-17")
@pytest.mark.parametrize("compose", COMPOSERS.values(), ids=COMPOSERS)
async def test_middleware_is_around_every_step(compose: Composer) -> None:
    seen: list[tuple[str, bool]] = []

    async def look(invocation: Invocation, proceed: Proceed) -> JsonValue:
        seen.append((invocation.tool.name, invocation.parent is not None))
        return await proceed(invocation)

    made = compose(counting("add"))
    await called(made, {"n": 1}, middleware=(look,))

    assert seen[0] == (made.name, False)
    assert set(seen[1:]) == {("add", True)}


@pytest.mark.req("RT-12", "RT-15")
@pytest.mark.parametrize("compose", COMPOSERS.values(), ids=COMPOSERS)
async def test_the_events_of_a_step_name_the_call_that_it_belongs_to(compose: Composer) -> None:
    heard = EventRecorder()
    made = compose(counting("add"))

    result = await called(made, {"n": 1}, listeners=(heard,))

    of_steps = [event for event in heard.events if event.call_id != result.call_id]
    assert {event.parent_call_id for event in of_steps} == {result.call_id}
    for call_id in {event.call_id for event in of_steps}:
        assert heard.kinds(call_id) == ["started", "validated", "attempt", "finished"]


@pytest.mark.req("RT-5", "RT-12")
@pytest.mark.parametrize("compose", COMPOSERS.values(), ids=COMPOSERS)
async def test_the_deadline_of_the_call_stops_the_step(compose: Composer) -> None:
    clock, hanging = FakeClock(), Hanging()
    made = compose(hanging.tool)
    toolbox = box(made, clock=clock, timeout=5)

    async with asyncio.timeout(5), background(toolbox.call(made.id, {})) as call:
        await hanging.started.wait()
        await clock.advance(5)
        result = await call

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.TIMEOUT
    assert (hanging.stopped.is_set(), other_tasks()) == (True, set())


@pytest.mark.req("RT-6", "RT-12")
@pytest.mark.parametrize("compose", COMPOSERS.values(), ids=COMPOSERS)
async def test_taking_the_call_back_stops_the_step(compose: Composer) -> None:
    hanging, switch = Hanging(), Cancellation()
    made = compose(hanging.tool)

    async with asyncio.timeout(5), background(box(made).call(made.id, {}, cancellation=switch)) as call:
        await hanging.started.wait()
        switch.cancel()
        result = await call

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.CANCELLED
    assert (hanging.stopped.is_set(), other_tasks()) == (True, set())


@pytest.mark.req("RT-5", "RT-12")
async def test_the_time_of_a_step_is_bounded_by_its_own_timeout_too() -> None:
    clock, hanging = FakeClock(), Hanging(timeout=1)
    toolbox = box(pipe(hanging.tool, fake_tool("never"), name="both"), clock=clock, timeout=60)

    async with asyncio.timeout(5), background(toolbox.call("both", {})) as call:
        await hanging.started.wait()
        await clock.advance(1)
        result = await call

    assert result.error is not None
    assert result.error.message.startswith(f"Step 1 of the pipe, `{hanging.tool.id}`, failed")


@pytest.mark.req("RT-12", "RT-19")
async def test_a_composed_tool_stays_on_the_loop_and_its_steps_run_where_the_toolbox_says() -> None:
    ran: list[str] = []

    class Elsewhere(LocalExecutor):
        def run(self, work: Work, /) -> Any:
            ran.append(work.tool.name)
            return super().run(work)

    elsewhere: Executor = Elsewhere()
    async with box(pipe(counting("one"), counting("two"), name="both"), executor=elsewhere) as toolbox:
        result = await toolbox.call("both", {"n": 1})

    assert (result.value, ran) == ({"n": 3}, ["one", "two"])


def nested(tool: RunnableTool, levels: int) -> RunnableTool:
    """The tool inside ever more tools, of several kinds."""
    wraps = (lambda each: pipe(each, counting("add")), retry, lambda each: bind(each, {}), lambda each: tap(each, repr))
    for level in range(levels):
        tool = wraps[level % len(wraps)](tool)
    return tool


@pytest.mark.req("RT-12")
@pytest.mark.fault("I6")
async def test_tools_nested_fifty_deep_run_with_everything_around_them() -> None:
    async def later(n: int) -> dict[str, int]:
        await asyncio.sleep(0)
        return {"n": n}

    async def look(invocation: Invocation, proceed: Proceed) -> JsonValue:
        return await proceed(invocation)

    tool = nested(create_tool(later, description="Wait.", effects="read", output=False), 50)
    policy = Policy(by_risk=None, rules=(lambda request: "allow",))

    result = await called(tool, {"n": 0}, middleware=(look, look, look), policy=policy, listeners=(EventRecorder(),))

    assert (result.error, result.value) == (None, {"n": 13})


@pytest.mark.req("RT-12")
@pytest.mark.fault("I6")
async def test_a_call_nested_fifty_deep_is_stopped_without_a_trace() -> None:
    hanging, switch = Hanging(), Cancellation()
    tool = hanging.tool
    for _ in range(50):
        tool = bind(tool, {})

    async with asyncio.timeout(5), background(box(tool).call(tool.id, {}, cancellation=switch)) as call:
        await hanging.started.wait()
        switch.cancel()
        result = await call

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.CANCELLED
    assert (hanging.stopped.is_set(), other_tasks()) == (True, set())


@pytest.mark.req("RT-12")
@pytest.mark.fault("I6")
async def test_parallel_tools_nested_fifty_deep_run_as_well() -> None:
    tool = fake_tool("leaf", returns=1)
    for _ in range(50):
        tool = parallel(tool, fake_tool("other"))  # type: ignore[assignment]

    result = await called(tool, {})

    assert (result.error, result.value[1]) == (None, None)  # type: ignore[index]


@pytest.mark.req("RT-12", "RT-13")
@pytest.mark.fault("I6")
async def test_a_tool_that_is_a_step_of_itself_ends_with_an_error() -> None:
    loaded: list[RunnableTool] = []
    tool = lazy(counting("self").definition, lambda: loaded[0])
    loaded.append(tool)

    result = await called(tool, {"n": 1}, policy=ANYTHING)

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.LIMIT
    assert f"more than {MAX_NESTING} deep" in result.error.message
    assert other_tasks() == set()
