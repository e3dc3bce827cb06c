"""Fair gates: how many go through, in which order, and what happens to those who stop waiting."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_runtime.policy.gates import FairGate, GateFamily


def waiting(gate: FairGate) -> int:
    return sum(map(len, gate._queues.values()))


async def queue_up(gate: FairGate, keys: list[str], order: list[str]) -> list[asyncio.Task[None]]:
    """Tasks that wait at the gate in this order, and note their key when they are through."""

    async def go_through(key: str) -> None:
        await gate.acquire(key)
        order.append(key)
        gate.release()

    tasks = [asyncio.create_task(go_through(key)) for key in keys]
    await asyncio.sleep(0)  # each task runs until it waits
    assert waiting(gate) == len(keys)
    return tasks


async def closed_gate() -> FairGate:
    gate = FairGate(1)
    await gate.acquire()
    return gate


async def two_at_a_closed_gate(
    meet: Callable[[FairGate, asyncio.Task[None]], None],
) -> tuple[bool, list[str], int]:
    """What comes of two who wait: whether the first was cancelled, who got through, and how many places are free."""
    gate, order = await closed_gate(), list[str]()
    async with asyncio.timeout(5):
        tasks = await queue_up(gate, ["first", "second"], order)
        meet(gate, tasks[0])
        await asyncio.wait(tasks)
    return tasks[0].cancelled(), order, gate._free


@pytest.mark.req("RT-8")
@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_no_more_than_the_limit_are_through_at_a_time(limit: int) -> None:
    gate = FairGate(limit)
    inside, most = 0, 0

    async def visit(number: int) -> None:
        nonlocal inside, most
        await gate.acquire(number % 7)
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        gate.release()

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for number in range(500):
            group.create_task(visit(number))

    assert (most, inside, gate._free) == (limit, 0, limit)


@pytest.mark.req("RT-8")
async def test_those_with_the_same_key_go_in_the_order_they_came() -> None:
    gate, order = await closed_gate(), list[str]()

    async def go_through(number: int) -> None:
        await gate.acquire("user")
        order.append(str(number))
        gate.release()

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for number in range(100):
            group.create_task(go_through(number))
        await asyncio.sleep(0)
        gate.release()

    assert order == [str(number) for number in range(100)]


@pytest.mark.req("RT-8")
async def test_a_user_with_one_call_is_not_held_up_by_a_thousand_of_another() -> None:
    gate, order = await closed_gate(), list[str]()

    async with asyncio.timeout(10):
        tasks = await queue_up(gate, ["crowd"] * 1_000 + ["single"], order)
        gate.release()
        await asyncio.gather(*tasks)

    assert order.index("single") == 1


@pytest.mark.req("RT-8")
async def test_keys_take_turns() -> None:
    gate, order = await closed_gate(), list[str]()

    async with asyncio.timeout(5):
        tasks = await queue_up(gate, [*"aaaa", *"bb", *"c"], order)
        gate.release()
        await asyncio.gather(*tasks)

    assert "".join(order) == "abcabaa"


@pytest.mark.req("RT-8")
async def test_one_who_comes_does_not_overtake_those_who_wait() -> None:
    gate, order = await closed_gate(), list[str]()

    async with asyncio.timeout(5):
        tasks = await queue_up(gate, ["waiting"], order)
        gate.release()
        overtook = gate.try_acquire()
        await asyncio.gather(*tasks)

    assert (overtook, order) == (False, ["waiting"])


@pytest.mark.req("RT-6", "RT-8")
async def test_one_who_stops_waiting_leaves_at_once_and_the_others_keep_their_order() -> None:
    gate, order = await closed_gate(), list[str]()

    async with asyncio.timeout(5):
        tasks = await queue_up(gate, ["a", "b", "c"], order)
        tasks[1].cancel()
        await asyncio.sleep(0)
        still_waiting = waiting(gate)
        gate.release()
        await asyncio.gather(tasks[0], tasks[2])

    assert (still_waiting, order, gate._free) == (2, ["a", "c"], 1)


@pytest.mark.req("RT-6", "RT-8")
async def test_no_place_is_lost_when_one_is_cancelled_in_the_moment_of_getting_it() -> None:
    def meet(gate: FairGate, first: asyncio.Task[None]) -> None:
        gate.release()
        first.cancel()

    assert await two_at_a_closed_gate(meet) == (True, ["second"], 1)


@pytest.mark.req("RT-6", "RT-8")
async def test_no_place_is_lost_when_one_is_cancelled_after_the_gate_woke_it_and_before_it_ran() -> None:
    def meet(gate: FairGate, first: asyncio.Task[None]) -> None:
        gate.release()
        asyncio.get_running_loop().call_soon(first.cancel)

    assert await two_at_a_closed_gate(meet) == (True, ["second"], 1)


@pytest.mark.req("RT-6", "RT-8")
async def test_no_place_goes_to_one_who_was_cancelled_just_before() -> None:
    def meet(gate: FairGate, first: asyncio.Task[None]) -> None:
        first.cancel()
        gate.release()

    assert await two_at_a_closed_gate(meet) == (True, ["second"], 1)


@pytest.mark.req("RT-8")
@given(
    st.integers(1, 3), st.lists(st.tuples(st.sampled_from(["come", "cancel", "go"]), st.integers(0, 5)), max_size=60)
)
def test_whoever_comes_and_goes_the_places_are_all_there_in_the_end(limit: int, story: list[tuple[str, int]]) -> None:
    async def live() -> tuple[int, int]:
        gate, done = FairGate(limit), asyncio.Event()
        visits: list[asyncio.Task[None]] = []
        leave = [asyncio.Event() for _ in range(6)]

        async def visit(key: int) -> None:
            await gate.acquire(key)
            try:
                await asyncio.wait(
                    [asyncio.ensure_future(done.wait()), asyncio.ensure_future(leave[key].wait())],
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                gate.release()

        for what, number in story:
            if what == "come":
                visits.append(asyncio.create_task(visit(number)))
            elif what == "cancel" and visits:
                visits[number % len(visits)].cancel()
            else:
                leave[number].set()
            await asyncio.sleep(0)
        done.set()
        for event in leave:
            event.set()
        await asyncio.gather(*visits, return_exceptions=True)
        return gate._free, waiting(gate)

    assert asyncio.run(live()) == (limit, 0)


@pytest.mark.req("RT-8")
async def test_cancelling_all_who_wait_costs_in_proportion_to_their_number() -> None:
    async def cpu_of(count: int) -> float:
        gate, order = await closed_gate(), list[str]()
        tasks = await queue_up(gate, [f"user{number % 10}" for number in range(count)], order)
        gc.collect()
        before = time.process_time()
        for task in reversed(tasks):
            task.cancel()
        await asyncio.wait(tasks)
        assert waiting(gate) == 0
        return time.process_time() - before

    async with asyncio.timeout(60):
        few = min([await cpu_of(2_000) for _ in range(2)])
        many = min([await cpu_of(10_000) for _ in range(2)])

    assert many / few < 10  # 5 if linear, 25 if quadratic


@pytest.mark.req("RT-8")
async def test_going_through_one_by_one_costs_in_proportion_to_their_number() -> None:
    async def cpu_of(count: int) -> float:
        gate, order = await closed_gate(), list[str]()
        tasks = await queue_up(gate, [f"user{number % (count // 2)}" for number in range(count)], order)
        gc.collect()
        before = time.process_time()
        gate.release()
        await asyncio.wait(tasks)
        assert len(order) == count
        return time.process_time() - before

    async with asyncio.timeout(60):
        few = min([await cpu_of(2_000) for _ in range(2)])
        many = min([await cpu_of(10_000) for _ in range(2)])

    assert many / few < 10  # 5 if linear, 25 if quadratic


@pytest.mark.req("RT-8")
def test_a_gate_works_in_one_event_loop_after_another() -> None:
    gate = FairGate(1)

    async def two_visits() -> list[str]:
        order: list[str] = []
        await gate.acquire()
        tasks = await queue_up(gate, ["a", "b"], order)
        gate.release()
        await asyncio.gather(*tasks)
        return order

    assert [asyncio.run(two_visits()), asyncio.run(two_visits())] == [["a", "b"], ["a", "b"]]


@pytest.mark.req("RT-8")
def test_those_who_waited_in_a_loop_that_is_closed_hold_nobody_up() -> None:
    gate = FairGate(1)
    assert gate.try_acquire()
    abandoned = gate.acquire("a")
    loop = asyncio.new_event_loop()

    async def begin_to_wait() -> None:
        abandoned.send(None)

    loop.run_until_complete(begin_to_wait())
    loop.close()

    async def visit() -> None:
        task = asyncio.create_task(gate.acquire("b"))
        await asyncio.sleep(0)
        gate.release()
        await task
        gate.release()

    asyncio.run(visit())
    abandoned.close()

    assert (gate._free, waiting(gate)) == (1, 0)


@pytest.mark.req("RT-8")
def test_one_limit_holds_for_event_loops_in_several_threads() -> None:
    gate, lock = FairGate(3), threading.Lock()
    inside, most = 0, 0

    async def visit(key: Hashable) -> None:
        nonlocal inside, most
        await gate.acquire(key)
        with lock:
            inside += 1
            most = max(most, inside)
        await asyncio.sleep(0)
        with lock:
            inside -= 1
        gate.release()

    async def visits(thread: int) -> None:
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            for _ in range(200):
                group.create_task(visit(thread))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda thread: asyncio.run(visits(thread)), range(4)))

    assert most <= 3
    assert (inside, gate._free, waiting(gate)) == (0, 3, 0)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, None])
def test_a_gate_refuses_a_limit_that_makes_no_sense(limit: Any) -> None:
    with pytest.raises(ValueError, match=r"^`limit` must be a whole number, 1 or more$"):
        FairGate(limit)


@pytest.mark.req("RT-8")
def test_a_family_keeps_a_gate_for_as_long_as_somebody_uses_it() -> None:
    family = GateFamily()

    first, second = family.borrow("a", 1), family.borrow("a", 1)
    family.give_back("a")
    third = family.borrow("a", 1)
    in_use = len(family)
    family.give_back("a")
    family.give_back("a")

    assert first is second is third
    assert (in_use, len(family)) == (1, 0)


@pytest.mark.req("RT-8")
def test_a_hundred_thousand_names_leave_nothing_behind_in_a_family() -> None:
    family, most = GateFamily(), 0

    for number in range(100_000):
        family.borrow(number, 1)
        most = max(most, len(family))
        family.give_back(number)

    assert (most, len(family)) == (1, 0)


def test_a_family_is_not_changed_by_a_limit_that_makes_no_sense() -> None:
    family = GateFamily()

    with pytest.raises(ValueError, match="`limit`"):
        family.borrow("a", 0)

    assert len(family) == 0
