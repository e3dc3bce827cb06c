"""`Run`: the calls that belong together, as those of one agent at one task."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from toolcrib_runtime.policy.budgets import Account, Budget, Spent
from toolcrib_runtime.policy.loops import LoopLimits, Trail


def _new_run_id() -> str:
    return f"run_{secrets.token_hex(8)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A budget and a memory of calls that span any number of `execute`s; what is spent is kept per `Run` object."""

    id: str = field(default_factory=_new_run_id)
    budget: Budget | None = None
    """What the run may spend, beside what its toolboxes may; `Budget()` only counts."""
    loops: LoopLimits | None = None
    """When its calls go round in circles; those of the toolbox if it has none."""
    account: Account | None = field(init=False, repr=False)
    trail: Trail = field(init=False, repr=False, default_factory=Trail)

    def __post_init__(self) -> None:
        object.__setattr__(self, "account", None if self.budget is None else Account(self.budget, owner="run"))

    @property
    def spent(self) -> Spent:
        """What its calls have spent so far; nothing is counted in a run without a budget."""
        return Spent() if self.account is None else self.account.spent
