"""For whom a pack is read: how much of it, and in how many tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One way to read a pack."""

    name: str
    is_compact: bool
    """Whether code and diagrams are named, not shown."""
    limit: int | None
    """How many chunks a page has unless the reader says otherwise; None is as many as fit."""
    max_tokens: int
    """How long a page may be, all in all."""
    description_tokens: int
    """How much of the description of a section is shown; the rest is a matter of another profile."""
    is_actionable: bool = False
    """Whether the page begins with what to do and where, instead of what it is about."""


ORCHESTRATOR: Final = Profile(name="orchestrator", is_compact=True, limit=6, max_tokens=2_500, description_tokens=150)
EXECUTOR: Final = Profile(
    name="executor", is_compact=True, limit=12, max_tokens=6_000, description_tokens=600, is_actionable=True
)
REVIEWER: Final = Profile(name="reviewer", is_compact=False, limit=None, max_tokens=24_000, description_tokens=16_000)

PROFILES: Final[Mapping[str, Profile]] = {each.name: each for each in (ORCHESTRATOR, EXECUTOR, REVIEWER)}
"""Every profile, by name."""
