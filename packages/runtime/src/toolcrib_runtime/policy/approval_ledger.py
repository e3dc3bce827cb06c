"""Which approvals are spent: each is good for one call."""

from __future__ import annotations

import heapq
import threading
from typing import Protocol

from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock


class SpentApprovals(Protocol):
    """Where it is written down that an approval was used.

    Whoever shares a secret must share this too. One that outlives the process makes approvals outlive it.
    """

    async def spend(self, approval_id: str, expires_at: float) -> bool:
        """Whether this is the first time: True exactly once for an id, however many ask at once.

        It must be written down before it is answered. After `expires_at` (seconds since the epoch) the approval is
        refused anyway, and may be forgotten.
        """


class MemorySpentApprovals:
    """The approvals that were spent in this process, until they expire."""

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._spent: set[str] = set()
        self._by_expiry: list[tuple[float, str]] = []
        # When somebody sets the clock back, what was forgotten must not become usable again.
        self._forgotten_until = float("-inf")
        # A toolbox may be used from several event loops, each in its own thread.
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._spent)

    async def spend(self, approval_id: str, expires_at: float) -> bool:
        """Whether this is the first time."""
        with self._lock:
            self._forget_expired()
            if approval_id in self._spent or expires_at <= self._forgotten_until:
                return False
            self._spent.add(approval_id)
            heapq.heappush(self._by_expiry, (expires_at, approval_id))
            return True

    def _forget_expired(self) -> None:
        now = self._clock.wall()
        while self._by_expiry and self._by_expiry[0][0] <= now:
            self._forgotten_until, forgotten = heapq.heappop(self._by_expiry)
            self._spent.discard(forgotten)
