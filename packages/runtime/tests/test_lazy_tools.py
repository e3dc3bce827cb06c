"""Tools that are loaded by their first call: once for all who wait, and again after a failure."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from composed_tools import counting, defined, other_tasks
from small_toolboxes import background, box, called, held_up, until_set

from toolcrib_core import InvalidDefinition, JsonValue, ToolError, ToolErrorCategory, ToolRisk
from toolcrib_runtime import LoadFailed, RunnableTool, RuntimeToolContext, ToolCall, create_toolbox, deny, lazy
from toolcrib_runtime.lazy_tools import MAX_HANGING, Loader
from toolcrib_runtime.policy.rules import Policy
from toolcrib_runtime.testing import FakeClock, fake_tool


async def add(n: int) -> JsonValue:
    return {"n": n + 1}


class CountingLoader:
    """An async loader that waits until it may go on, and counts how often it was asked."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.runs = 0
        self.started = asyncio.Event()
        self.may_end = asyncio.Event()

    async def load(self) -> Any:
        outcome = self.outcomes[min(self.runs, len(self.outcomes) - 1)]
        self.runs += 1
        self.started.set()
        await self.may_end.wait()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


@pytest.mark.req("RT-13", "D1-7d")
async def test_it_is_listed_and_searched_without_being_loaded() -> None:
    loader = CountingLoader(add)

    toolbox = box(lazy(defined(), loader.load))

    assert [hit.id for hit in toolbox.search("add one").hits] == [defined().id]
    assert loader.runs == 0


@pytest.mark.req("RT-13")
@pytest.mark.parametrize(
    "loader",
    [lambda: add, lambda: counting("late"), lambda: asyncio.sleep(0, add)],
    ids=["handler", "tool", "awaitable"],
)
async def test_the_loader_gives_a_handler_or_a_tool_at_once_or_later(loader: Loader) -> None:
    result = await called(lazy(defined(), loader), {"n": 1})

    assert result.value == {"n": 2}


@pytest.mark.req("RT-13")
async def test_a_plain_loader_does_not_keep_the_loop_waiting() -> None:
    threads: list[threading.Thread] = []

    def load() -> Callable[..., Any]:
        threads.append(threading.current_thread())
        return add

    await called(lazy(defined(), load), {"n": 1})

    assert threads[0] is not threading.main_thread()


@pytest.mark.req("RT-13")
@pytest.mark.fault("I8")
async def test_fifty_callers_at_once_share_one_load() -> None:
    loader = CountingLoader(add)
    loader.may_end.set()
    tool = lazy(defined(), loader.load)
    toolbox = box(tool)

    results = await toolbox.execute([ToolCall(tool=tool.id, arguments={"n": n}) for n in range(50)])
    later = await toolbox.call(tool.id, {"n": 50})

    assert [each.value for each in (*results, later)] == [{"n": n + 1} for n in range(51)]
    assert loader.runs == 1


@pytest.mark.req("RT-13")
@pytest.mark.fault("I8")
async def test_a_failure_is_told_to_all_who_waited_and_the_next_call_loads_again() -> None:
    loader = CountingLoader(ImportError("no such module"), add)
    loader.may_end.set()
    tool = lazy(defined(), loader.load)
    toolbox = box(tool)

    failed = await toolbox.execute([ToolCall(tool=tool.id, arguments={"n": n}) for n in range(50)])
    after = await toolbox.call(tool.id, {"n": 1})

    errors = [each.error for each in failed]
    assert all(isinstance(each, LoadFailed) for each in errors)
    assert len({id(each) for each in errors}) == 50
    assert (after.value, loader.runs) == ({"n": 2}, 2)


@pytest.mark.req("RT-13")
@pytest.mark.fault("I8")
@pytest.mark.parametrize("nonsense", [None, 5, "tool", {"name": "tool"}, asyncio])
async def test_a_loader_that_gives_nonsense_has_failed_and_is_asked_again(nonsense: object) -> None:
    outcomes = [nonsense, add]
    tool = lazy(defined(), lambda: outcomes.pop(0))  # type: ignore[arg-type,return-value]
    toolbox = box(tool)

    failed, after = await toolbox.call(tool.id, {"n": 1}), await toolbox.call(tool.id, {"n": 1})

    assert isinstance(failed.error, LoadFailed)
    assert f"gave a value of type `{type(nonsense).__name__}`" in failed.error.message
    assert after.value == {"n": 2}


