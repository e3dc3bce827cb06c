from __future__ import annotations

import asyncio
import threading

import pytest

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import LedgerFull
from toolcrib_runtime.policy.ledgers import MemoryLedger, State
from toolcrib_runtime.testing import FakeClock


async def begin(ledger: MemoryLedger, key: str, fingerprint: str = "f", *, repeatable: bool = False) -> State:
    return (await ledger.begin(key, fingerprint, repeatable=repeatable)).state


async def finish(ledger: MemoryLedger, key: str, record: bytes = b"1") -> None:
    await ledger.begin(key, "f", repeatable=False)
    await ledger.finish(key, record)


async def abandon(ledger: MemoryLedger, key: str) -> None:
    await ledger.begin(key, "f", repeatable=False)
    await ledger.abandon(key)


@pytest.mark.req("RT-7")
async def test_a_key_goes_from_fresh_to_running_to_finished():
    ledger = MemoryLedger()

    states = [await begin(ledger, "k"), await begin(ledger, "k")]
    await ledger.finish("k", b"[1]")
    standing = await ledger.begin("k", "f", repeatable=False)

    assert states == ["fresh", "running"]
    assert (standing.state, standing.record) == ("finished", b"[1]")


@pytest.mark.req("RT-7")
async def test_a_key_that_was_forgotten_is_fresh():
    ledger = MemoryLedger()
    await begin(ledger, "k")

    await ledger.forget("k")

    assert await begin(ledger, "k", "other") == "fresh"


@pytest.mark.req("RT-7")
async def test_another_fingerprint_is_a_conflict_whatever_became_of_the_key():
    ledger = MemoryLedger()
    await finish(ledger, "finished")
    await abandon(ledger, "unknown")
    await begin(ledger, "running")

    states = [await begin(ledger, key, "other", repeatable=True) for key in ("finished", "unknown", "running")]

    assert states == ["conflict"] * 3


@pytest.mark.req("RT-7")
async def test_an_abandoned_key_is_unknown_until_somebody_comes_who_may_repeat_it():
    ledger = MemoryLedger()
    await abandon(ledger, "k")

    states = [await begin(ledger, "k"), await begin(ledger, "k", repeatable=True), await begin(ledger, "k")]

    assert states == ["unknown", "fresh", "running"]


@pytest.mark.req("RT-7")
async def test_what_finished_is_remembered_for_the_ttl():
    clock = FakeClock()
    ledger = MemoryLedger(ttl=60, clock=clock)
    await finish(ledger, "k")

    await clock.advance(59)
    before = await begin(ledger, "k")
    await clock.advance(1)

    assert (before, await begin(ledger, "k")) == ("finished", "fresh")


@pytest.mark.req("RT-7")
async def test_a_full_ledger_forgets_the_finished_call_that_was_not_asked_for_longest():
    ledger = MemoryLedger(max_entries=3)
    await abandon(ledger, "unknown")
    await finish(ledger, "old")
    await finish(ledger, "new")
    await begin(ledger, "old")

    await begin(ledger, "one more")

    assert [await begin(ledger, key) for key in ("unknown", "old")] == ["unknown", "finished"]
    assert await begin(ledger, "new") == "fresh"


@pytest.mark.req("RT-7")
async def test_a_ledger_full_of_calls_that_must_not_be_forgotten_refuses_new_keys():
    clock = FakeClock()
    ledger = MemoryLedger(max_entries=2, ttl=60, clock=clock)
    await abandon(ledger, "unknown")
    await begin(ledger, "running")

    with pytest.raises(LedgerFull, match=r"2 calls") as refused:
        await begin(ledger, "one more")

    assert refused.value.category is ToolErrorCategory.UNAVAILABLE
    assert refused.value.retryable
    assert refused.value.details == {"maxEntries": 2}
    assert await begin(ledger, "unknown") == "unknown"


@pytest.mark.req("RT-7")
async def test_a_ledger_full_of_running_calls_refuses_new_keys():
    ledger = MemoryLedger(max_entries=1)
    await begin(ledger, "running")

    with pytest.raises(LedgerFull):
        await begin(ledger, "one more")


@pytest.mark.req("RT-7")
async def test_an_unknown_outcome_outlives_the_ttl_until_its_place_is_needed():
    clock = FakeClock()
    ledger = MemoryLedger(max_entries=1, ttl=60, clock=clock)
    await abandon(ledger, "unknown")

    await clock.advance(600)
    before = await begin(ledger, "unknown")
    room = await begin(ledger, "one more")

    assert (before, room) == ("unknown", "fresh")


@pytest.mark.req("RT-7")
async def test_records_are_kept_within_a_number_of_bytes_and_the_newest_always():
    ledger = MemoryLedger(max_bytes=10)
    for key in ("a", "b", "c"):
        await finish(ledger, key, b"12345")
    await finish(ledger, "large", b"1" * 11)

    states = [await begin(ledger, key) for key in ("c", "large")]

    assert states == ["fresh", "finished"]


@pytest.mark.req("RT-7")
async def test_everybody_who_waits_for_a_key_is_woken_by_its_end():
    ledger = MemoryLedger()
    for end in (lambda: ledger.forget("k"), lambda: ledger.abandon("k"), lambda: ledger.finish("k", b"1")):
        await ledger.begin("k", "f", repeatable=True)

        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            tasks = [group.create_task(ledger.settled("k")) for _ in range(3)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            await end()

        assert [task.cancelled() for task in tasks] == [True, False, False]


@pytest.mark.req("RT-7")
async def test_there_is_nothing_to_wait_for_when_nothing_runs():
    async with asyncio.timeout(5):
        await MemoryLedger().settled("k")


@pytest.mark.req("RT-7")
async def test_a_call_may_wait_for_one_on_the_loop_of_another_thread():
    ledger, begun, seen = MemoryLedger(), threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    states: list[State] = []

    async def elsewhere() -> None:
        states.append(await begin(ledger, "k"))
        begun.set()
        loop.call_soon_threadsafe(seen.set)
        await ledger.settled("k")
        states.append(await begin(ledger, "k"))

    await begin(ledger, "k")
    thread = threading.Thread(target=lambda: asyncio.run(elsewhere()))
    thread.start()
    async with asyncio.timeout(5):
        await seen.wait()
    await ledger.finish("k", b"1")
    await asyncio.to_thread(thread.join, 5)

    assert states == ["running", "finished"]


@pytest.mark.req("RT-7")
def test_a_waiter_whose_loop_is_closed_is_in_nobodys_way():
    ledger = MemoryLedger()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(ledger.begin("k", "f", repeatable=False))
    waiting = loop.create_task(ledger.settled("k"))
    loop.run_until_complete(asyncio.sleep(0))
    running = ledger._running["k"]
    abandoned = dict(running.waiters)
    waiting.cancel()
    loop.run_until_complete(asyncio.wait({waiting}))
    loop.close()
    running.waiters.update(abandoned)

    asyncio.run(ledger.finish("k", b"1"))

    assert asyncio.run(ledger.begin("k", "f", repeatable=False)).state == "finished"


@pytest.mark.req("RT-7")
@pytest.mark.parametrize("options", [{"ttl": 0}, {"ttl": float("inf")}, {"max_entries": 0}, {"max_bytes": 0}])
def test_a_ledger_without_room_or_time_is_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        MemoryLedger(**options)
