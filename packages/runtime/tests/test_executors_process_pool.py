"""The worker processes of an executor: when they start, who gets one next, and that none is left behind."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import process_tools as tools
import pytest
from process_children import alive, needs_proc, open_descriptors, until, zombies

from toolcrib_runtime import ProcessExecutor, ProcessLimitReached, RunnableTool, Toolbox, WorkerLost, create_toolbox
from toolcrib_runtime.executors import process_worker
from toolcrib_runtime.guards.process.limits import LONG_LIVED, ProcessLimits

pytestmark = [pytest.mark.req("RT-19"), needs_proc]


@asynccontextmanager
async def toolbox(*used: RunnableTool, **options: object) -> AsyncIterator[Toolbox]:
    """A toolbox with an executor of its own; at its end there is no process and no descriptor more than before."""
    before, children = open_descriptors(), _children()
    async with create_toolbox(used, executor=ProcessExecutor(**options), retries=None) as made:  # type: ignore[arg-type]
        yield made
    assert open_descriptors() == before
    assert _children() == children
    assert not zombies()


async def test_no_process_is_started_before_the_first_call() -> None:
    before = _children()

    async with toolbox(tools.double, workers=1):
        started = _children() - before

    assert started == set()


@pytest.mark.req("RT-8")
async def test_calls_beyond_the_workers_wait_and_go_in_the_order_they_came() -> None:
    ended: list[int] = []

    async def call(number: int) -> None:
        (await box.call("double", {"x": number})).unwrap()
        ended.append(number)

    async with toolbox(tools.double, workers=1) as box:
        await asyncio.gather(*map(call, range(20)))

    assert ended == list(range(20))


async def test_there_are_never_more_processes_than_workers() -> None:
    async with toolbox(tools.whoami, workers=2) as box:
        results = await asyncio.gather(*(box.call("whoami") for _ in range(50)))

    assert len({each.unwrap() for each in results}) <= 2


@pytest.mark.req("RT-6")
async def test_a_waiting_call_that_is_cancelled_leaves_at_once_and_the_next_one_gets_its_turn(tmp_path: Path) -> None:
    mark = tmp_path / "running"

    async with toolbox(tools.hangs, tools.double, workers=1) as box:
        holding = asyncio.create_task(box.call("hangs", {"mark": str(mark)}))
        await until(mark.exists)
        waiting, behind = (asyncio.create_task(box.call("double", {"x": each})) for each in (1, 2))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting], timeout=5)
        was_cancelled = waiting.cancelled()
        holding.cancel()
        result = await behind

    assert was_cancelled
    assert result.unwrap() == 4


@pytest.mark.fault("D11")
async def test_two_hundred_random_cancellations_leave_nothing_behind() -> None:
    chance = random.Random(7)

    async def call_and_leave() -> bool:
        call = asyncio.create_task(box.call("naps", {"seconds": 0.02}))
        await asyncio.wait([call], timeout=chance.uniform(0, 2.5))
        call.cancel()
        await asyncio.wait([call])
        return call.cancelled()

    async with toolbox(tools.naps, workers=2) as box:
        await box.call("naps", {"seconds": 0})
        cancelled = await asyncio.gather(*(call_and_leave() for _ in range(200)))
        result = await box.call("naps", {"seconds": 0})

    assert set(cancelled) == {True, False}
    assert result.unwrap() == 0


async def test_a_call_that_gives_up_while_its_worker_starts_leaves_the_worker_to_the_next() -> None:
    before = _children()

    async with toolbox(tools.whoami, workers=1) as box:
        impatient = await box.call("whoami", {}, timeout=0.01)
        (started,) = _children() - before
        patient = await box.call("whoami")

    assert impatient.error is not None
    assert impatient.error.category == "timeout"
    assert patient.unwrap() == started


async def test_a_worker_is_replaced_after_so_many_calls() -> None:
    async with toolbox(tools.whoami, workers=1, max_calls_per_worker=2) as box:
        one, two, three = [(await box.call("whoami")).unwrap() for _ in range(3)]

        assert one == two != three
        await until(lambda: one not in _children())


async def test_an_old_worker_that_does_not_end_by_itself_is_killed() -> None:
    async with toolbox(tools.leaves_a_thread, workers=1, max_calls_per_worker=1, grace=0.05) as box:
        old = (await box.call("leaves_a_thread")).unwrap()

        await until(lambda: old not in _children())


async def test_an_idle_worker_that_dies_is_not_given_to_a_call() -> None:
    async with toolbox(tools.whoami, workers=1) as box:
        first = (await box.call("whoami")).unwrap()
        assert isinstance(first, int)
        os.kill(first, signal.SIGKILL)
        await until(lambda: first not in _children())
        second = await box.call("whoami")

    assert second.unwrap() != first


async def test_closing_stops_the_calls_that_run_and_refuses_those_that_wait(tmp_path: Path) -> None:
    mark = tmp_path / "running"

    async with toolbox(tools.ignores_signals, tools.double, workers=1) as box:
        running = asyncio.create_task(box.call("ignores_signals", {"mark": str(mark)}))
        await until(mark.exists)
        waiting = asyncio.create_task(box.call("double", {"x": 1}))
        await asyncio.sleep(0)
        begun = time.monotonic()
        await box.aclose()
        stopped, refused = await running, await waiting

    assert time.monotonic() - begun < 5
    assert isinstance(stopped.error, WorkerLost)
    assert stopped.error.message.endswith("was ended, because its executor was closed.")
    assert isinstance(refused.error, WorkerLost)
    assert refused.error.message == "The executor was closed before the tool could run."


async def test_a_closed_executor_starts_new_workers_when_it_is_used_again() -> None:
    async with toolbox(tools.whoami, workers=1) as box:
        first = (await box.call("whoami")).unwrap()
        await box.aclose()
        second = (await box.call("whoami")).unwrap()

    assert first != second


@pytest.mark.fault("D3")
async def test_a_worker_that_uses_up_its_cpu_time_is_told_from_one_that_crashes() -> None:
    limits = ProcessLimits(cpu_seconds=2, memory_bytes=None, processes=None)

    async with toolbox(tools.burns, workers=1, limits=limits) as box:
        result = await box.call("burns")

    assert isinstance(result.error, ProcessLimitReached)
    assert result.error.details["limit"] == "cpu_seconds"


@pytest.mark.fault("D3")
async def test_a_worker_that_starts_too_many_processes_is_stopped(tmp_path: Path) -> None:
    limits = ProcessLimits(cpu_seconds=None, memory_bytes=None, processes=4)

    async with toolbox(tools.breeds, workers=1, limits=limits) as box:
        result = await box.call("breeds", {"family": tmp_path.name})

    assert isinstance(result.error, ProcessLimitReached)
    assert result.error.details["limit"] == "processes"
    await until(lambda: not alive(tmp_path.name))


async def test_a_worker_runs_behind_the_limits_of_long_lived_processes() -> None:
    async with toolbox(tools.double, workers=1, limits=LONG_LIVED) as box:
        result = await box.call("double", {"x": 3})

    assert result.unwrap() == 6


async def test_a_worker_that_cannot_start_is_told_as_a_call_that_did_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_worker, "_MAIN", "import sys; sys.stderr.write('no luck'); sys.exit(3)")

    async with toolbox(tools.double, workers=1) as box:
        result = await box.call("double", {"x": 3})

    assert isinstance(result.error, WorkerLost)
    assert result.error.message == "A worker process ended with exit status 3."
    assert result.error.details == {"status": 3, "stderr": "no luck", "sent": False}


async def test_a_worker_that_does_not_get_ready_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_worker, "_MAIN", "import time; time.sleep(600)")

    async with toolbox(tools.double, workers=1, start_timeout=0.1) as box:
        result = await box.call("double", {"x": 3})

    assert isinstance(result.error, WorkerLost)
    assert result.error.message == "A worker process was not ready after 0.1 s."
    assert result.error.details == {"sent": False}


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"workers": 1.5}, {"max_calls_per_worker": 0}])
def test_a_number_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"`{next(iter(wrong))}` must be a whole number"):
        ProcessExecutor(**wrong)  # type: ignore[arg-type]


def test_an_executor_has_a_worker_for_every_core_unless_it_is_told_otherwise() -> None:
    assert ProcessExecutor()._workers == os.cpu_count()


def _children() -> set[int]:
    return {int(each) for task in Path("/proc/self/task").iterdir() for each in (task / "children").read_text().split()}
