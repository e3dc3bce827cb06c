"""A driven coroutine behaves as one that is awaited."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolcrib_runtime.driving import Driven

pytestmark = pytest.mark.req("RT-5")


class Watched(Driven[Any]):
    """Notes what its places see."""

    def __init__(self, coroutine: Any) -> None:
        super().__init__(coroutine)
        self.seen: list[str] = []

    def _suspended(self) -> None:
        self.seen.append("suspended")

    def _finished(self, value: Any) -> Any:
        self.seen.append(f"finished {value}")
        return value

    def _ended(self) -> None:
        self.seen.append("ended")


async def test_what_never_waits_is_neither_suspended_nor_ended() -> None:
    async def work() -> int:
        return 1

    driven = Watched(work())

    assert await driven == 1
    assert driven.seen == ["finished 1"]


async def test_what_waits_is_suspended_once_and_ended_once() -> None:
    async def work() -> int:
        for _ in range(3):
            await asyncio.sleep(0)
        return 1

    driven = Watched(work())

    assert await driven == 1
    assert driven.seen == ["suspended", "finished 1", "ended"]


@pytest.mark.parametrize("waits", [True, False])
async def test_what_it_raises_arrives_as_it_is(*, waits: bool) -> None:
    async def work() -> None:
        if waits:
            await asyncio.sleep(0)
        raise ValueError("no")

    driven = Watched(work())

    with pytest.raises(ValueError, match="no"):
        await driven
    assert driven.seen == (["suspended", "ended"] if waits else [])


async def test_what_it_waits_for_fails_inside_it() -> None:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_exception, KeyError("lost"))

    async def work() -> str:
        try:
            await future
        except KeyError:
            return "handled"
        return "never"

    assert await Driven(work()) == "handled"


async def test_a_cancellation_reaches_it_and_it_may_handle_it() -> None:
    seen, started = [], asyncio.Event()

    async def work() -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("inside")
            raise

    async def run() -> None:
        await Driven(work())

    task = asyncio.create_task(run())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert seen == ["inside"]


def test_closing_whoever_awaits_it_closes_it() -> None:
    seen = []

    async def work() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            seen.append("closed")

    async def run() -> None:
        await driven

    driven = Watched(work())
    coroutine = run()
    coroutine.send(None)
    coroutine.close()

    assert seen == ["closed"]
    assert driven.seen == ["suspended", "ended"]


async def test_it_runs_in_the_task_of_whoever_awaits_it() -> None:
    async def work() -> object:
        await asyncio.sleep(0)
        return asyncio.current_task()

    assert await Driven(work()) is asyncio.current_task()