@pytest.mark.req("RT-7", "RT-13")
@pytest.mark.fault("I8")
@pytest.mark.parametrize(
    "failure", [ImportError("s3cret"), SystemExit(1), KeyboardInterrupt(), ToolError("Not there.")], ids=repr
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_whatever_a_loader_raises_is_a_failed_load_and_nothing_was_run(
    failure: BaseException, *, is_async: bool
) -> None:
    def load() -> RunnableTool:
        raise failure

    async def load_later() -> RunnableTool:
        raise failure

    tool = lazy(defined(effects="write"), load_later if is_async else load)

    result = await called(tool, {"n": 1})

    assert isinstance(result.error, LoadFailed)
    assert (result.error.category, result.error.retryable) == (ToolErrorCategory.UNAVAILABLE, True)
    assert (result.error.__cause__, "s3cret" in str(result.error.to_dict())) == (failure, False)


@pytest.mark.req("RT-6", "RT-13")
@pytest.mark.fault("I8")
async def test_a_caller_that_goes_away_does_not_take_the_tool_from_the_others() -> None:
    loader = CountingLoader(add)
    tool = lazy(defined(), loader.load)
    toolbox = box(tool)

    async with (
        asyncio.timeout(5),
        background(toolbox.call(tool.id, {"n": 1})) as leaving,
        background(toolbox.call(tool.id, {"n": 2})) as staying,
    ):
        await loader.started.wait()
        leaving.cancel()
        await asyncio.wait([leaving])
        loader.may_end.set()
        result = await staying

    assert (leaving.cancelled(), result.value, loader.runs) == (True, {"n": 3}, 1)


@pytest.mark.req("RT-6", "RT-13")
@pytest.mark.fault("I8")
async def test_a_load_that_nobody_waits_for_any_more_is_stopped() -> None:
    loader = CountingLoader(add)
    tool = lazy(defined(), loader.load)
    toolbox = box(tool)

    async with asyncio.timeout(5), background(toolbox.call(tool.id, {"n": 1})) as leaving:
        await loader.started.wait()
        leaving.cancel()
        await asyncio.wait([leaving])
        assert other_tasks() == set()
        loader.may_end.set()
        result = await toolbox.call(tool.id, {"n": 1})

    assert (result.value, loader.runs) == ({"n": 2}, 2)


@pytest.mark.req("RT-6", "RT-13")
@pytest.mark.fault("I8")
async def test_who_comes_while_a_load_is_being_stopped_starts_another() -> None:
    started, stopping, may_stop, runs = asyncio.Event(), asyncio.Event(), asyncio.Event(), 0

    async def load() -> Callable[..., Any]:
        nonlocal runs
        runs += 1
        started.set()
        if runs == 1:
            try:
                await asyncio.Event().wait()
            finally:
                stopping.set()
                await may_stop.wait()
        return add

    tool = lazy(defined(), load)
    toolbox = box(tool)

    async with asyncio.timeout(5), background(toolbox.call(tool.id, {"n": 1})) as leaving:
        await started.wait()
        leaving.cancel()
        await stopping.wait()
        result = await toolbox.call(tool.id, {"n": 1})
        may_stop.set()

    assert (result.value, runs) == ({"n": 2}, 2)


@pytest.mark.req("RT-5", "RT-13")
async def test_a_load_counts_for_the_time_of_the_call() -> None:
    clock, loader = FakeClock(), CountingLoader(add)
    tool = lazy(defined(), loader.load)
    toolbox = box(tool, clock=clock, timeout=5)

    async with asyncio.timeout(5), background(toolbox.call(tool.id, {"n": 1})) as call:
        await loader.started.wait()
        await clock.advance(5)
        result = await call

    assert result.error is not None
    assert (result.error.category, other_tasks()) == (ToolErrorCategory.TIMEOUT, set())


@pytest.mark.req("RT-13")
@pytest.mark.fault("I8")
async def test_loaders_that_hang_are_bounded_in_number() -> None:
    runs: list[threading.Event] = []

    with held_up() as may_end:

        def load() -> Callable[..., Any]:
            runs[-1].set()
            may_end.wait(30)
            return add

        tool = lazy(defined(), load)
        toolbox = box(tool)
        for _ in range(MAX_HANGING):
            runs.append(threading.Event())
            async with background(toolbox.call(tool.id, {"n": 1})) as call:
                await until_set(runs[-1])
                call.cancel()
        result = await toolbox.call(tool.id, {"n": 1})

    assert isinstance(result.error, LoadFailed)
    assert (len(runs), "worker threads hang" in result.error.message) == (MAX_HANGING, True)


@pytest.mark.req("RT-13")
def test_it_works_on_one_event_loop_after_another() -> None:
    runs: list[int] = []
    started = asyncio.Event()

    async def load() -> Callable[..., Any]:
        runs.append(1)
        started.set()
        if len(runs) == 1:
            await asyncio.Event().wait()
        return add

    tool = lazy(defined(), load)
    toolbox = box(tool)

    async def leave() -> None:
        waiting = asyncio.create_task(toolbox.call(tool.id, {"n": 1}))
        await started.wait()
        assert not waiting.done()

    asyncio.run(leave())
    values = [asyncio.run(_value(toolbox.call(tool.id, {"n": n}))) for n in (1, 2)]

    assert (values, len(runs)) == ([{"n": 2}, {"n": 3}], 2)


async def _value(call: Any) -> JsonValue:
    result = await call
    return result.unwrap()  # type: ignore[no-any-return]


@pytest.mark.req("RT-13")
def test_two_loops_at_once_do_not_wait_for_each_other() -> None:
    first_started, may_end = threading.Event(), threading.Event()

    async def load() -> Callable[..., Any]:
        if not first_started.is_set():
            first_started.set()
            await asyncio.to_thread(may_end.wait, 10)
        return add

    tool = lazy(defined(), load)
    toolbox = box(tool)
    values: list[JsonValue] = []
    thread = threading.Thread(target=lambda: values.append(asyncio.run(_value(toolbox.call(tool.id, {"n": 1})))))

    thread.start()
    assert first_started.wait(10)
    values.append(asyncio.run(_value(toolbox.call(tool.id, {"n": 2}))))
    may_end.set()
    thread.join(10)

    assert values == [{"n": 3}, {"n": 2}]


@pytest.mark.req("RT-13")
async def test_what_counts_is_the_definition_that_it_is_listed_with() -> None:
    loaded = fake_tool("other:name", returns={"n": "not a number"})
    tool = lazy(defined(), lambda: loaded)

    refused, unfit = await called(tool, {"n": "one"}), await called(tool, {"n": 1})

    assert refused.error is not None
    assert (refused.error.category, len(loaded.calls)) == (ToolErrorCategory.VALIDATION, 1)
    assert unfit.error is not None
    assert (unfit.error.category, unfit.tool_id) == (ToolErrorCategory.OUTPUT_VALIDATION, defined().id)


@pytest.mark.req("RT-10", "RT-13")
@pytest.mark.parametrize(
    "risk", [ToolRisk(effects="write"), ToolRisk(), ToolRisk(effects="read", destructive=True)], ids=repr
)
async def test_a_tool_that_can_do_more_harm_than_was_stated_is_not_run(risk: ToolRisk) -> None:
    loaded = fake_tool("wipe", risk=risk)

    result = await called(lazy(defined(effects="read"), lambda: loaded), {"n": 1})

    assert isinstance(result.error, LoadFailed)
    assert "more harm than was stated" in result.error.message
    assert loaded.calls == []


@pytest.mark.req("RT-10", "RT-13")
async def test_a_loaded_tool_keeps_the_rules_that_it_has() -> None:
    loaded = fake_tool("late", rules=(deny("*"),))

    result = await create_toolbox([lazy(defined(), lambda: loaded)], policy=Policy()).call("late", {"n": 1})

    assert result.error is not None
    assert (result.error.category, loaded.calls) == (ToolErrorCategory.PERMISSION, [])


@pytest.mark.req("RT-13", "RT-15")
async def test_the_loaded_tool_has_the_context_of_the_call() -> None:
    async def late(n: int, context: RuntimeToolContext) -> JsonValue:
        return {"n": context.values["start"] + n}  # type: ignore[operator]

    result = await called(lazy(defined(), lambda: late), {"n": 1}, context={"start": 40})

    assert result.value == {"n": 41}


@pytest.mark.req("RT-13")
def test_a_definition_and_a_loader_are_needed() -> None:
    with pytest.raises(InvalidDefinition):
        lazy(counting("tool"), lambda: add)  # type: ignore[arg-type]
    with pytest.raises(InvalidDefinition):
        lazy(defined(), "module:function")  # type: ignore[arg-type]
