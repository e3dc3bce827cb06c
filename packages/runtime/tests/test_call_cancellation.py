"""Taking calls back: before, while they wait, while they run, and after; and what is never confused with it."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from small_toolboxes import as_tool, background, box, called, error_of, held_up, until_set

from toolcrib_runtime import Cancellation, LocalExecutor, Policy, RetryPolicy, ToolCall
from toolcrib_runtime.testing import EventRecorder, fake_tool

pytestmark = pytest.mark.req("RT-6")

_CANCELLED = ("toolbox.cancelled", "cancelled")


async def forever() -> None:
    await asyncio.Event().wait()


async def test_a_call_that_was_taken_back_before_does_not_start() -> None:
    switch, tool = Cancellation(), fake_tool("work")
    switch.cancel("too late")

    result = await box(tool).call("work", cancellation=switch)

    assert error_of(result) == _CANCELLED
    assert result.error is not None
    assert ("too late" in result.error.message, result.error.retryable) == (True, False)
    assert (tool.calls, result.attempts) == ([], 0)


@pytest.mark.req("D1-5f")
@pytest.mark.parametrize("effects", ["read", "write"])
async def test_a_call_that_runs_is_stopped_and_its_finally_blocks_run(effects: str) -> None:
    switch, running, ended = Cancellation(), asyncio.Event(), []

    async def work() -> None:
        try:
            running.set()
            await forever()
        finally:
            ended.append(True)

    async with asyncio.timeout(5):
        toolbox = box(as_tool(work, effects=effects))
        async with background(toolbox.call("work", cancellation=switch)) as task:
            await running.wait()
            switch.cancel()
            result = await task

    assert error_of(result) == _CANCELLED
    assert (ended, result.attempts) == ([True], 1)


async def test_a_call_that_waits_for_its_turn_leaves_the_queue_at_once() -> None:
    switch, running, go = Cancellation(), asyncio.Event(), asyncio.Event()

    async def work() -> str:
        running.set()
        await go.wait()
        return "done"

    toolbox = box(as_tool(work, concurrency=1))
    async with asyncio.timeout(5), background(toolbox.call("work")) as first:
        await running.wait()
        async with background(toolbox.call("work", cancellation=switch)) as second:
            await asyncio.sleep(0)
            switch.cancel()
            result = await second
        assert not first.done()
        go.set()
        assert (await first).ok
        assert (await toolbox.call("work")).ok

    assert error_of(result) == _CANCELLED
    assert result.attempts == 0


async def test_a_call_that_waits_for_a_thread_leaves_the_queue_at_once_and_is_never_run() -> None:
    switch, running, ran, heard = Cancellation(), threading.Event(), [], EventRecorder()
    executor = LocalExecutor(threads=1)

    with held_up() as go:

        def work(number: int) -> int:
            ran.append(number)
            running.set()
            go.wait(10)
            return number

        toolbox = box(work, executor=executor)
        async with asyncio.timeout(10), background(toolbox.call("work", {"number": 1})) as first:
            await until_set(running)
            call = toolbox.call("work", {"number": 2}, cancellation=switch, on_event=heard)
            async with background(call) as second:
                await asyncio.sleep(0)
                switch.cancel()
                result = await second
            go.set()
            assert (await first).unwrap() == 1
            assert (await toolbox.call("work", {"number": 3})).unwrap() == 3

    assert error_of(result) == _CANCELLED
    assert ran == [1, 3]
    assert executor.abandoned == 0
    assert not {"abandoned", "late"} & set(heard.kinds())


async def test_turning_the_switch_after_the_end_changes_nothing() -> None:
    switch = Cancellation()
    result = await box(fake_tool("work", returns=1)).call("work", cancellation=switch)

    switch.cancel()
    await asyncio.sleep(0)

    assert result.unwrap() == 1


async def test_another_thread_may_turn_the_switch() -> None:
    switch, running = Cancellation(), asyncio.Event()

    async def work() -> None:
        running.set()
        await forever()

    async with asyncio.timeout(5), background(box(work).call("work", cancellation=switch)) as task:
        await running.wait()
        threading.Thread(target=switch.cancel).start()

        assert error_of(await task) == _CANCELLED


@pytest.mark.parametrize("blocking", [True, False])
async def test_cancelling_the_task_of_the_caller_raises_in_it_and_stops_the_tool(*, blocking: bool) -> None:
    running, stopped, heard = threading.Event(), threading.Event(), EventRecorder()

    async def work() -> None:
        try:
            running.set()
            await forever()
        finally:
            stopped.set()

    toolbox = box(as_tool(work, blocking=blocking), listeners=(heard,))
    async with asyncio.timeout(10):
        task = asyncio.create_task(toolbox.call("work"))
        await until_set(running)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until_set(stopped)

    assert task.cancelled()
    assert heard.events[-1].kind == "finished" if not blocking else "finished" in heard.kinds()
    assert heard.data("finished")[0]["category"] == "cancelled"


async def test_a_timeout_of_the_callers_own_around_a_call_works_as_around_any_await() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await called(forever)

    assert (await called(fake_tool("next", returns=1))).unwrap() == 1


@pytest.mark.parametrize("blocking", [True, False])
async def test_a_tool_that_raises_a_cancellation_nobody_asked_for_has_failed(*, blocking: bool) -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    result = await called(as_tool(work, blocking=blocking))

    assert error_of(result) == ("tool.default.work.failed", "internal")


async def test_a_tool_that_awaits_a_cancelled_future_has_failed() -> None:
    async def work() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    assert error_of(await called(work)) == ("tool.default.work.failed", "internal")


async def test_an_executor_that_raises_a_cancellation_nobody_asked_for_is_no_cancellation_of_the_caller() -> None:
    class Confused(LocalExecutor):
        async def run(self, work: object, /) -> object:
            raise asyncio.CancelledError

    assert error_of(await called(fake_tool("work"), executor=Confused()))[1] == "internal"


async def test_a_tool_that_turns_its_cancellation_into_another_error_does_not_hide_it_from_the_caller() -> None:
    running = asyncio.Event()

    async def work() -> None:
        running.set()
        try:
            await forever()
        except BaseException:  # noqa: BLE001  # the fault that is tested
            raise RuntimeError("connection closed") from None

    async with asyncio.timeout(5):
        task = asyncio.create_task(called(work))
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_tool_that_makes_a_passing_failure_of_its_cancellation_is_not_tried_again() -> None:
    switch, running, started = Cancellation(), asyncio.Event(), []

    async def work() -> None:
        started.append(True)
        running.set()
        try:
            await forever()
        except asyncio.CancelledError:
            raise ConnectionError("lost") from None

    toolbox = box(as_tool(work, retries=RetryPolicy(attempts=5, first_delay=0)))
    async with asyncio.timeout(5), background(toolbox.call("work", cancellation=switch)) as task:
        await running.wait()
        switch.cancel()
        result = await task

    assert error_of(result) == _CANCELLED
    assert started == [True]


async def test_a_cancelled_call_waits_for_no_retry() -> None:
    switch, heard = Cancellation(), EventRecorder()
    toolbox = box(fake_tool("work", raises=ConnectionError), retries=RetryPolicy(first_delay=1_000, max_delay=1_000))

    def listen(event: object) -> None:
        heard(event)
        if event.kind == "retry":
            switch.cancel()

    async with asyncio.timeout(5):
        result = await toolbox.call("work", cancellation=switch, on_event=listen, timeout=10_000)

    assert error_of(result) == _CANCELLED
    assert result.attempts == 1


async def test_a_call_that_waits_for_a_rule_is_taken_back_too() -> None:
    switch, asked = Cancellation(), asyncio.Event()

    async def think(request: object) -> str:
        asked.set()
        await forever()
        return "allow"

    tool = fake_tool("work")
    toolbox = box(tool, policy=Policy(rules=(think,), by_risk=None))
    async with asyncio.timeout(5), background(toolbox.call("work", cancellation=switch)) as task:
        await asked.wait()
        switch.cancel()

        assert error_of(await task) == _CANCELLED

    assert tool.calls == []


async def test_a_hundred_calls_with_one_switch_leave_no_listener_task_or_timer() -> None:
    switch = Cancellation()

    async def work(number: int) -> int:
        await asyncio.sleep(0)
        if number % 3 == 0:
            raise ValueError
        return number

    loop = asyncio.get_running_loop()
    before = asyncio.all_tasks()
    toolbox = box(as_tool(work, timeout=1_000))
    await toolbox.execute([ToolCall("work", {"number": each}) for each in range(100)], cancellation=switch)
    await asyncio.sleep(0)
    gc.collect()

    assert switch._listeners == {}
    assert asyncio.all_tasks() == before
    assert [each for each in loop._scheduled if not each.cancelled() and each.when() > loop.time() + 100] == []
