"""`CallLimits`: how fast calls may come, counted in memory."""

from __future__ import annotations

import heapq
import math
import threading
from typing import TYPE_CHECKING, Final, TypeAlias

from toolcrib_core.wording import count as counted
from toolcrib_mcp.errors import RateLimited
from toolcrib_mcp.policy.subjects import subject_of
from toolcrib_runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from toolcrib_mcp.policy.counts import CallCount
    from toolcrib_mcp.policy.source import PolicySource
    from toolcrib_mcp.safeguards.call import GuardedCall
    from toolcrib_runtime.clock import Clock

MAX_COUNTS: Final = 10_000
"""How many counts are kept at once; beyond them those go that are nearest to being whole again."""

_Key: TypeAlias = tuple[str, tuple[str, ...]]


class CallLimits:
    """Refuses calls that come faster than the policy allows.

    A count that nobody has used is full: so many calls may come at once, and each is made good for in its share of the
    period. Every process counts for itself. It may be asked from any thread.
    """

    def __init__(self, source: PolicySource, *, clock: Clock = SYSTEM_CLOCK, max_counts: int = MAX_COUNTS) -> None:
        self._source = source
        self._clock = clock
        self._max_counts = max_counts
        # For each count, when it will be full again if nobody calls: the one number that a bucket comes down to.
        self._full_at: dict[_Key, float] = {}
        self._lock = threading.Lock()

    def take(self, call: GuardedCall) -> None:
        """Count the call in every limit that is about it, or in none.

        Raises:
            RateLimited: There were too many just now; `details["retryAfter"]` has the seconds to wait.
        """
        limits = self._source.current().limits
        if not limits:
            return
        subject = subject_of(call)
        keys = {(limit.identity, limit.holder(subject)): limit for limit in limits if limit.fits(subject)}
        with self._lock:
            now = self._clock.monotonic()
            waits = {key: self._wait(key, limit, now) for key, limit in keys.items()}
            longest = max(waits, key=waits.__getitem__, default=None)
            if longest is not None and waits[longest] > 0:
                raise _refusal(keys[longest], waits[longest])
            if len(self._full_at.keys() | keys.keys()) > self._max_counts:
                self._forget(now)
            for key, limit in keys.items():
                self._full_at[key] = max(self._full_at.get(key, now), now) + limit.seconds / limit.entry.calls

    def __len__(self) -> int:
        return len(self._full_at)

    def _wait(self, key: _Key, limit: CallCount, now: float) -> float:
        # Half a share, because the sum of many thirds of a second is not a whole number of seconds.
        room = limit.seconds - limit.seconds / limit.entry.calls / 2
        return self._full_at.get(key, now) - now - room

    def _forget(self, now: float) -> None:
        """Make room before a count is added, or that one would go first: it is nearly whole."""
        kept = {key: full_at for key, full_at in self._full_at.items() if full_at > now}
        # A tenth at once, so that it is not done for every call.
        room = self._max_counts * 9 // 10
        for key in heapq.nsmallest(max(0, len(kept) - room), kept, key=kept.__getitem__):
            del kept[key]
        self._full_at = kept


def _refusal(limit: CallCount, wait: float) -> RateLimited:
    seconds = max(1, math.ceil(wait))
    return RateLimited(
        f"There may be no more than {limit}, and there were as many.",
        hint=f"Nothing was run. Try again in {counted(seconds, 'second')}.",
        details={"retryAfter": seconds, "rule": limit.name},
    )
