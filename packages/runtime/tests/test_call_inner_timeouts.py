"""Tools with timeouts, task groups and cancel scopes of their own, inside a call that has a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from small_toolboxes import as_tool, background, box, called, error_of

from toolcrib_runtime import LocalExecutor, RuntimeToolContext, ToolResult
from toolcrib_runtime.testing import FakeClock

pytestmark = pytest.mark.req("RT-5")


async def forever() -> None:
    await asyncio.Event().wait()


async def test_a_tool_that_uses_timeouts_of_its_own_is_not_disturbed() -> None:
    async def work() -> list[str]:
        seen = []
        for _ in range(3):
            try:
                async with asyncio.timeout(0.001):
                    await forever()
            except TimeoutError:
                seen.append("own timeout")
        return seen

    result = await called(as_tool(work, timeout=5), executor=LocalExecutor(grace=0.01))

    assert result.unwrap() == ["own timeout"] * 3


async def test_a_timeout_of_the_tools_own_that_it_lets_pass_is_its_failure() -> None:
    async def work() -> None:
        async with asyncio.timeout(0.001):
            await forever()

    result = await called(as_tool(work, timeout=5))

    assert error_of(result) == ("tool.default.work.timed-out", "timeout")


async def test_a_tool_with_a_task_group_is_stopped_with_all_its_tasks() -> None:
    stopped, running = [], asyncio.Event()

    async def part(name: str) -> None:
        try:
            running.set()
            await forever()
        finally:
            stopped.append(name)

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(part("one"))
            group.create_task(part("other"))

    before = asyncio.all_tasks()
    result = await called(as_tool(work, timeout=0.05))

    assert error_of(result)[1] == "timeout"
    assert (sorted(stopped), asyncio.all_tasks()) == (["one", "other"], before)


async def test_a_tool_whose_task_group_fails_is_a_failure_and_no_cancellation() -> None:
    async def fail() -> None:
        raise ValueError("one of them")

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(forever())

    result = await called(as_tool(work, timeout=5))

    assert error_of(result) == ("tool.default.work.failed", "internal")
    assert result.error is not None
    assert result.error.details["exceptions"] == ["ValueError"]


async def group_that_fails() -> str:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("one of them")

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(forever())
    except* ValueError:
        pass
    return "carried on"


async def stream_of_a_group_that_fails() -> AsyncIterator[str]:
    yield await group_that_fails()
    yield "and on"


@pytest.mark.parametrize("function", [group_that_fails, stream_of_a_group_that_fails])
async def test_a_tool_that_carries_on_after_its_task_group_has_failed_is_neither_stopped_nor_cancelled(
    function: Any,
) -> None:
    async def caller() -> tuple[ToolResult, int]:
        result = await called(as_tool(function, name="work", output=False), timeout=5)
        task = asyncio.current_task()
        assert task is not None
        return result, task.cancelling()

    result, cancelling = await asyncio.create_task(caller())

    assert result.ok
    assert cancelling == 0


async def test_a_call_that_runs_out_of_time_after_its_task_group_has_failed_is_a_timeout() -> None:
    async def work() -> None:
        await group_that_fails()
        await forever()

    assert error_of(await called(as_tool(work, timeout=0.05))) == ("toolbox.deadline-exceeded", "timeout")


async def test_a_tool_may_take_its_time_to_clean_up_after_a_timeout_of_its_own() -> None:
    clock = FakeClock()

    async def work() -> str:
        own = asyncio.timeout(0)
        try:
            async with own:
                try:
                    await forever()
                finally:
                    await clock.sleep(50)
        except TimeoutError:
            return "cleaned up"
        return "never"

    toolbox = box(as_tool(work, timeout=100), clock=clock, executor=LocalExecutor(grace=1))
    async with asyncio.timeout(5), background(toolbox.call("work")) as task:
        await clock.until_waiting(2)
        await clock.advance(50)

        assert (await task).unwrap() == "cleaned up"


async def test_a_tool_that_uses_anyio_is_not_disturbed() -> None:
    anyio = pytest.importorskip("anyio")

    async def work(context: RuntimeToolContext) -> str:
        with anyio.move_on_after(0.001):
            await anyio.sleep(10)
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 10)
            await anyio.sleep(0)
            group.cancel_scope.cancel()
        return f"done with {context.cancellation.is_cancelled}"

    result = await called(as_tool(work, timeout=5), executor=LocalExecutor(grace=0.01))

    assert result.unwrap() == "done with False"


async def test_a_tool_that_uses_anyio_is_stopped_in_time() -> None:
    anyio = pytest.importorskip("anyio")

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 10)

    assert error_of(await called(as_tool(work, timeout=0.05)))[1] == "timeout"
