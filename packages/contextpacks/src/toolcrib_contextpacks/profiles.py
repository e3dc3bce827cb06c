"""The profiles that a pack is read with: how much of it is shown, in how many tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One way to read a pack. Where a number of tokens is None, nothing is cut."""

    name: str
    is_compact: bool
    """Whether code and diagrams are named, not shown."""
    limit: int | None
    """How many chunks a page has unless the request says otherwise; None is as many as fit."""
    max_tokens: int
    """The most tokens of one page, LEGEND and summary included."""
    title_tokens: int | None
    """The most tokens of a title or the name of a group."""
    field_tokens: int | None
    """The most tokens of a `why` or a path."""
    description_tokens: int | None
    """The most tokens of the description of a section."""
    is_actionable: bool = False
    """Whether the summary begins with what to do and where."""


ORCHESTRATOR: Final = Profile(
    name="orchestrator",
    is_compact=True,
    limit=6,
    max_tokens=2_500,
    title_tokens=60,
    field_tokens=100,
    description_tokens=150,
)
EXECUTOR: Final = Profile(
    name="executor",
    is_compact=True,
    limit=12,
    max_tokens=6_000,
    title_tokens=60,
    field_tokens=200,
    description_tokens=600,
    is_actionable=True,
)
REVIEWER: Final = Profile(
    name="reviewer",
    is_compact=False,
    limit=None,
    max_tokens=24_000,
    title_tokens=None,
    field_tokens=None,
    description_tokens=None,
)

PROFILES: Final[Mapping[str, Profile]] = {each.name: each for each in (ORCHESTRATOR, EXECUTOR, REVIEWER)}
"""Every profile, by name."""
