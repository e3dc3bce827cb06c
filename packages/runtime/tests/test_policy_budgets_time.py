"""The seconds of a budget: a call gets what is left of them, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from toolcrib_core import ToolErrorCategory
from toolcrib_core.risk import Effects
from toolcrib_runtime.cancellation import Cancellation
from toolcrib_runtime.clock import Timer
from toolcrib_runtime.errors import BudgetExhausted, DeadlineExceeded, UnknownOutcome
from toolcrib_runtime.policy.budgets import Budget
from toolcrib_runtime.policy.runs import Run
from toolcrib_runtime.runnable import RunnableTool, create_tool
from toolcrib_runtime.testing import FakeClock, fake_tool
from toolcrib_runtime.toolbox import create_toolbox


def endless_tool(ended: list[str], *, effects: Effects = "read") -> RunnableTool:
    async def hang() -> None:
        """Never end by itself."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("stopped")

    return create_tool(hang, namespace="t", effects=effects)


@pytest.mark.req("RT-9")
async def test_no_call_starts_when_the_seconds_since_the_first_call_are_over() -> None:
    clock = FakeClock()
    box = create_toolbox([fake_tool("t:get")], clock=clock, budget=Budget(seconds=10))

    await clock.advance(100)
    first = await box.call("t:get")
    await clock.advance(9)
    second = await box.call("t:get")
    await clock.advance(1)
    third = await box.call("t:get")

    assert (first.ok, second.ok) == (True, True)
    assert isinstance(third.error, BudgetExhausted)
    assert third.error.details == {"owner": "toolbox", "bound": "seconds", "allowed": 10, "spent": 10}


@pytest.mark.req("RT-9")
async def test_a_call_is_stopped_when_the_seconds_are_over() -> None:
    clock, ended, run = FakeClock(), list[str](), Run(budget=Budget(seconds=10))
    box = create_toolbox([endless_tool(ended)], clock=clock, timeout=60)

    async with asyncio.timeout(5):
        running = asyncio.create_task(box.call("t:hang", run=run))
        await clock.until_waiting(2)
        await clock.advance(9.5)
        assert not running.done()
        await clock.advance(0.5)
        result = await running

    assert isinstance(result.error, BudgetExhausted)
    assert "10 of 10 seconds are spent" in result.error.message
    assert (ended, run.spent.seconds, run.spent.calls, clock.waiting) == (["stopped"], 10, 1, 0)


@pytest.mark.req("RT-5", "RT-9")
@pytest.mark.parametrize("seconds", [3, 10])
async def test_a_deadline_that_comes_no_later_than_the_end_of_the_seconds_is_a_timeout(seconds: float) -> None:
    clock = FakeClock()
    box = create_toolbox([endless_tool([])], clock=clock, budget=Budget(seconds=10))

    async with asyncio.timeout(5):
        running = asyncio.create_task(box.call("t:hang", timeout=seconds))
        await clock.until_waiting(1)
        await clock.advance(seconds)
        result = await running

    assert isinstance(result.error, DeadlineExceeded)


@pytest.mark.req("RT-9")
async def test_of_two_budgets_the_one_whose_seconds_end_first_stops_the_call() -> None:
    clock = FakeClock()
    box = create_toolbox([endless_tool([])], clock=clock, budget=Budget(seconds=20))

    async with asyncio.timeout(5):
        running = asyncio.create_task(box.call("t:hang", run=Run(budget=Budget(seconds=5))))
        await clock.until_waiting(2)
        await clock.advance(5)
        result = await running

    assert isinstance(result.error, BudgetExhausted)
    assert result.error.details["owner"] == "run"


@pytest.mark.req("RT-9")
async def test_a_deadline_of_something_further_in_is_not_taken_for_the_budget() -> None:
    clock = FakeClock()
    tool = fake_tool("t:get", raises=DeadlineExceeded("The upstream took too long."))
    box = create_toolbox([tool], clock=clock, retries=None, budget=Budget(seconds=20))

    result = await box.call("t:get")

    assert isinstance(result.error, DeadlineExceeded)


@pytest.mark.req("RT-6", "RT-9")
async def test_a_call_within_a_budget_can_still_be_taken_back() -> None:
    clock, switch, ended = FakeClock(), Cancellation(), list[str]()
    box = create_toolbox([endless_tool(ended)], clock=clock, budget=Budget(seconds=20))

    async with asyncio.timeout(5):
        running = asyncio.create_task(box.call("t:hang", cancellation=switch))
        await clock.until_waiting(2)
        switch.cancel()
        result = await running

    assert result.error is not None
    assert (result.error.category, ended) == (ToolErrorCategory.CANCELLED, ["stopped"])


@pytest.mark.req("RT-7", "RT-9")
async def test_a_call_with_effects_that_is_stopped_by_the_budget_ends_as_unknown() -> None:
    clock = FakeClock()
    box = create_toolbox([endless_tool([], effects="write")], clock=clock, budget=Budget(seconds=5))

    async with asyncio.timeout(5):
        running = asyncio.create_task(box.call("t:hang"))
        await clock.until_waiting(2)
        await clock.advance(5)
        result = await running

    assert isinstance(result.error, UnknownOutcome)


@pytest.mark.req("RT-9")
async def test_the_caller_that_cancels_its_own_task_is_told_so_and_no_permit_is_lost() -> None:
    clock, run = FakeClock(), Run(budget=Budget(calls=5, seconds=20))
    box = create_toolbox([endless_tool([])], clock=clock)

    async with asyncio.timeout(5):
        running = asyncio.create_task(box.call("t:hang", run=run))
        await clock.until_waiting(2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    assert (run.spent.calls, clock.waiting) == (1, 0)


async def test_a_timer_that_comes_within_the_resolution_of_the_clock_too_early_is_the_budgets() -> None:
    class EarlyClock(FakeClock):
        def call_at(self, when: float, callback: Callable[[], object], /) -> Timer:
            return super().call_at(when - 1e-6, callback)

    clock = EarlyClock()
    box = create_toolbox([endless_tool([])], clock=clock, timeout=None, budget=Budget(seconds=5))

    async with asyncio.timeout(5):
        running = asyncio.create_task(box.call("t:hang"))
        await clock.until_waiting(1)
        await clock.advance(5 - 1e-6)
        result = await running

    assert isinstance(result.error, BudgetExhausted)
