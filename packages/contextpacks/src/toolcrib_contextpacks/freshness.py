"""How long a pack still lives, and what is said about that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

FreshnessState: TypeAlias = Literal["fresh", "expiring_soon", "expired"]

SOON_SECONDS: Final = 900
"""With so much left or less, a pack is about to expire."""

GRACE_SECONDS: Final = 900
"""How long an expired pack can still be had, unless somebody says otherwise."""

DEFAULT_TTL_MINUTES: Final = 24 * 60

_WARNINGS: Final[dict[FreshnessState, str]] = {
    "expiring_soon": "expiring soon — refresh or extend ttl",
    "expired": "expired — treat as stale evidence",
}
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@dataclass(frozen=True, kw_only=True)
class Freshness:
    """How fresh something is at one moment."""

    state: FreshnessState
    expires_at: str
    remaining: str
    """As people say it: `5h`, `12m`, `<1m`, `expired`."""
    seconds: int
    """Whole seconds left; 0 when it has expired."""

    @property
    def warning(self) -> str | None:
        """What a reader should be told, if anything."""
        return _WARNINGS.get(self.state)


def freshness(expires_at: float, *, now: float) -> Freshness:
    """How fresh what expires then is now; to the last moment it has not expired."""
    left = expires_at - now
    state: FreshnessState = "expired" if left <= 0 else "expiring_soon" if left <= SOON_SECONDS else "fresh"
    return Freshness(
        state=state, expires_at=timestamp(expires_at), remaining=_human(left), seconds=max(0, math.floor(left))
    )


def whole_microseconds(seconds: float) -> float:
    """A time as exact as `timestamp` writes it, so that a pack is the same before and after an export."""
    return round(seconds, 6)


def timestamp(seconds: float) -> str:
    """A time in RFC 3339, in UTC; fractions of a second only where there are any."""
    moment = datetime.fromtimestamp(seconds, UTC)
    precision = "microseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def _human(left: float) -> str:
    if left <= 0:
        return "expired"
    if left < _MINUTE:
        return "<1m"
    for unit, letter in ((_DAY, "d"), (_HOUR, "h")):
        if left >= unit:
            return f"{math.floor(left / unit)}{letter}"
    return f"{math.floor(left / _MINUTE)}m"
