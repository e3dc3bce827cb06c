"""What limits and budgets have in common: which calls count, and whose they are."""

from __future__ import annotations

from functools import cached_property

from toolcrib_core import digest
from toolcrib_mcp.policy.model import SECONDS, CountEntry
from toolcrib_mcp.policy.subjects import PolicySubject, Scope


class CallCount:
    """So many calls in a time, of each who is counted apart."""

    def __init__(self, entry: CountEntry, *, name: str) -> None:
        self.entry = entry
        self.name = name
        """What it is called in messages."""
        self._scope = Scope(entry)

    @property
    def seconds(self) -> int:
        """How long the time is."""
        return SECONDS[self.entry.per]

    @cached_property
    def identity(self) -> str:
        """The same for a count of which only the number of calls was changed: what was spent stays spent."""
        return digest(self.entry.model_dump(mode="json", exclude={"calls"}))[:32]

    def fits(self, subject: PolicySubject) -> bool:
        """Whether the call counts."""
        return self._scope.fits(subject)

    def holder(self, subject: PolicySubject) -> tuple[str, ...]:
        """Whose count a call is in; empty for one that all share."""
        values = {"principal": subject.principal, "server": subject.server, "tool": subject.short_id}
        return tuple(f"{aspect}={values[aspect]}" for aspect in sorted(set(self.entry.each)))

    def __str__(self) -> str:
        return f"{self.entry.calls:,} {'call' if self.entry.calls == 1 else 'calls'} per {self.entry.per}"
