"""Limits and budgets: so many calls in a time, refused with how long to wait, and never one too many."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_cases import call, source
from sqlalchemy import inspect, select

from toolcrib_mcp.errors import RateLimited
from toolcrib_mcp.outward import outward
from toolcrib_mcp.policy import POLICY_FILE, USAGE_LINE, CallBudgets, CallLimits, PolicySource, forget_usage
from toolcrib_mcp.policy.tables import METADATA, SPENT_CALLS
from toolcrib_mcp.safeguards.call import GuardedCall
from toolcrib_runtime.errors import BudgetExhausted
from toolcrib_runtime.testing import FakeClock
from toolcrib_store import Store, TurnableClock, migrate_to, open_store, sweep_store

DAY = 86_400
NOON = 20_000 * DAY + DAY / 2


class Limited:
    """Limits on a clock that stands still until it is turned."""

    def __init__(self, *entries: str, **options: int) -> None:
        self.clock = FakeClock()
        self.limits = CallLimits(source(*entries), clock=self.clock, **options)

    def passed(self, number: int, calling: GuardedCall | None = None) -> int:
        """How many of so many calls pass."""
        return sum(self.waits(calling) is None for _ in range(number))

    def waits(self, calling: GuardedCall | None = None) -> object:
        """How long a call is told to wait; None if it passes."""
        try:
            self.limits.take(calling or call())
        except RateLimited as refused:
            return refused.details["retryAfter"]
        return None


@pytest.mark.req("GW-8.7")
async def test_as_many_calls_pass_as_the_limit_says_and_then_one_for_each_share_of_the_period() -> None:
    limited = Limited('limit: calls=3\nper="minute"')
    assert limited.passed(10) == 3

    await limited.clock.advance(20)

    assert limited.passed(10) == 1
    await limited.clock.advance(3_600)
    assert limited.passed(10) == 3


@pytest.mark.req("GW-8.7")
async def test_a_refusal_says_when_to_come_back_and_then_the_call_passes() -> None:
    limited = Limited('limit: calls=1\nper="hour"')
    limited.passed(1)

    wait = limited.waits()

    assert isinstance(wait, int)
    assert 0 < wait <= 3_600
    await limited.clock.advance(wait)
    assert limited.waits() is None


@pytest.mark.req("GW-8.7")
async def test_a_client_reads_that_it_may_try_again() -> None:
    limited = Limited('limit: calls=1\nper="second"')
    limited.passed(1)

    with pytest.raises(RateLimited) as refused:
        limited.limits.take(call())

    assert outward(refused.value) == {
        "error": "RATE_LIMITED",
        "message": "There may be no more than 1 call per second, and there were as many.",
        "hint": "Nothing was run. Try again in 1 second.",
        "retryable": True,
        "details": {"retryAfter": 1, "rule": "limit 1 (line 3)"},
    }


@pytest.mark.req("GW-8.7")
@pytest.mark.parametrize(
    ("each", "shared", "apart"),
    [
        ('["principal"]', call("b", server="s", principal="p"), call(principal="q")),
        ('["server"]', call("b", principal="q"), call(server="s", principal="p")),
        ('["tool"]', call(principal="q"), call("b", principal="p")),
        ('["tool", "principal"]', call(principal="p"), call(principal="q")),
        ("[]", call("b", server="s", principal="q"), None),
    ],
)
async def test_each_principal_server_or_tool_has_its_own_count(
    each: str, shared: GuardedCall, apart: GuardedCall | None
) -> None:
    limited = Limited(f'limit: calls=1\nper="day"\neach={each}')

    assert limited.passed(1, call(principal="p")) == 1
    assert limited.passed(1, shared) == 0
    assert apart is None or limited.passed(1, apart) == 1


async def test_calls_that_a_limit_is_not_about_pass_it() -> None:
    limited = Limited('limit: calls=1\nper="day"\nserver="git*"')

    assert limited.passed(5, call(server="files")) == 5
    assert limited.passed(5) == 1


async def test_without_limits_nothing_is_counted() -> None:
    limited = Limited()

    assert limited.passed(5) == 5
    assert len(limited.limits) == 0


@pytest.mark.req("GW-8.7")
async def test_a_call_that_one_limit_refuses_uses_up_none_of_the_others() -> None:
    limited = Limited('limit: calls=1\nper="day"\ntool="a"', 'limit: calls=2\nper="day"')
    assert limited.passed(5, call("a")) == 1

    assert limited.passed(5, call("b")) == 1


async def test_no_more_counts_are_kept_than_there_is_room_for_and_the_nearest_to_whole_go_first() -> None:
    limited = Limited('limit: calls=2\nper="day"\neach="tool"', max_counts=10)
    for number in range(10):
        limited.passed(2, call(f"t{number}"))
        await limited.clock.advance(1)

    assert limited.passed(5, call("t10")) == 2
    assert len(limited.limits) == 10
    assert [limited.passed(1, call(f"t{number}")) for number in (9, 0)] == [0, 1]


async def test_counts_that_are_whole_again_are_forgotten_first() -> None:
    limited = Limited('limit: calls=1\nper="second"\neach="tool"', max_counts=3)
    for number in range(3):
        limited.passed(1, call(f"t{number}"))
    await limited.clock.advance(5)

    limited.passed(1, call("t3"))

    assert len(limited.limits) == 1


async def test_an_edit_of_the_policy_keeps_the_counts_of_limits_that_it_leaves(tmp_path: Path) -> None:
    file, limit = tmp_path / POLICY_FILE, '[[limit]]\ncalls = 1\nper = "day"\n'
    file.write_text(limit, "utf-8")
    clock = FakeClock()
    limits = CallLimits(PolicySource(file, clock=clock), clock=clock)
    limits.take(call())

    file.write_text(f'[[limit]]\ncalls = 9\nper = "hour"\n{limit}', "utf-8")
    await clock.advance(1)

    with pytest.raises(RateLimited, match="1 call per day"):
        limits.take(call())


@pytest.mark.req("GW-8.7")
@given(st.integers(1, 50), st.sampled_from(["second", "minute", "hour"]), st.lists(st.floats(0, 100), max_size=60))
@settings(max_examples=100, deadline=None)
def test_in_any_time_no_more_calls_pass_than_a_full_count_and_what_was_made_good(
    calls: int, per: str, pauses: list[float]
) -> None:
    seconds = {"second": 1, "minute": 60, "hour": 3_600}[per]
    clock = _Hand()
    limits = CallLimits(source(f'limit: calls={calls}\nper="{per}"'), clock=clock)
    passed = 0

    for pause in pauses:
        clock.now += pause
        try:
            limits.take(call())
        except RateLimited:
            continue
        passed += 1

    assert passed <= calls + sum(pauses) * calls / seconds + 0.5


class _Hand(FakeClock):
    """A clock that is set by hand, without a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.123

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock() -> TurnableClock:
    return TurnableClock(NOON)


