"""Approvals in the database: each is good for one call, whoever asks and whatever the clock says."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib_store import SqlSpentApprovals, TurnableClock, open_store, sweep_store


@pytest.mark.req("RT-10")
async def test_an_approval_is_spent_once_also_after_a_restart(store_url: str) -> None:
    with open_store(store_url, clock=TurnableClock(0.0)) as store:
        first = await SqlSpentApprovals(store).spend("a", 100.0)
    with open_store(store_url, clock=TurnableClock(0.0)) as store:
        again = await SqlSpentApprovals(store).spend("a", 100.0)
        other = await SqlSpentApprovals(store).spend("b", 100.0)

    assert (first, again, other) == (True, False, True)


@pytest.mark.req("RT-10")
async def test_of_many_that_spend_it_at_once_one_may(store_url: str) -> None:
    with open_store(store_url) as one, open_store(store_url) as other:
        asked = [SqlSpentApprovals(store).spend("a", 10.0**10) for store in (one, other) * 8]

        answers = await asyncio.gather(*asked)

    assert sorted(answers) == [False] * 15 + [True]


@pytest.mark.req("RT-10")
@pytest.mark.fault("G6")
async def test_what_was_forgotten_is_not_usable_again_when_the_clock_goes_back(store_url: str) -> None:
    clock = TurnableClock(0.0)
    with open_store(store_url, clock=clock) as store:
        spent = SqlSpentApprovals(store)
        for name, until in (("a", 10.0), ("b", 20.0), ("c", 200.0)):
            await spent.spend(name, until)
        clock.turn(100)

        assert sweep_store(store)["approvals"] == 2
        assert sweep_store(store)["approvals"] == 0
    clock.turn(-100)
    with open_store(store_url, clock=clock) as store:
        spent = SqlSpentApprovals(store)
        answers = [await spent.spend(name, until) for name, until in (("a", 10.0), ("b", 20.0), ("c", 200.0))]

    assert answers == [False, False, False]
