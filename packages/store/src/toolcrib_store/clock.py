"""The time that expiries are measured by, in one place, so that a test can turn it."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Final, Protocol


class Clock(Protocol):
    """What the store asks about time."""

    def now(self) -> float:
        """Seconds since the epoch."""


class SystemClock:
    """The clock of the machine, which here never goes back.

    Where somebody sets the machine's clock back, this one goes on by the time that really passes, until the machine's
    has caught up. So what has expired stays expired, and what is left lives no longer than it was given.
    """

    def __init__(
        self, *, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._lock = Lock()
        self._reading = float("-inf")
        self._read_at = monotonic()

    def now(self) -> float:
        """Seconds since the epoch; no reading is smaller than an earlier one."""
        with self._lock:
            read_at = self._monotonic()
            self._reading = max(self._wall(), self._reading + (read_at - self._read_at))
            self._read_at = read_at
            return self._reading


class TurnableClock:
    """A clock for tests: it stands still until it is turned, forward or back."""

    def __init__(self, seconds: float = 1_000_000.0) -> None:
        self.seconds = seconds

    def now(self) -> float:
        """Where it was turned to."""
        return self.seconds

    def turn(self, seconds: float) -> None:
        """Turn it forward, or, by less than nothing, back."""
        self.seconds += seconds


SYSTEM_CLOCK: Final = SystemClock()
