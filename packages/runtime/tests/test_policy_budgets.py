"""Budgets: what is spent, what is given back, and what is refused."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from toolcrib_core import JsonValue, ToolError
from toolcrib_core.tokens import count_tokens
from toolcrib_runtime.calls import ToolCall, ToolResult
from toolcrib_runtime.clock import SYSTEM_CLOCK
from toolcrib_runtime.errors import BudgetExhausted
from toolcrib_runtime.invocation import Invocation, Proceed
from toolcrib_runtime.policy.budgets import Account, Budget, Spent
from toolcrib_runtime.policy.caching import CachePolicy
from toolcrib_runtime.policy.rules import Policy
from toolcrib_runtime.policy.runs import Run
from toolcrib_runtime.runnable import RunnableTool, create_tool
from toolcrib_runtime.testing import FakeClock, fake_tool
from toolcrib_runtime.toolbox import Toolbox, create_toolbox


def waiting_tool(gate: asyncio.Event, *, cost_hint: float = 0.0) -> RunnableTool:
    async def wait() -> str:
        """Wait until the test lets it go."""
        await gate.wait()
        return "done"

    return create_tool(wait, namespace="t", effects="read", cost_hint=cost_hint)


def refusals(results: Sequence[ToolResult]) -> int:
    return sum(isinstance(each.error, BudgetExhausted) for each in results)


def refused(result: ToolResult) -> BudgetExhausted:
    assert isinstance(result.error, BudgetExhausted)
    return result.error


def spent(box: Toolbox) -> Spent:
    assert box._settings is not None
    return box._settings.stages._budget.spent


async def call_times(box: Toolbox, times: int, *, run: Run | None = None) -> list[ToolResult]:
    return [await box.call("t:get", run=run) for _ in range(times)]


@pytest.mark.req("RT-9", "D1-7j")
async def test_the_call_after_the_last_allowed_one_is_refused_and_not_run() -> None:
    tool = fake_tool("t:get")
    box = create_toolbox([tool], budget=Budget(calls=2))

    results = await call_times(box, 3)

    assert [each.ok for each in results] == [True, True, False]
    assert len(tool.calls) == 2
    assert results[2].attempts == 0


@pytest.mark.req("RT-9")
async def test_a_refusal_says_which_bound_is_spent_how_much_was_allowed_and_what_to_do() -> None:
    box = create_toolbox([fake_tool("t:get")])

    error = refused((await call_times(box, 2, run=Run(budget=Budget(calls=1))))[1])

    assert error.to_dict() == {
        "code": "toolbox.budget-exhausted",
        "category": "budget",
        "message": "The budget of this run does not allow the call: 1 of 1 calls are spent.",
        "hint": "Answer with what is known, or have the budget raised.",
        "retryable": False,
        "details": {"owner": "run", "bound": "calls", "allowed": 1, "spent": 1},
    }


@pytest.mark.req("RT-9")
@pytest.mark.fault("I5")
async def test_a_hundred_calls_at_once_spend_exactly_what_is_allowed() -> None:
    gate = asyncio.Event()
    box = create_toolbox([waiting_tool(gate, cost_hint=0.5)], budget=Budget(calls=30, cost=10))

    async with asyncio.timeout(10):
        running = asyncio.create_task(box.execute([ToolCall(tool="t:wait")] * 100))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        in_flight = spent(box)
        gate.set()
        results = await running

    assert (in_flight.calls, in_flight.cost) == (20, 10)
    assert (sum(each.ok for each in results), refusals(results)) == (20, 80)
    assert spent(box).cost == 10


@pytest.mark.req("RT-9")
@pytest.mark.fault("I5")
def test_threads_that_spend_at_once_spend_exactly_what_is_allowed() -> None:
    account = Account(Budget(calls=5_000), owner="run")

    def spend_all() -> int:
        times = 0
        with contextlib.suppress(BudgetExhausted):
            while True:
                account.reserve(1.0, SYSTEM_CLOCK)
                times += 1
        return times

    with ThreadPoolExecutor(4) as threads:
        spent_by_each = list(threads.map(lambda _: spend_all(), range(4)))

    assert sum(spent_by_each) == account.spent.calls == account.spent.cost == 5_000


@pytest.mark.req("RT-9")
@pytest.mark.fault("I5")
async def test_output_goes_over_its_bound_by_no_more_than_what_was_in_flight() -> None:
    gate = asyncio.Event()
    box = create_toolbox([waiting_tool(gate)], budget=Budget(output_tokens=3))

    async with asyncio.timeout(10):
        running = asyncio.create_task(box.execute([ToolCall(tool="t:wait")] * 100, max_parallel=8))
        await asyncio.sleep(0)
        gate.set()
        results = await running

    in_flight = 8
    assert sum(each.ok for each in results) <= 3 + in_flight
    assert refusals(results) >= 100 - 3 - in_flight


@pytest.mark.req("RT-9")
async def test_a_call_that_would_cost_more_than_is_left_is_refused_and_a_cheaper_one_is_not() -> None:
    dear, cheap = fake_tool("t:dear", cost_hint=0.9), fake_tool("t:cheap", cost_hint=0.4)
    box = create_toolbox([dear, cheap], budget=Budget(cost=1))

    await box.call("t:cheap")
    error = refused(await box.call("t:dear"))
    last = await box.call("t:cheap")

    assert "0.4 of 1 units of cost are spent, and the call would take 0.9" in error.message
    assert error.details == {"owner": "toolbox", "bound": "cost", "allowed": 1, "spent": 0.4, "asked": 0.9}
    assert last.ok


@pytest.mark.parametrize(("hint", "allowed", "calls"), [(0.1, 0.3, 3), (0.1, 1.0, 10), (0.7, 2.1, 3)])
async def test_the_rounding_of_fractions_neither_loses_nor_gains_a_call(
    hint: float, allowed: float, calls: int
) -> None:
    box = create_toolbox([fake_tool("t:get", cost_hint=hint)], budget=Budget(cost=allowed))

    results = await call_times(box, calls + 1)

    assert refusals(results) == 1


@pytest.mark.req("RT-9")
async def test_output_is_counted_in_tokens_of_the_text_that_a_model_would_see() -> None:
    value = {"city": "Łódź", "days": [1, 2, 3]}
    run = Run(budget=Budget(output_tokens=1_000))
    box = create_toolbox([fake_tool("t:get", sequence=["some plain words", value])])

    results = await call_times(box, 2, run=run)

    assert run.spent.output_tokens == sum(count_tokens(each.text) for each in results)


@pytest.mark.req("RT-9")
async def test_no_call_starts_once_the_output_is_spent() -> None:
    box = create_toolbox([fake_tool("t:get", returns="words " * 50)], budget=Budget(output_tokens=50))

    results = await call_times(box, 3)

    assert [each.ok for each in results] == [True, False, False]
    assert refused(results[1]).details["bound"] == "output_tokens"


async def test_the_tokens_of_a_long_text_are_counted_while_others_go_on() -> None:
    text = "many words " * 30_000
    run = Run(budget=Budget(output_tokens=1))
    box = create_toolbox([fake_tool("t:get", returns=text)])
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    await box.call("t:get", run=run)
    beside.cancel()

    assert turns >= len(text) // 50_000
    assert run.spent.output_tokens == pytest.approx(count_tokens(text), abs=10)


async def test_output_is_not_counted_where_it_is_not_bounded() -> None:
    run = Run(budget=Budget())
    box = create_toolbox([fake_tool("t:get", returns="some words", cost_hint=2)], clock=FakeClock())

    await call_times(box, 3, run=run)

    assert run.spent == Spent(calls=3, cost=6)


@pytest.mark.req("RT-9")
async def test_what_was_not_started_is_given_back() -> None:
    tool = fake_tool("t:get", cost_hint=1)
    run = Run(budget=Budget(calls=5, cost=5))
    box = create_toolbox([tool], policy=Policy(rules=(lambda _: "deny",)), budget=Budget(calls=5))

    await call_times(box, 20, run=run)

    assert (run.spent.calls, run.spent.cost, spent(box).calls) == (0, 0, 0)


@pytest.mark.req("RT-9", "RT-17")
async def test_a_call_that_a_middleware_answers_itself_is_given_back() -> None:
    async def answer(invocation: Invocation, proceed: Proceed) -> JsonValue:
        return "no need to ask"

    run = Run(budget=Budget(calls=5))
    box = create_toolbox([fake_tool("t:get")], middleware=(answer,))

    results = await call_times(box, 2, run=run)

    assert (results[1].value, run.spent.calls) == ("no need to ask", 0)


@pytest.mark.req("RT-9")
async def test_a_call_that_was_started_and_failed_is_paid_for() -> None:
    run = Run(budget=Budget(calls=5))
    box = create_toolbox([fake_tool("t:get", raises=ToolError("No."))])

    await call_times(box, 3, run=run)

    assert run.spent.calls == 3


async def test_a_call_that_is_answered_from_memory_is_a_call() -> None:
    run = Run(budget=Budget(calls=2))
    tool = fake_tool("t:get", returns=1, effects="none", cache=CachePolicy())
    box = create_toolbox([tool])

    results = await call_times(box, 3, run=run)

    assert [each.source for each in results] == ["run", "cache", "run"]
    assert refused(results[2]).details["spent"] == 2


@pytest.mark.req("RT-9")
async def test_a_call_that_one_budget_refuses_spends_nothing_of_the_other() -> None:
    run = Run(budget=Budget(calls=0))
    box = create_toolbox([fake_tool("t:get")], budget=Budget(calls=10))

    results = await call_times(box, 3, run=run)

    assert refusals(results) == 3
    assert spent(box).calls == 0


@pytest.mark.req("RT-9")
async def test_runs_spend_apart_and_the_toolbox_counts_them_together() -> None:
    one, other = Run(budget=Budget(calls=2)), Run(budget=Budget(calls=2))
    box = create_toolbox([fake_tool("t:get")], budget=Budget(calls=3))

    first = await call_times(box, 3, run=one)
    second = await call_times(box, 2, run=other)

    assert [each.ok for each in first + second] == [True, True, False, True, False]
    assert refused(first[2]).details["owner"] == "run"
    assert refused(second[1]).details["owner"] == "toolbox"


@pytest.mark.req("RT-9")
async def test_a_run_spans_several_toolboxes() -> None:
    run = Run(budget=Budget(calls=2))
    one, other = create_toolbox([fake_tool("t:get")]), create_toolbox([fake_tool("t:get")])

    results = [await box.call("t:get", run=run) for box in (one, other, one)]

    assert [each.ok for each in results] == [True, True, False]


async def test_nothing_is_counted_without_a_budget() -> None:
    run = Run()
    box = create_toolbox([fake_tool("t:get")])

    await call_times(box, 2, run=run)

    assert run.spent == spent(box) == Spent()


def test_runs_are_told_apart_by_what_they_are_not_by_what_they_say() -> None:
    assert Run(id="one") != Run(id="one")
    assert len({Run(id="one"), Run(id="one")}) == 2
    assert Run().id != Run().id


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("calls", -1),
        ("calls", 1.0),
        ("output_tokens", True),
        ("seconds", -0.5),
        ("seconds", math.inf),
        ("cost", math.nan),
        ("cost", "10"),
    ],
)
def test_a_budget_refuses_a_number_that_makes_no_sense_and_names_it(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^`{name}` must be a (whole|finite) number, 0 or more$"):
        Budget(**{name: value})