@pytest.fixture
def store(store_url: str, clock: TurnableClock) -> Iterator[Store]:
    with open_store(store_url, lines=[USAGE_LINE], clock=clock) as opened:
        yield opened


async def passed(budgets: CallBudgets, number: int, calling: GuardedCall | None = None) -> int:
    """How many of so many calls pass, one after the other."""
    count = 0
    for _ in range(number):
        try:
            await budgets.take(calling or call())
        except BudgetExhausted:
            continue
        count += 1
    return count


@pytest.mark.req("GW-8.7")
async def test_a_budget_is_spent_and_whole_again_in_the_next_period(store: Store, clock: TurnableClock) -> None:
    budgets = CallBudgets(source('budget: calls=3\nper="day"'), store)
    assert await passed(budgets, 5) == 3

    clock.turn(DAY / 2 - 1)
    assert await passed(budgets, 5) == 0
    clock.turn(1)
    assert await passed(budgets, 5) == 3


@pytest.mark.req("GW-8.7")
async def test_a_restart_refills_nothing(store_url: str, clock: TurnableClock) -> None:
    for expected in (2, 0):
        with open_store(store_url, lines=[USAGE_LINE], clock=clock) as store:
            assert await passed(CallBudgets(source('budget: calls=2\nper="hour"'), store), 5) == expected


