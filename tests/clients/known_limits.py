"""What a client cannot show its model whatever a server answers, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Limit(NamedTuple):
    """Why a cell of the table is empty for a client."""

    sign: str
    """What is in the answer instead; without it the cell fails."""
    reason: str


KNOWN_LIMITS: Final[Mapping[tuple[str, str], Limit]] = {
    ("codex", "approval"): Limit(
        "POLICY_DENIED",
        "`codex exec` says that its user can be asked, has no person to ask, and declines every form by itself",
    ),
}
"""By client and cell."""
