"""Being asked to stop, once and more often."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from toolcrib_mcp.serving import StopRequests, stop_signals, unless

pytestmark = pytest.mark.fault("F16")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_first_signal_asks_and_a_second_insists(number):
    with stop_signals() as stop:
        os.kill(os.getpid(), number)
        async with asyncio.timeout(5):
            await stop.asked.wait()
        once = stop.insisted.is_set()
        os.kill(os.getpid(), number)
        async with asyncio.timeout(5):
            await stop.insisted.wait()

    assert not once


async def test_after_the_second_signal_the_third_does_what_it_otherwise_does():
    with stop_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(5):
            await stop.asked.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(5):
            await stop.insisted.wait()

        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


async def test_afterwards_signals_do_what_they_did():
    with stop_signals():
        pass

    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_outside_the_main_thread_nobody_asks():
    asked: list[bool] = []

    async def look():
        with stop_signals() as stop:
            asked.append(stop.asked.is_set())

    thread = threading.Thread(target=lambda: asyncio.run(look()))
    thread.start()
    thread.join(5)

    assert asked == [False]


async def test_work_that_ends_first_gives_its_result():
    async def work():
        return "done"

    assert await unless(asyncio.Event(), work()) == "done"


async def test_work_that_fails_first_fails():
    async def work():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await unless(asyncio.Event(), work())


async def test_an_event_that_comes_first_cancels_the_work_and_waits_for_its_end():
    stop, ended = StopRequests(), []

    async def work():
        try:
            stop.ask()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    assert await unless(stop.asked, work()) is None
    assert ended == [True]


async def test_being_cancelled_cancels_the_work():
    begun, ended = asyncio.Event(), []

    async def work():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = asyncio.create_task(unless(asyncio.Event(), work()))
    await begun.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_being_cancelled_again_hurries_work_that_takes_its_time_to_end():
    stop, ending, ended = StopRequests(), asyncio.Event(), []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

    task = asyncio.create_task(unless(stop.asked, work()))
    await asyncio.sleep(0)
    stop.ask()
    async with asyncio.timeout(5):
        await ending.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]
