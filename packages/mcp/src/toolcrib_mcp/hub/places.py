"""Places at a server: so many requests at once, the others wait their turn, and not for ever."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from toolcrib_core.wording import count, quoted
from toolcrib_mcp.errors import UpstreamBusy
from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.clock import Clock
from toolcrib_runtime.errors import DeadlineExceeded
from toolcrib_runtime.policy.gates import FairGate


class Places:
    """Lets `limit` requests through at a time; clients take turns, and at most `max_waiting` requests wait."""

    def __init__(self, server: str, *, limit: int, max_waiting: int, clock: Clock) -> None:
        self.waiting = 0
        self._server = server
        self._limit = limit
        self._max_waiting = max_waiting
        self._clock = clock
        self._gate = FairGate(limit)

    @asynccontextmanager
    async def one(self, client: Hashable, *, seconds: float) -> AsyncIterator[None]:
        """Hold a place, after waiting for it at most so long.

        Raises:
            UpstreamBusy: There was none in time, or too many wait already.
        """
        if not self._gate.try_acquire():
            await self._wait(client, seconds)
        try:
            yield
        finally:
            self._gate.release()

    async def _wait(self, client: Hashable, seconds: float) -> None:
        if self.waiting >= self._max_waiting:
            raise self._busy(f"{count(self.waiting, 'more request')} wait already")
        scope = CallScope(clock=self._clock, deadline=self._clock.monotonic() + seconds, cancellation=None)
        self.waiting += 1
        try:
            await scope.run(self._gate.acquire(client))
        except DeadlineExceeded:
            raise self._busy(f"none of them ended within {seconds:g} s") from None
        finally:
            self.waiting -= 1

    def _busy(self, why: str) -> UpstreamBusy:
        return UpstreamBusy(
            f"The server {quoted(self._server)} has {count(self._limit, 'request')} under way, and {why}.",
            hint="Nothing was sent. Try again later, or ask for less at once.",
            details={"upstream": self._server, "sent": False},
        )
