"""Worker threads: how many, in which order, and what becomes of work that nobody waits for."""

from __future__ import annotations

import asyncio
import gc
import queue
import threading
import warnings
from collections.abc import Callable

import pytest
from small_toolboxes import background, held_up, until_set

from toolcrib_runtime import HandlerRaised, LocalExecutor, WorkersExhausted, create_tool, create_toolbox
from toolcrib_runtime.executors import threads
from toolcrib_runtime.executors.threads import LoopInThread, WorkerThreads

pytestmark = pytest.mark.req("RT-1", "RT-19")


def ignore(_: object) -> None:
    """Nobody wants to know."""


def pool(limit: int = 2, *, max_abandoned: int = 32) -> WorkerThreads:
    return WorkerThreads(limit=limit, max_abandoned=max_abandoned)


async def test_a_value_or_what_was_raised_comes_back() -> None:
    workers = pool()

    def fail() -> None:
        raise KeyError("x")

    assert await workers.run(lambda: 1, on_late=ignore) == 1
    with pytest.raises(HandlerRaised) as raised:
        await workers.run(fail, on_late=ignore)

    assert isinstance(raised.value.raised, KeyError)
    assert raised.value.__cause__ is raised.value.raised
    workers.close()


async def test_a_thread_is_used_again() -> None:
    workers = pool()

    names = {await workers.run(threading.get_ident, on_late=ignore) for _ in range(100)}

    assert len(names) < 10  # one may come back a moment after the next job
    workers.close()


async def test_work_that_waits_is_done_in_the_order_in_which_it_came() -> None:
    workers, order = pool(1), []

    await asyncio.gather(*(workers.run(lambda each=each: order.append(each), on_late=ignore) for each in range(50)))

    assert order == list(range(50))
    workers.close()


async def test_work_that_is_abandoned_gives_its_place_to_the_next() -> None:
    workers, started, late = pool(1), threading.Event(), asyncio.Event()
    abandoned: list[bool] = []

    with held_up() as go:

        def hang() -> None:
            started.set()
            go.wait(10)

        async with asyncio.timeout(10):
            run = workers.run(hang, on_late=lambda _: late.set(), on_abandoned=lambda: abandoned.append(True))
            async with background(run) as hanging:
                await until_set(started)
                async with background(workers.run(lambda: "next", on_late=ignore)) as following:
                    await asyncio.sleep(0)
                    hanging.cancel()
                    assert await following == "next"
            assert (workers.abandoned, abandoned) == (1, [True])
            go.set()
            await late.wait()

    assert workers.abandoned == 0
    workers.close()


async def test_work_that_was_cancelled_while_it_waited_is_forgotten_at_once() -> None:
    workers, started, ran = pool(1), threading.Event(), []
    told: list[object] = []

    with held_up() as go:

        def hang() -> None:
            started.set()
            go.wait(10)

        async with asyncio.timeout(10), background(workers.run(hang, on_late=ignore)) as hanging:
            await until_set(started)
            waiting = [
                asyncio.create_task(
                    workers.run(lambda: ran.append(1), on_late=told.append, on_abandoned=lambda: told.append(1))
                )
                for _ in range(1_000)
            ]
            await asyncio.sleep(0)
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            assert len(workers._waiting) == 0
            go.set()
            await hanging

    assert (ran, told, workers.abandoned) == ([], [], 0)
    workers.close()


async def test_with_too_many_hanging_no_more_are_started() -> None:
    workers, started = pool(max_abandoned=1), threading.Event()

    with held_up() as go:

        def hang() -> None:
            started.set()
            go.wait(10)

        async with background(workers.run(hang, on_late=ignore)) as hanging:
            await until_set(started)
            hanging.cancel()
            await asyncio.gather(hanging, return_exceptions=True)
            with pytest.raises(WorkersExhausted, match="1 worker threads hang") as refused:
                await workers.run(lambda: 1, on_late=ignore)

    assert refused.value.details["sent"] is False
    workers.close()


async def test_a_system_that_gives_no_more_threads_is_told_and_the_place_is_free_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers = pool(1)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(HandlerRaised) as raised:
            await workers.run(lambda: 1, on_late=ignore)

    assert isinstance(raised.value.raised, WorkersExhausted)
    assert await workers.run(lambda: 2, on_late=ignore) == 2
    workers.close()


async def test_an_idle_thread_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_SECONDS", 0.01)
    workers = pool()

    first = await workers.run(threading.current_thread, on_late=ignore)
    assert isinstance(first, threading.Thread)
    await asyncio.to_thread(first.join, 5)

    assert not first.is_alive()
    assert await workers.run(lambda: 1, on_late=ignore) == 1
    workers.close()


