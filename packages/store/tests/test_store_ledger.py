"""The ledger of calls in the database: one call for one key, whoever asks, in whichever process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import select, update

from toolcrib_store import QuotaExceeded, SqlLedger, Store, StoreDamaged, TurnableClock, open_store, sweep_store
from toolcrib_store.tables import CALLS


@pytest.fixture
def clock() -> TurnableClock:
    return TurnableClock()


@pytest.fixture
def store(store_url: str, clock: TurnableClock) -> Iterator[Store]:
    with open_store(store_url, clock=clock) as opened:
        yield opened


async def begin(ledger: SqlLedger, key: str, fingerprint: str = "f", *, repeatable: bool = False) -> str:
    return (await ledger.begin(key, fingerprint, repeatable=repeatable)).state


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for what a thread does."""
    for _ in range(1_000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not come to that")


@pytest.mark.req("RT-7")
async def test_a_key_goes_from_fresh_to_running_to_finished_also_for_another_process(store: Store) -> None:
    one, other = SqlLedger(store), SqlLedger(store)

    states = [await begin(one, "k"), await begin(one, "k"), await begin(other, "k")]
    await one.finish("k", b"[1]")
    standing = await other.begin("k", "f", repeatable=False)

    assert states == ["fresh", "running", "running"]
    assert (standing.state, standing.record) == ("finished", b"[1]")


@pytest.mark.req("RT-7")
async def test_what_was_forgotten_is_fresh_and_what_was_abandoned_is_unknown(store: Store) -> None:
    ledger = SqlLedger(store)
    for key in ("forgotten", "abandoned"):
        await begin(ledger, key)

    await ledger.forget("forgotten")
    await ledger.abandon("abandoned")

    assert await begin(ledger, "forgotten", "other") == "fresh"
    assert await begin(ledger, "abandoned") == "unknown"
    assert await begin(ledger, "abandoned", repeatable=True) == "fresh"


@pytest.mark.req("RT-7")
async def test_another_fingerprint_is_a_conflict_whatever_became_of_the_key(store: Store) -> None:
    ledger = SqlLedger(store)
    for key in ("finished", "unknown", "running"):
        await begin(ledger, key)
    await ledger.finish("finished", b"1")
    await ledger.abandon("unknown")

    states = [await begin(ledger, key, "other", repeatable=True) for key in ("finished", "unknown", "running")]

    assert states == ["conflict"] * 3


@pytest.mark.req("RT-7")
async def test_of_many_that_ask_at_once_one_may_run(store: Store) -> None:
    ledgers = [SqlLedger(store) for _ in range(4)]

    states = await asyncio.gather(*(begin(ledger, "k") for ledger in ledgers for _ in range(5)))

    assert sorted(states) == ["fresh"] + ["running"] * 19


@pytest.mark.req("RT-7")
async def test_the_calls_of_a_process_that_stopped_are_unknown_and_may_run_again_only_if_that_does_no_harm(
    store: Store, clock: TurnableClock
) -> None:
    stopped, other = SqlLedger(store, lease_seconds=10), SqlLedger(store)
    for key in ("once", "twice"):
        await begin(stopped, key)
    stopped.close()
    clock.turn(11)

    states = [await begin(other, "once"), await begin(other, "twice", repeatable=True)]
    await stopped.finish("twice", b"late")
    await other.finish("twice", b"in time")
    standing = await other.begin("twice", "f", repeatable=True)

    assert states == ["unknown", "fresh"]
    assert standing.record == b"in time"


@pytest.mark.req("RT-7")
async def test_an_end_that_comes_late_is_recorded_if_nobody_else_has_the_key(
    store: Store, clock: TurnableClock
) -> None:
    slow, other = SqlLedger(store, lease_seconds=10), SqlLedger(store)
    await begin(slow, "k")
    clock.turn(11)
    assert await begin(other, "k") == "unknown"

    await slow.finish("k", b"late")

    assert (await other.begin("k", "f", repeatable=False)).record == b"late"


async def test_a_process_that_lives_keeps_what_it_holds(store: Store, clock: TurnableClock) -> None:
    ledger, other = SqlLedger(store, lease_seconds=0.06), SqlLedger(store)
    await begin(ledger, "k")
    clock.turn(0.05)

    await until(lambda: _lease(store, "k") > clock.now() + 0.05)
    clock.turn(0.05)

    assert await begin(other, "k") == "running"
    ledger.close()


async def test_the_thread_that_renews_ends_when_there_is_nothing_to_renew_and_begins_again(store: Store) -> None:
    ledger = SqlLedger(store, lease_seconds=0.03)
    for _ in range(2):
        await begin(ledger, "k")
        thread = ledger._leases._thread
        await ledger.finish("k", b"1")
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()
        await ledger.forget("k")


async def test_a_lease_that_cannot_be_renewed_is_told_and_nothing_breaks(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = SqlLedger(store, lease_seconds=0.03)
    await begin(ledger, "k")
    with store.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE calls RENAME TO elsewhere")

    await until(lambda: "leases of calls were not renewed" in caplog.text)

    ledger.close()


@pytest.mark.req("RT-7")
@pytest.mark.parametrize("end", ["finish", "forget", "abandon"])
async def test_whoever_waits_is_told_of_the_end_here_and_elsewhere(store: Store, end: str) -> None:
    ledger, other = SqlLedger(store), SqlLedger(store)
    await begin(ledger, "k")
    waiting = [asyncio.create_task(each.settled("k")) for each in (ledger, ledger, other)]
    await asyncio.sleep(0)
    waiting[1].cancel()

    await (ledger.finish("k", b"1") if end == "finish" else getattr(ledger, end)("k"))

    async with asyncio.timeout(10):
        await asyncio.gather(waiting[0], waiting[2])


async def test_nobody_waits_for_a_process_that_stopped(store: Store, clock: TurnableClock) -> None:
    stopped, other = SqlLedger(store, lease_seconds=10), SqlLedger(store)
    await begin(stopped, "k")
    clock.turn(11)

    async with asyncio.timeout(10):
        await other.settled("k")
        await other.settled("never begun")


@pytest.mark.req("RT-7")
async def test_a_call_that_is_cancelled_while_it_asks_holds_nothing(store: Store) -> None:
    ledger = SqlLedger(store)
    with store.writing():
        asking = asyncio.create_task(begin(ledger, "k"))
        await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert await begin(ledger, "k", "other") == "fresh"


@pytest.mark.req("RT-7")
async def test_ends_are_remembered_for_the_ttl_and_then_swept(store: Store, clock: TurnableClock) -> None:
    ledger = SqlLedger(store, ttl=60)
    for key in ("finished", "abandoned", "running"):
        await begin(ledger, key)
    await ledger.finish("finished", b"1")
    await ledger.abandon("abandoned")
    clock.turn(59)
    before = [await begin(ledger, "finished"), await begin(ledger, "abandoned")]
    clock.turn(1)

    assert before == ["finished", "unknown"]
    assert sweep_store(store)["calls"] == 2
    assert await begin(ledger, "finished", "other") == "fresh"
    ledger.close()


async def test_an_end_is_forgotten_after_the_ttl_even_if_nobody_has_swept(store: Store, clock: TurnableClock) -> None:
    ledger = SqlLedger(store, ttl=60)
    await begin(ledger, "k")
    await ledger.finish("k", b"1")
    clock.turn(60)

    assert await begin(ledger, "k", "other") == "fresh"


async def test_a_full_ledger_forgets_the_oldest_end_first_and_never_a_call_whose_outcome_matters(
    store: Store, clock: TurnableClock
) -> None:
    ledger = SqlLedger(store, max_entries=3)
    for number, key in enumerate(("old", "new", "open")):
        clock.turn(number)
        await begin(ledger, key)
        if key != "open":
            await ledger.finish(key, b"1")

    states = [await begin(ledger, "more"), await begin(ledger, "new"), await begin(ledger, "yet more")]
    with pytest.raises(QuotaExceeded, match="3 calls"):
        await begin(ledger, "too many")

    assert states == ["fresh", "finished", "fresh"]
    assert await begin(ledger, "open") == "running"
    ledger.close()


@pytest.mark.fault("G9")
async def test_a_record_that_is_not_what_was_written_is_never_given_out(store: Store) -> None:
    ledger = SqlLedger(store)
    await begin(ledger, "k")
    await ledger.finish("k", b"[1]")
    with store.writing() as connection:
        connection.execute(update(CALLS).values(record=b"[2]"))

    with pytest.raises(StoreDamaged):
        await begin(ledger, "k")


def test_an_end_can_be_recorded_outside_of_any_loop(store: Store) -> None:
    ledger = SqlLedger(store)
    asyncio.run(begin(ledger, "k"))

    with pytest.raises(StopIteration):
        ledger.abandon("k").send(None)

    assert asyncio.run(begin(ledger, "k")) == "unknown"


def _lease(store: Store, key: str) -> float:
    with store.reading() as connection:
        return connection.scalar(select(CALLS.c.lease_until).where(CALLS.c.key == key)) or 0.0
