"""Many calls at once: their order, how many run at a time, and what the first failure does."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from small_toolboxes import as_tool, background, box, error_of

from toolcrib_runtime import Cancellation, LocalExecutor, Policy, ToolCall, ask
from toolcrib_runtime.testing import EventRecorder, fake_tool

pytestmark = pytest.mark.req("RT-3")


def calls_of(name: str, number: int) -> list[ToolCall]:
    return [ToolCall(name, {"number": each}, id=f"c{each}") for each in range(number)]


async def test_results_stand_in_the_order_of_the_calls_however_they_end() -> None:
    gates = [asyncio.Event() for _ in range(5)]

    async def wait(number: int) -> int:
        await gates[number].wait()
        if number:
            gates[number - 1].set()
        return number

    gates[4].set()
    async with asyncio.timeout(5):
        results = await box(wait).execute(calls_of("wait", 5))

    assert [each.unwrap() for each in results] == [0, 1, 2, 3, 4]
    assert [each.call_id for each in results] == ["c0", "c1", "c2", "c3", "c4"]


async def test_parallel_calls_really_overlap() -> None:
    together = asyncio.Barrier(10)

    async def meet(number: int) -> int:
        await together.wait()
        return number

    async with asyncio.timeout(5):
        results = await box(meet).execute(calls_of("meet", 10))

    assert all(each.ok for each in results)


@pytest.mark.parametrize(
    ("options", "most"), [({"mode": "sequential"}, 1), ({"max_parallel": 1}, 1), ({"max_parallel": 4}, 4)]
)
async def test_no_more_calls_run_at_a_time_than_allowed(options: Any, most: int) -> None:
    running, seen, order = 0, 0, []

    async def work(number: int) -> None:
        nonlocal running, seen
        running += 1
        seen = max(seen, running)
        order.append(number)
        await asyncio.sleep(0)
        running -= 1

    results = await box(work).execute(calls_of("work", 20), **options)

    assert (len(results), seen, order) == (20, most, list(range(20)))


async def test_sequential_calls_start_when_the_one_before_has_ended() -> None:
    heard = EventRecorder()

    await box(fake_tool("echo")).execute(calls_of("echo", 3), mode="sequential", on_event=heard)

    of_interest = [(each.kind, each.call_id) for each in heard.events if each.kind in {"started", "finished"}]
    assert of_interest == [(kind, f"c{number}") for number in range(3) for kind in ("started", "finished")]


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
async def test_collecting_runs_every_call_and_keeps_failures_apart(mode: Any) -> None:
    async def odd(number: int) -> int:
        if number % 2:
            raise ValueError("odd")
        return number

    calls = [*calls_of("odd", 4), ToolCall("nothing"), ToolCall("odd", "{")]
    results = await box(odd).execute(calls, mode=mode)

    assert [each.outcome for each in results] == ["success", "error", "success", "error", "error", "error"]
    assert [error_of(each)[1] for each in results if not each.ok] == ["internal", "internal", "not_found", "validation"]


async def test_failing_fast_stops_what_runs_never_starts_what_waits_and_has_a_result_for_all() -> None:
    started, stopped = [], []
    all_started = asyncio.Barrier(3)

    async def work(number: int) -> None:
        started.append(number)
        try:
            await all_started.wait()
            if number == 1:
                raise ValueError("first")
            await asyncio.Event().wait()
        finally:
            stopped.append(number)

    async with asyncio.timeout(5):
        results = await box(work).execute(calls_of("work", 10), on_error="fail_fast", max_parallel=3)

    assert (sorted(started), sorted(stopped)) == ([0, 1, 2], [0, 1, 2])
    assert [error_of(each)[1] for each in results] == ["cancelled", "internal", *["cancelled"] * 8]
    assert [each.attempts for each in results] == [1, 1, 1, *[0] * 7]


async def test_failing_fast_one_after_the_other_leaves_out_the_rest() -> None:
    tool = fake_tool("work", sequence=[1, ValueError("second"), 3])

    results = await box(tool).execute(calls_of("work", 4), mode="sequential", on_error="fail_fast")

    assert [each.outcome for each in results] == ["success", "error", "error", "error"]
    assert len(tool.calls) == 2
    assert results[3].error is not None
    assert "another call of the batch failed" in results[3].error.message


async def test_without_a_failure_failing_fast_changes_nothing() -> None:
    results = await box(fake_tool("work", returns=1)).execute(calls_of("work", 5), on_error="fail_fast")

    assert all(each.ok for each in results)


async def test_waiting_for_an_approval_is_no_failure_that_stops_the_rest() -> None:
    policy = Policy(rules=(ask("*:delete"),), by_risk=None)
    toolbox = box(fake_tool("delete"), fake_tool("read", returns=1), policy=policy)

    results = await toolbox.execute([ToolCall("delete"), ToolCall("read")], mode="sequential", on_error="fail_fast")

    assert [each.outcome for each in results] == ["action_required", "success"]


@pytest.mark.req("RT-6")
@pytest.mark.parametrize("on_error", ["collect", "fail_fast"])
async def test_the_callers_switch_takes_the_whole_batch_back(on_error: Any) -> None:
    switch, running = Cancellation(), asyncio.Event()

    async def work(number: int) -> None:
        if number == 3:
            running.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(5):
        execution = box(work).execute(calls_of("work", 8), cancellation=switch, on_error=on_error, max_parallel=4)
        async with background(execution) as task:
            await running.wait()
            switch.cancel("never mind")
            results = await task

    assert {error_of(each) for each in results} == {("toolbox.cancelled", "cancelled")}
    assert all("never mind" in each.text for each in results)
    assert [each.attempts for each in results] == [1, 1, 1, 1, 0, 0, 0, 0]
    assert switch._listeners == {}


@pytest.mark.req("RT-6")
async def test_a_switch_that_was_turned_before_lets_nothing_start() -> None:
    switch, tool = Cancellation(), fake_tool("work")
    switch.cancel()

    for on_error in ("collect", "fail_fast"):
        results = await box(tool).execute(calls_of("work", 5), cancellation=switch, on_error=on_error)
        assert {error_of(each)[1] for each in results} == {"cancelled"}

    assert tool.calls == []


@pytest.mark.req("RT-6")
async def test_cancelling_the_task_of_the_caller_stops_every_call_and_raises() -> None:
    stopped, running = [], asyncio.Event()

    async def work(number: int) -> None:
        if number == 4:
            running.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(number)

    before = asyncio.all_tasks()
    async with asyncio.timeout(5):
        task = asyncio.create_task(box(work).execute(calls_of("work", 5)))
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert sorted(stopped) == [0, 1, 2, 3, 4]
    assert asyncio.all_tasks() == before


async def test_no_calls_are_no_results() -> None:
    assert await box().execute([]) == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_parallel": 0}, ValueError),
        ({"max_parallel": -1}, ValueError),
        ({"mode": "serial"}, ValueError),
        ({"on_error": "failfast"}, ValueError),
        ({"time_out": 5}, TypeError),
    ],
)
async def test_an_option_that_means_nothing_is_refused_instead_of_ignored(options: Any, error: type[Exception]) -> None:
    tool = fake_tool("work")

    with pytest.raises(error, match=next(iter(options))):
        await box(tool).execute([ToolCall("work")], **options)

    assert tool.calls == []


@pytest.mark.req("RT-8")
async def test_the_time_of_a_batch_grows_in_proportion_to_its_calls() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 1

    toolbox = box(work)

    async def seconds_for(number: int) -> float:
        begin = time.process_time()
        await toolbox.execute([ToolCall("work")] * number, max_parallel=number)
        return time.process_time() - begin

    await seconds_for(200)
    small = min([await seconds_for(200) for _ in range(5)])
    large = min([await seconds_for(1_000) for _ in range(3)])

    assert large / small < 10  # five times as many calls; 25 if the time were quadratic


async def test_plain_functions_in_a_batch_come_out_in_order_too() -> None:
    def double(number: int) -> int:
        return 2 * number

    toolbox = box(as_tool(double), executor=LocalExecutor(threads=4))

    results = await toolbox.execute(calls_of("double", 50))

    assert [each.unwrap() for each in results] == list(range(0, 100, 2))
