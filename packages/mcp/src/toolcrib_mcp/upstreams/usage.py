"""Who uses a server now: so that it can be drained, and ended when nobody has used it for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.clock import Clock, Timer
from toolcrib_runtime.errors import DeadlineExceeded


class Usage:
    """Counts what is under way, and calls `on_idle` when nothing has been for `idle_after` seconds."""

    def __init__(self, *, clock: Clock, idle_after: float | None, on_idle: Callable[[], object]) -> None:
        self.count = 0
        self.idle_after = idle_after
        self._clock = clock
        self._on_idle = on_idle
        self._timer: Timer | None = None
        self._drained = asyncio.Event()
        self._drained.set()

    @contextmanager
    def one(self) -> Iterator[None]:
        """One use, from beginning to end."""
        self.count += 1
        self._drained.clear()
        self.forget()
        try:
            yield
        finally:
            self.count -= 1
            if not self.count:
                self._drained.set()
                self.rest()

    def rest(self) -> None:
        """Begin to wait for idleness anew, if nothing is under way."""
        self.forget()
        if self.idle_after is not None and not self.count:
            self._timer = self._clock.call_at(self._clock.monotonic() + self.idle_after, self._on_idle)

    def forget(self) -> None:
        """Wait for idleness no longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def drain(self, seconds: float) -> None:
        """Wait until nothing is under way, but not longer than this."""
        deadline = self._clock.monotonic() + seconds
        with suppress(DeadlineExceeded):
            await CallScope(clock=self._clock, deadline=deadline, cancellation=None).run(self._drained.wait())