async def test_a_job_that_arrives_in_the_moment_a_thread_would_end_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_SECONDS", 0.0)
    workers = pool(4)

    for _ in range(300):
        assert await workers.run(lambda: 1, on_late=ignore) == 1

    workers.close()


async def test_a_pool_that_was_closed_still_does_what_it_is_asked_and_keeps_no_thread() -> None:
    workers = pool()
    workers.close()

    last = await workers.run(threading.current_thread, on_late=ignore)
    assert isinstance(last, threading.Thread)
    await asyncio.to_thread(last.join, 5)

    assert not last.is_alive()


def test_work_that_ends_after_its_loop_has_closed_harms_nothing() -> None:
    workers, started = pool(), threading.Event()

    with held_up() as go:

        def hang() -> threading.Thread:
            started.set()
            go.wait(10)
            return threading.current_thread()

        async def run() -> None:
            async with background(workers.run(hang, on_late=ignore)):
                await until_set(started)

        asyncio.run(run())
        assert workers.abandoned == 1
        workers.close()
        go.set()
        for each in threading.enumerate():
            if each.name == "toolcrib-worker" and each.daemon and workers.abandoned:
                each.join(timeout=5)

    assert workers.abandoned == 0


async def test_a_coroutine_that_comes_too_late_to_be_awaited_is_closed() -> None:
    workers, started, late = pool(), threading.Event(), asyncio.Event()

    async def nobody_awaits_this() -> None:
        raise NotImplementedError

    with held_up() as go, warnings.catch_warnings():
        warnings.simplefilter("error")

        def slow() -> object:
            started.set()
            go.wait(10)
            return nobody_awaits_this()

        async with asyncio.timeout(10):
            async with background(workers.run(slow, on_late=lambda _: late.set())):
                await until_set(started)
            go.set()
            await late.wait()
        gc.collect()

    workers.close()


async def test_work_that_was_cancelled_just_before_its_turn_is_passed_over() -> None:
    workers, started, ran = pool(1), threading.Event(), []

    with held_up() as go:

        def hang() -> None:
            started.set()
            go.wait(10)

        async with background(workers.run(hang, on_late=ignore)):
            await until_set(started)
            async with background(workers.run(lambda: ran.append(1), on_late=ignore)) as waiting:
                await asyncio.sleep(0)
                waiting.cancel()
                go.set()
                while workers._busy:  # on purpose without the loop, which would take it out of the queue
                    threading.Event().wait(0.001)

    assert (ran, len(workers._waiting)) == ([], 0)
    workers.close()


async def test_work_that_was_cancelled_on_its_way_to_a_thread_is_not_run() -> None:
    workers, ran = pool(1), []
    task = threads._Task(lambda: ran.append(1), ran.append)
    workers._busy = 1
    task.future.cancel()

    assert workers._perform(task) is None
    assert (ran, workers._busy) == ([], 0)


def test_a_job_that_comes_in_the_moment_a_thread_gives_up_waiting_is_taken() -> None:
    workers = pool(1)

    class TakenAtLast(queue.SimpleQueue):
        def get(self, block: bool = True, timeout: float | None = None) -> object:  # noqa: FBT001, FBT002  # as given
            if timeout is None:
                return "the job"
            workers._idle.remove(self)
            raise queue.Empty

    assert workers._rest(TakenAtLast()) == "the job"


def test_a_loop_in_a_thread_that_was_cancelled_before_it_began_runs_nothing() -> None:
    loop, ran = LoopInThread(), []

    async def work() -> None:
        ran.append(True)

    loop.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run(work)

    assert ran == []


def test_a_loop_in_a_thread_may_be_cancelled_when_it_is_over() -> None:
    loop = LoopInThread()

    async def work() -> int:
        return 1

    assert loop.run(work) == 1
    loop.cancel()


async def test_many_threads_handing_over_to_each_other_lose_nothing() -> None:
    workers = pool(8)
    jobs: list[Callable[[], int]] = [lambda each=each: each for each in range(2_000)]

    values = await asyncio.gather(*(workers.run(each, on_late=ignore) for each in jobs))

    assert values == list(range(2_000))
    assert (workers._busy, len(workers._waiting)) == (0, 0)
    workers.close()


@pytest.mark.req("RT-6", "RT-7")
async def test_a_call_that_ends_while_it_waits_for_a_thread_was_never_started() -> None:
    started, released = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        released.wait(10)

    box = create_toolbox([create_tool(work, effects="write")], executor=LocalExecutor(threads=1))
    first = asyncio.create_task(box.call("work"))
    await until_set(started)

    late = await box.call("work", timeout=0.02)
    released.set()

    assert (late.attempts, late.error and late.error.category) == (0, "timeout")
    assert (await first).ok
