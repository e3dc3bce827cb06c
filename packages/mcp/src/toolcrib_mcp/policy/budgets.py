"""`CallBudgets`: how many calls there may be, counted in the database."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import orjson
from sqlalchemy import Connection, bindparam, case, delete, insert, select, tuple_, update

from toolcrib_core.wording import count as counted
from toolcrib_mcp.policy.subjects import subject_of
from toolcrib_mcp.policy.tables import SPENT_CALLS
from toolcrib_runtime.errors import BudgetExhausted

if TYPE_CHECKING:
    from toolcrib_mcp.policy.counts import CallCount
    from toolcrib_mcp.policy.source import PolicySource
    from toolcrib_mcp.safeguards.call import GuardedCall
    from toolcrib_store import Store

_Due: TypeAlias = Mapping[tuple[str, str], "CallCount"]

# Built once: to build a statement takes several times as long as to execute it.
_OURS = (SPENT_CALLS.c.budget == bindparam("of_budget")) & (SPENT_CALLS.c.holder == bindparam("of_holder"))
_PERIOD = bindparam("now_period", type_=SPENT_CALLS.c.period.type)
_IS_OVER = SPENT_CALLS.c.period < _PERIOD
# A later period than ours was written by a process whose clock is ahead: it counts on from there.
_SPEND = (
    update(SPENT_CALLS)
    .where(_OURS & (_IS_OVER | (SPENT_CALLS.c.spent < bindparam("allowed"))))
    .values(
        spent=case((_IS_OVER, 1), else_=SPENT_CALLS.c.spent + 1),
        ends_at=case((_IS_OVER, bindparam("end", type_=SPENT_CALLS.c.ends_at.type)), else_=SPENT_CALLS.c.ends_at),
        period=case((_IS_OVER, _PERIOD), else_=SPENT_CALLS.c.period),
    )
)
_SPENT = select(SPENT_CALLS.c.spent).where(_OURS)
_ADD = insert(SPENT_CALLS)


class CallBudgets:
    """Refuses calls for which nothing is left in a budget of the policy.

    What was spent is on the disk before a call is made: a restart refills nothing, and processes that share the
    database share the budgets. Periods begin at full minutes and hours, and days at midnight, in UTC.
    """

    def __init__(self, source: PolicySource, store: Store) -> None:
        """Take a store that was opened with `USAGE_LINE`."""
        self._source = source
        self._store = store

    async def take(self, call: GuardedCall) -> None:
        """Spend one call from every budget that is about it, or from none.

        Raises:
            BudgetExhausted: There is nothing left in one; `details["retryAfter"]` has the seconds to its next period.
            StoreError: The database failed; nothing was spent, unless it says that this is not known.
        """
        budgets = self._source.current().budgets
        if not budgets:
            return
        subject = subject_of(call)
        due: dict[tuple[str, str], CallCount] = {}
        for budget in budgets:
            if budget.fits(subject):
                key = (budget.identity, orjson.dumps(budget.holder(subject)).decode())
                # Two that differ only in the number are one, and the smaller number is the one to keep to.
                due[key] = min(due.get(key, budget), budget, key=lambda each: each.entry.calls)
        if due:
            await asyncio.to_thread(self._spend, due)

    def _spend(self, due: _Due) -> None:
        with self._store.writing() as connection:
            now = self._store.now()
            for (identity, holder), budget in due.items():
                # An error leaves the block, so what was spent from the others is given back.
                if not _spent(connection, identity, holder, budget, now=now):
                    raise _refusal(budget, now)


def forget_usage(connection: Connection, now: float, limit: int) -> int:
    """Forget up to so many counts whose period is over; gives how many. A sweep for `sweep_store`."""
    key = (SPENT_CALLS.c.budget, SPENT_CALLS.c.holder)
    over = select(*key).where(SPENT_CALLS.c.ends_at <= now).order_by(SPENT_CALLS.c.ends_at).limit(limit)
    return connection.execute(delete(SPENT_CALLS).where(tuple_(*key).in_(over))).rowcount


def _spent(connection: Connection, identity: str, holder: str, budget: CallCount, *, now: float) -> bool:
    """Whether one call was left, which is now spent."""
    period = int(now // budget.seconds)
    ours = {"of_budget": identity, "of_holder": holder}
    this = {"now_period": period, "end": _end(budget, period), "allowed": budget.entry.calls}
    if connection.execute(_SPEND, ours | this).rowcount:
        return True
    # Nobody else writes meanwhile, so a row that is missing now stays missing until it is added here.
    if connection.scalar(_SPENT, ours) is not None:
        return False
    row = {"budget": identity, "holder": holder, "period": period, "spent": 1, "ends_at": _end(budget, period)}
    connection.execute(_ADD, row)
    return True


def _end(budget: CallCount, period: int) -> float:
    return float((period + 1) * budget.seconds)


def _refusal(budget: CallCount, now: float) -> BudgetExhausted:
    seconds = max(1, math.ceil(_end(budget, int(now // budget.seconds)) - now))
    return BudgetExhausted(
        f"The budget of {budget} is spent.",
        hint=f"Nothing was run. Do without the call; in {counted(seconds, 'second')} the next {budget.entry.per} "
        "begins, and the budget with it.",
        details={"retryAfter": seconds, "rule": budget.name, "allowed": budget.entry.calls},
    )