@pytest.mark.req("GW-8.7")
async def test_a_client_reads_that_the_budget_is_spent(store: Store) -> None:
    budgets = CallBudgets(source('budget: calls=1\nper="day"'), store)
    await budgets.take(call())

    with pytest.raises(BudgetExhausted) as refused:
        await budgets.take(call())

    told = outward(refused.value)
    assert told["error"] == "BUDGET_EXCEEDED"
    assert told["message"] == "The budget of 1 call per day is spent."
    assert told["details"] == {"retryAfter": DAY // 2, "rule": "budget 1 (line 3)", "allowed": 1}


@pytest.mark.req("GW-8.7")
async def test_principals_do_not_spend_from_each_others_budget(store: Store) -> None:
    budgets = CallBudgets(source('budget: calls=1\nper="day"'), store)

    assert await passed(budgets, 3, call(principal="ada")) == 1
    assert await passed(budgets, 3, call(principal="bob")) == 1
    assert await passed(budgets, 3, call("other", server="files", principal="ada")) == 0


@pytest.mark.req("GW-8.7")
async def test_a_call_that_one_budget_refuses_spends_from_none(store: Store) -> None:
    budgets = CallBudgets(source('budget: calls=2\nper="day"', 'budget: calls=1\nper="day"\ntool="a"'), store)
    assert await passed(budgets, 5, call("a")) == 1

    assert await passed(budgets, 5, call("b")) == 1


async def test_a_higher_number_gives_the_difference_and_not_all_of_it_again(store: Store) -> None:
    await passed(CallBudgets(source('budget: calls=2\nper="day"'), store), 2)

    assert await passed(CallBudgets(source('budget: calls=3\nper="day"'), store), 5) == 1


async def test_of_two_budgets_that_differ_only_in_the_number_the_smaller_is_kept_to(store: Store) -> None:
    budgets = CallBudgets(source('budget: calls=2\nper="day"', 'budget: calls=5\nper="day"'), store)

    assert await passed(budgets, 9) == 2


async def test_where_no_budget_is_about_a_call_the_database_is_left_alone(store: Store) -> None:
    budgets = CallBudgets(source('budget: calls=1\nper="day"\nserver="files"'), store)
    store.close()

    assert await passed(budgets, 3) == 3
    assert await passed(CallBudgets(source(), store), 3) == 3


async def test_a_process_whose_clock_is_behind_opens_no_period_again(store_url: str) -> None:
    entry = 'budget: calls=2\nper="hour"'
    with open_store(store_url, lines=[USAGE_LINE], clock=TurnableClock(NOON + 3_600)) as ahead:
        await passed(CallBudgets(source(entry), ahead), 1)
        with open_store(store_url, lines=[USAGE_LINE], clock=TurnableClock(NOON)) as behind:
            assert await passed(CallBudgets(source(entry), behind), 5) == 1
        assert await passed(CallBudgets(source(entry), ahead), 5) == 0


@pytest.mark.req("GW-8.7")
@pytest.mark.timeout(120)
async def test_many_callers_of_two_processes_at_once_never_overspend(store_url: str, clock: TurnableClock) -> None:
    entry = 'budget: calls=10\nper="day"'
    with (
        open_store(store_url, lines=[USAGE_LINE], clock=clock, busy_seconds=60) as one,
        open_store(store_url, lines=[USAGE_LINE], clock=clock, busy_seconds=60) as two,
    ):
        both = [CallBudgets(source(entry), each) for each in (one, two)]

        counts = await asyncio.gather(*(passed(budgets, 1) for budgets in both for _ in range(15)))

        with one.reading() as connection:
            assert connection.scalar(select(SPENT_CALLS.c.spent)) == 10
    assert sum(counts) == 10


async def test_what_is_over_is_swept_and_what_counts_stays(store: Store, clock: TurnableClock) -> None:
    budgets = CallBudgets(source('budget: calls=1\nper="minute"', 'budget: calls=1\nper="day"'), store)
    await passed(budgets, 1)
    clock.turn(120)

    assert sweep_store(store, more={"usage": forget_usage})["usage"] == 1
    assert await passed(budgets, 1) == 0


def test_the_migration_makes_the_table_that_the_code_knows_and_takes_it_back(store: Store) -> None:
    with store.reading() as connection:
        found = {name: {column["name"] for column in inspect(connection).get_columns(name)} for name in METADATA.tables}
    assert found == {name: set(table.columns.keys()) for name, table in METADATA.tables.items()}

    with store.writing() as connection:
        migrate_to(connection, USAGE_LINE, "base", name=store.name)
    with store.reading() as connection:
        assert not inspect(connection).has_table("spent_calls")


def test_a_limit_may_be_asked_from_many_threads() -> None:
    limits = CallLimits(source('limit: calls=50\nper="day"'), clock=_Hand())
    outcomes: list[bool] = []

    def work() -> None:
        for _ in range(25):
            try:
                limits.take(call())
            except RateLimited:
                outcomes.append(False)
            else:
                outcomes.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert sum(outcomes) == 50
