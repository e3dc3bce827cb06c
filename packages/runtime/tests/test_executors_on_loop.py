"""One run of an async handler in the task of its caller."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from small_toolboxes import as_tool

from toolcrib_runtime import HandlerRaised, LocalExecutor, RunnableTool, RuntimeToolContext
from toolcrib_runtime.cancellation import STOPPED
from toolcrib_runtime.clock import Clock
from toolcrib_runtime.executors import on_loop
from toolcrib_runtime.executors.on_loop import OnLoop
from toolcrib_runtime.testing import FakeClock

pytestmark = pytest.mark.req("RT-5", "RT-19")


class Job:
    """A piece of work that notes what is told of it."""

    deadline = None

    def __init__(self, tool: RunnableTool, clock: Clock) -> None:
        self.tool = tool
        self.clock = clock
        self.told: list[str] = []
        self.arguments: dict[str, Any] = {}
        self.keywords: dict[str, Any] = {}

    def context(self) -> RuntimeToolContext:
        raise NotImplementedError

    def emit(self, kind: str, **data: object) -> None:
        self.told.append(kind)


def job(function: Any, clock: Clock | None = None) -> Job:
    return Job(as_tool(function, name="work"), clock or FakeClock())


async def go_on_whatever_comes(waiting: asyncio.Event) -> None:
    while True:
        try:
            waiting.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass


async def test_it_gives_what_the_handler_returns() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 1

    assert await LocalExecutor().run(job(work)) == 1


async def test_what_the_handler_raises_is_kept_apart_and_chained() -> None:
    async def work() -> None:
        raise KeyError("x")

    with pytest.raises(HandlerRaised) as raised:
        await LocalExecutor().run(job(work))

    assert isinstance(raised.value.raised, KeyError)
    assert raised.value.__cause__ is raised.value.raised


async def test_a_handler_that_is_stopped_and_goes_on_is_closed_after_the_grace() -> None:
    clock, waiting, ended = FakeClock(), asyncio.Event(), []

    async def work() -> None:
        try:
            await go_on_whatever_comes(waiting)
        finally:
            ended.append(True)

    run = job(work, clock)

    async def call() -> None:
        await OnLoop(work(), run, grace=3)

    task = asyncio.create_task(call())
    await waiting.wait()
    task.cancel(STOPPED)
    await clock.until_waiting()
    await clock.advance(2.9)
    assert (run.told, ended) == ([], [])
    await clock.advance(0.1)

    assert (run.told, ended) == (["abandoned"], [True])
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clock.waiting == 0


async def test_a_handler_that_is_cancelled_by_somebody_else_may_take_its_time() -> None:
    clock, waiting = FakeClock(), asyncio.Event()

    async def work() -> None:
        try:
            waiting.set()
            await asyncio.Event().wait()
        finally:
            await clock.sleep(100)

    run = job(work, clock)

    async def call() -> None:
        await OnLoop(work(), run, grace=3)

    task = asyncio.create_task(call())
    await waiting.wait()
    task.cancel()
    await clock.until_waiting()
    await clock.advance(100)

    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.told == []


async def test_the_task_is_as_it_was_after_a_handler_was_given_up() -> None:
    clock, waiting, left = FakeClock(), asyncio.Event(), []

    async def work() -> None:
        await go_on_whatever_comes(waiting)

    async def call() -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            await OnLoop(work(), job(work, clock), grace=3)
        except asyncio.CancelledError:
            left.append(task.cancelling())
            task.uncancel()
        left.append(await asyncio.sleep(0, "goes on"))

    task = asyncio.create_task(call())
    await waiting.wait()
    task.cancel(STOPPED)
    await clock.until_waiting()
    await clock.advance(3)
    await task

    assert left == [1, "goes on"]


@pytest.mark.parametrize("kept", [0, 1_000])
async def test_a_handler_that_fails_while_it_is_closed_is_closed_all_the_same(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_loop, "_MAX_KEPT", kept)
    clock, waiting = FakeClock(), asyncio.Event()

    async def work() -> None:
        try:
            await go_on_whatever_comes(waiting)
        finally:
            raise ValueError("on the way out")

    run = job(work, clock)

    async def call() -> None:
        await OnLoop(work(), run, grace=3)

    task = asyncio.create_task(call())
    await waiting.wait()
    task.cancel(STOPPED)
    await clock.until_waiting()
    await clock.advance(3)

    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.told == ["abandoned"]
