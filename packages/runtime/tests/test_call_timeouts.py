"""Time: what stops a call, which limit counts, and what becomes of the work."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from small_toolboxes import as_tool, background, box, called, error_of, held_up, until_set

from toolcrib_core import ToolContext
from toolcrib_runtime import LocalExecutor, Toolbox, ToolCall, ToolResult
from toolcrib_runtime.testing import EventRecorder, FakeClock

pytestmark = pytest.mark.req("RT-5")


async def forever() -> None:
    await asyncio.Event().wait()


async def after(clock: FakeClock, seconds: float, toolbox: Toolbox, name: str, **options: Any) -> ToolResult | None:
    """What a call has come to when so much time has passed; None if it still runs."""
    async with background(toolbox.call(name, **options)) as task:
        await clock.until_waiting()
        await clock.advance(seconds)
        return task.result() if task.done() else None


@pytest.mark.req("D1-5e")
async def test_a_timeout_stops_the_work_and_its_finally_blocks_run() -> None:
    clock, ended = FakeClock(), []

    async def work() -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    result = await after(clock, 5, box(as_tool(work, timeout=5), clock=clock), "work")

    assert result is not None
    assert error_of(result) == ("toolbox.deadline-exceeded", "timeout")
    assert (result.error.retryable, result.attempts, result.duration, ended) == (True, 1, 5.0, [True])
    assert clock.waiting == 0


@pytest.mark.req("CT-29")
async def test_a_timeout_of_a_tool_that_must_not_run_twice_leaves_its_outcome_open() -> None:
    clock = FakeClock()
    tool = as_tool(forever, timeout=5, effects="write")

    result = await after(clock, 5, box(tool, clock=clock), "forever")

    assert result is not None
    assert error_of(result) == ("toolbox.unknown-outcome", "unknown_outcome")
    assert result.error is not None
    assert not result.error.retryable
    assert result.error.details["cause"]["category"] == "timeout"


@pytest.mark.req("D1-7g")
@pytest.mark.parametrize(
    ("of_call", "of_tool", "of_toolbox", "counts"),
    [(None, None, 7, 7), (None, 3, 7, 3), (None, 9, 7, 9), (2, 3, 7, 2), (20, 3, 7, 20), (5, None, None, 5)],
)
async def test_the_call_counts_before_the_tool_and_the_tool_before_the_toolbox(
    of_call: float | None, of_tool: float | None, of_toolbox: float | None, counts: float
) -> None:
    clock = FakeClock()
    tool = as_tool(forever) if of_tool is None else as_tool(forever, timeout=of_tool)
    toolbox = box(tool, clock=clock, timeout=of_toolbox)
    options = {} if of_call is None else {"timeout": of_call}

    assert await after(clock, counts - 0.5, toolbox, "forever", **options) is None
    result = await after(clock, counts, toolbox, "forever", **options)

    assert result is not None
    assert error_of(result)[1] == "timeout"


async def test_without_any_timeout_nothing_stops_the_call() -> None:
    clock = FakeClock()

    async def work() -> str:
        await clock.sleep(1_000_000)
        return "done"

    result = await after(clock, 1_000_000, box(work, clock=clock, timeout=None), "work")

    assert result is not None
    assert result.unwrap() == "done"


async def test_the_deadline_of_the_callers_context_caps_every_timeout() -> None:
    clock = FakeClock()
    toolbox = box(as_tool(forever, timeout=50), clock=clock)
    context = ToolContext(deadline=clock.monotonic() + 4)

    result = await after(clock, 4, toolbox, "forever", context=context, timeout=100)

    assert result is not None
    assert error_of(result)[1] == "timeout"


@pytest.mark.parametrize("options", [{"timeout": 0}, {"context": ToolContext(deadline=0.0)}])
async def test_a_call_whose_time_is_over_is_not_started(options: Any) -> None:
    started = []

    async def work() -> None:
        started.append(True)

    result = await box(work).call("work", **options)

    assert error_of(result) == ("toolbox.deadline-exceeded", "timeout")
    assert (started, result.attempts) == ([], 0)


async def test_every_call_of_a_batch_has_the_whole_time() -> None:
    clock = FakeClock()

    async def work() -> None:
        await clock.sleep(3)

    execution = box(work, clock=clock).execute([ToolCall("work")] * 3, mode="sequential", timeout=5)
    async with background(execution) as task:
        for _ in range(3):
            await clock.until_waiting(2)
            await clock.advance(3)
        results = await task

    assert all(each.ok for each in results)


async def test_the_time_that_a_call_waits_for_its_turn_counts() -> None:
    clock = FakeClock()
    toolbox = box(as_tool(forever, concurrency=1), clock=clock, timeout=100)

    async with background(toolbox.call("forever")):
        await clock.until_waiting()
        async with background(toolbox.call("forever", timeout=5)) as waiting:
            await clock.until_waiting(2)
            await clock.advance(5)
            result = await waiting

    assert error_of(result)[1] == "timeout"
    assert (result.attempts, result.queued) == (0, 5.0)


@pytest.mark.fault("I7")
async def test_a_jump_of_the_wall_clock_neither_ends_nor_prolongs_a_call() -> None:
    clock = FakeClock()
    toolbox = box(as_tool(forever, timeout=60), clock=clock)

    async with background(toolbox.call("forever")) as task:
        await clock.until_waiting()
        clock.set_wall(clock.wall() + 86_400)
        await clock.advance(30)
        assert not task.done()
        clock.set_wall(0)
        await clock.advance(29)
        assert not task.done()
        await clock.advance(1)
        result = await task

    assert error_of(result)[1] == "timeout"
    assert result.duration == 60.0


@pytest.mark.fault("I7")
async def test_a_machine_that_was_suspended_finds_the_call_over_when_it_wakes() -> None:
    clock = FakeClock()
    toolbox = box(as_tool(forever, timeout=60), clock=clock)

    result = await after(clock, 100_000, toolbox, "forever")

    assert result is not None
    assert error_of(result)[1] == "timeout"


async def test_the_real_clock_stops_a_call_about_when_it_should() -> None:
    begin = time.monotonic()

    result = await called(as_tool(forever, timeout=0.05))

    assert error_of(result)[1] == "timeout"
    assert 0.05 <= time.monotonic() - begin < 5


async def test_a_plain_function_is_left_to_itself_and_its_end_is_told() -> None:
    heard, executor, finished = EventRecorder(), LocalExecutor(), asyncio.Event()

    def listen(event: Any) -> None:
        heard(event)
        if event.kind == "late":
            finished.set()

    with held_up() as go:

        def work() -> str:
            go.wait(10)
            return "too late"

        result = await called(as_tool(work, timeout=0.05), executor=executor, listeners=(listen,))
        counted = executor.abandoned
        go.set()
        async with asyncio.timeout(5):
            await finished.wait()

    assert error_of(result) == ("toolbox.deadline-exceeded", "timeout")
    assert (result.value, counted, executor.abandoned) == (None, 1, 0)
    assert heard.kinds(result.call_id) == ["started", "validated", "attempt", "abandoned", "finished", "late"]
    assert heard.data("late") == [{"ok": True}]


async def test_an_async_function_in_a_thread_is_cancelled_there() -> None:
    started, stopped, clock = threading.Event(), threading.Event(), FakeClock()

    async def work() -> None:
        started.set()
        try:
            await forever()
        finally:
            stopped.set()

    calling = asyncio.create_task(called(as_tool(work, timeout=1, blocking=True), clock=clock))
    await until_set(started)
    await clock.advance(2)
    await until_set(stopped)

    assert error_of(await calling)[1] == "timeout"


async def test_a_call_that_keeps_the_loop_busy_past_its_deadline_is_too_late_all_the_same() -> None:
    def work() -> str:
        time.sleep(0.03)  # the fault that is tested
        return "late"

    result = await called(as_tool(work, timeout=0.01, blocking=False))

    assert error_of(result)[1] == "timeout"


async def test_a_value_that_must_not_be_made_twice_is_kept_although_it_is_late() -> None:
    def work() -> str:
        time.sleep(0.03)  # the fault that is tested
        return "written"

    result = await called(as_tool(work, timeout=0.01, blocking=False, effects="write"))

    assert result.unwrap() == "written"
