"""The pack that a name means, by fixed rules.

One that has not expired comes before an expired one, a finalized one before a draft, then the latest, then the one with
the highest revision. Where these do not decide, the name is ambiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from toolcrib_contextpacks.errors import AmbiguousPack, PackNotFound
from toolcrib_contextpacks.freshness import FreshnessState, freshness
from toolcrib_contextpacks.rows import Heading
from toolcrib_core.wording import quoted

EXACT_ID = "exact_id"


class Chosen(NamedTuple):
    """The pack that was meant, and by which rule."""

    id: str
    by: str


def choose(name: str, candidates: Sequence[Heading], *, now: float, state: FreshnessState | None = None) -> Chosen:
    """The one of these packs of the same name that is meant.

    Packs of the freshness `state` come first, and without it those that have not expired.

    Raises:
        PackNotFound: There are none.
        AmbiguousPack: No rule tells the last of them apart.
    """
    if not candidates:
        raise PackNotFound(
            f"No pack is called {quoted(name)}.",
            hint="List packs with action='list'; one that has expired is gone after its grace period.",
            details={"name": name},
        )
    eligible = [each for each in candidates if _is_eligible(each, now, state)] or candidates
    finalized = [each for each in eligible if each.status == "finalized"]
    tier = finalized or eligible
    best = max((each.updated_at, each.revision) for each in tier)
    left = sorted(each.id for each in tier if (each.updated_at, each.revision) == best)
    if len(left) > 1:
        raise AmbiguousPack(
            f"{len(left)} packs are called {quoted(name)}, and nothing tells them apart.",
            hint="Name the one that you mean by its id.",
            details={"name": name, "candidate_ids": left},
        )
    status = "finalized" if finalized else "draft"
    return Chosen(left[0], f"name_latest_{status}_updated_at_then_revision")


def _is_eligible(heading: Heading, now: float, state: FreshnessState | None) -> bool:
    found = freshness(heading.expires_at, now=now).state
    return found != "expired" if state is None else found == state


def unknown_id(pack_id: str) -> PackNotFound:
    """The refusal of an id that no pack has."""
    return PackNotFound(
        f"No pack has the id {quoted(pack_id)}.",
        hint="List packs with action='list'; one that has expired is gone after its grace period.",
        details={"id": pack_id},
    )
