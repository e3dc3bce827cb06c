"""When to start a server again, and when to leave off: growing waits, then a circuit breaker."""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from random import Random, SystemRandom

from toolcrib_mcp.upstreams.settings import RestartRules
from toolcrib_runtime.clock import Clock

# Any sensible maximum is reached long before, and a larger power would overflow.
_MAX_POWER = 64


class Circuit(StrEnum):
    """Whether a start may be tried."""

    CLOSED = "closed"
    """It may."""
    OPEN = "open"
    """Too much failed; it may not, for a while."""
    HALF_OPEN = "half-open"
    """It may, once: the next failure opens the circuit again, the next success closes it."""


class CircuitBreaker:
    """Counts failures, and says when the next start may be tried.

    After each failure there is a wait, exponentially longer for every one since the last success, with jitter, so that
    servers that fell together do not rise together.
    """

    def __init__(self, rules: RestartRules, *, clock: Clock, random: Random | None = None) -> None:
        self._rules = rules
        self._clock = clock
        self._random = SystemRandom() if random is None else random
        self._failed_at: deque[float] = deque(maxlen=rules.max_failures)
        self._in_a_row = 0
        self._not_before = clock.monotonic()
        self._tripped = False

    @property
    def circuit(self) -> Circuit:
        """Where it stands now."""
        if not self._tripped:
            return Circuit.CLOSED
        return Circuit.OPEN if self.wait > 0 else Circuit.HALF_OPEN

    @property
    def wait(self) -> float:
        """Seconds until a start may be tried; 0 if it may now."""
        return max(0.0, self._not_before - self._clock.monotonic())

    def reconfigure(self, rules: RestartRules) -> None:
        """Count by other rules from now on; a wait that has begun is not changed."""
        self._rules = rules
        self._failed_at = deque(self._failed_at, maxlen=rules.max_failures)

    def failed(self, *, wait: float = 0.0) -> None:
        """A start failed, or a server that was running ended; it wants to be left alone for `wait` seconds."""
        now = self._clock.monotonic()
        self._failed_at.append(now)
        self._in_a_row += 1
        enough = len(self._failed_at) == self._rules.max_failures
        self._tripped = self._tripped or (enough and now - self._failed_at[0] <= self._rules.window)
        own = self._rules.rest if self._tripped else self._delay()
        self._not_before = now + max(own, min(wait, self._rules.rest))

    def succeeded(self) -> None:
        """The server has done what it is there for: the circuit closes, and the next wait is a short one."""
        self._in_a_row = 0
        if self._tripped:
            self._tripped = False
            self._failed_at.clear()

    def _delay(self) -> float:
        rules = self._rules
        longest = min(rules.max_delay, rules.first_delay * rules.factor ** min(self._in_a_row - 1, _MAX_POWER))
        return self._random.uniform(longest / 2, longest)
