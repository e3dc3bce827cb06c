"""Budgets: how many calls, how much time, cost and output there may be, for a toolbox or for a run."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import orjson

from toolcrib_core import JsonValue
from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.errors import BudgetExhausted, DeadlineExceeded
from toolcrib_runtime.policy.bounds import check_number, check_whole

if TYPE_CHECKING:
    from toolcrib_runtime.clock import Clock
    from toolcrib_runtime.invocation import Invocation, Proceed

Owner: TypeAlias = Literal["toolbox", "run"]
Bound: TypeAlias = Literal["calls", "seconds", "cost", "output_tokens"]

_ROUNDING: Final = 1e-9  # ten times 0.1 is not 1.0 in floating point, and three times 0.1 is more than 0.3
_EARLY: Final = 1e-3  # an event loop may call back within the resolution of its clock before the time
_SLICE: Final = 50_000  # characters; counting their tokens keeps the loop for at most 25 ms (measured)
_UNITS: Final[dict[Bound, str]] = {
    "calls": "calls",
    "seconds": "seconds",
    "cost": "units of cost",
    "output_tokens": "tokens of output",
}
_HINT = "Answer with what is known, or have the budget raised."


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What may be spent: calls, seconds, cost (as definitions hint it) and tokens of output; None is no bound.

    The steps of a composed tool are not counted beside its own call.

    Raises:
        ValueError: A number makes no sense; the message names it.
    """

    calls: int | None = None
    seconds: float | None = None
    """On the clock since the first call; a call that is running when they are over is stopped."""
    cost: float | None = None
    output_tokens: int | None = None
    """Known only afterwards: what the calls in flight return may go beyond it, and then no further one starts."""

    def __post_init__(self) -> None:
        for name in ("calls", "output_tokens"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least=0)
        for name in ("seconds", "cost"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What has been spent, that of running calls included."""

    calls: int = 0
    seconds: float = 0.0
    """Since the first call."""
    cost: float = 0.0
    output_tokens: int = 0
    """Counted only where they are bounded."""


class Account:
    """One budget, and what has been spent of it; any number of calls may spend at once, from any thread."""

    __slots__ = ("_calls", "_clock", "_cost", "_lock", "_output_tokens", "_owner", "_since", "budget")

    def __init__(self, budget: Budget, *, owner: Owner) -> None:
        self.budget = budget
        self._owner = owner
        self._lock = threading.Lock()
        self._clock: Clock | None = None
        self._since = 0.0
        self._calls = 0
        self._cost = 0.0
        self._output_tokens = 0

    @property
    def spent(self) -> Spent:
        """What has been spent so far."""
        tokens = self._output_tokens
        return Spent(calls=self._calls, seconds=self._seconds(), cost=self._cost, output_tokens=tokens)

    @property
    def deadline(self) -> float:
        """The reading of the clock at which the seconds are over; infinite if they are not bounded."""
        return math.inf if self.budget.seconds is None else self._since + self.budget.seconds

    def reserve(self, cost: float, clock: Clock) -> None:
        """Set one call and its cost aside, before it runs.

        Raises:
            BudgetExhausted: There is not enough left; nothing was set aside.
        """
        with self._lock:
            if self._clock is None:
                self._clock, self._since = clock, clock.monotonic()
            self._refuse_if_spent(cost)
            self._calls += 1
            self._cost += cost

    def give_back(self, cost: float) -> None:
        """Undo a reservation of a call that did not run."""
        with self._lock:
            self._calls -= 1
            self._cost = max(0.0, self._cost - cost)

    def add_output(self, tokens: int) -> None:
        """Count what a call returned."""
        with self._lock:
            self._output_tokens += tokens

    def exhausted(self, bound: Bound, *, asked: float | None = None) -> BudgetExhausted:
        """What a call is refused or stopped with; `asked` is what it would have taken, where that is to blame."""
        allowed: float = getattr(self.budget, bound)
        spent: float = getattr(self.spent, bound)
        state = f"{_amount(spent)} of {_amount(allowed)} {_UNITS[bound]} are spent"
        wish = "" if asked is None else f", and the call would take {_amount(asked)}"
        details: dict[str, object] = {"owner": self._owner, "bound": bound, "allowed": allowed, "spent": spent}
        return BudgetExhausted(
            f"The budget of this {self._owner} does not allow the call: {state}{wish}.",
            hint=_HINT,
            details=details if asked is None else {**details, "asked": asked},
        )

    def _refuse_if_spent(self, cost: float) -> None:
        budget = self.budget
        if budget.calls is not None and self._calls >= budget.calls:
            raise self.exhausted("calls")
        if budget.cost is not None and self._cost + cost > budget.cost * (1 + _ROUNDING):
            raise self.exhausted("cost", asked=cost)
        if budget.output_tokens is not None and self._output_tokens >= budget.output_tokens:
            raise self.exhausted("output_tokens")
        if budget.seconds is not None and self._seconds() >= budget.seconds:
            raise self.exhausted("seconds")

    def _seconds(self) -> float:
        return 0.0 if self._clock is None else self._clock.monotonic() - self._since


class BudgetStage:
    """Lets a call spend from the budget of the toolbox and from that of its run, and refuses it when one is empty."""

    __slots__ = ("_account",)

    def __init__(self, budget: Budget | None) -> None:
        """Take the budget of the toolbox; None is no bound."""
        self._account = None if budget is None else Account(budget, owner="toolbox")

    @property
    def spent(self) -> Spent:
        """What the calls of the toolbox have spent so far; nothing is counted without a budget."""
        return Spent() if self._account is None else self._account.spent

    def __call__(self, invocation: Invocation, proceed: Proceed, /) -> Awaitable[JsonValue]:
        """Proceed within what is left.

        Raises:
            BudgetExhausted: There is not enough left, or the time ran out; `details` says of what.
        """
        run = invocation.options.run
        if run is not None and run.account is not None:
            proceed = partial(_spend, run.account, proceed)
        return proceed(invocation) if self._account is None else _spend(self._account, proceed, invocation)


async def _spend(account: Account, proceed: Proceed, invocation: Invocation) -> JsonValue:
    cost = invocation.definition.cost_hint
    account.reserve(cost, invocation.clock)
    try:
        if account.budget.seconds is None:
            value = await proceed(invocation)
        else:
            value = await _in_time(account, proceed, invocation)
    finally:
        if invocation.attempts == 0 and invocation.source == "run":
            account.give_back(cost)
    if account.budget.output_tokens is not None:
        await _count_output(account, value)
    return value


async def _in_time(account: Account, proceed: Proceed, invocation: Invocation) -> JsonValue:
    """Proceed, to be stopped when the seconds of the budget end before the time of the call does."""
    clock, deadline = invocation.clock, account.deadline
    if invocation.deadline is not None and invocation.deadline <= deadline:
        return await proceed(invocation)

    async def work() -> JsonValue:
        return await proceed(invocation)

    try:
        return await CallScope(clock=clock, deadline=deadline, cancellation=None).run(work())
    except DeadlineExceeded as exceeded:
        if clock.monotonic() < deadline - _EARLY:
            raise  # another deadline, of something further in
        raise account.exhausted("seconds") from exceeded


async def _count_output(account: Account, value: JsonValue) -> None:
    from toolcrib_core.tokens import count_tokens

    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    for start in range(0, len(text), _SLICE):
        if start:
            await asyncio.sleep(0)  # others have their turn between the slices of a long text
        account.add_output(count_tokens(text[start : start + _SLICE]))


def _amount(number: float) -> str:
    return f"{number:,.6g}"
