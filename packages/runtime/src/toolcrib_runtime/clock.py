"""The time that deadlines, waits and expiries are measured by, in one place, so that a test can own it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A callback that has not come yet."""

    def cancel(self) -> None:
        """See to it that it never comes."""


class Clock(Protocol):
    """What the runtime asks about time; `toolcrib_runtime.testing.FakeClock` answers as a test wants."""

    def monotonic(self) -> float:
        """Seconds that only ever go forward: deadlines are readings of it."""

    def wall(self) -> float:
        """Seconds since the epoch: what expires across processes is measured by it."""

    def call_at(self, when: float, callback: Callable[[], object], /) -> Timer:
        """Call back on the running loop when `monotonic()` reaches `when`."""

    async def sleep(self, seconds: float, /) -> None:
        """Wait without keeping the loop busy."""


class SystemClock:
    """The clock of the machine. Deadlines do not move when somebody sets the time."""

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)

    def call_at(self, when: float, callback: Callable[[], object], /) -> Timer:
        """Call back through the running event loop."""
        # By difference: the loop's own clock need not be `time.monotonic`.
        return asyncio.get_running_loop().call_later(max(0.0, when - time.monotonic()), callback)

    async def sleep(self, seconds: float, /) -> None:
        """`asyncio.sleep`."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
