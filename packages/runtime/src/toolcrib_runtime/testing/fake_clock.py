"""`FakeClock`: time that stands still until a test moves it."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from toolcrib_runtime.clock import Timer

# A task that is woken may wake another, and so on. A call passes on a few times; this is far more.
_TURNS = 50


class FakeClock:
    """A clock for `create_toolbox(…, clock=FakeClock())`: deadlines, waits and expiries come when the test says so.

    It is for one event loop. Real waiting, as for a thread or a socket, it knows nothing of.
    """

    def __init__(self, *, start: float = 1_000.0, wall: float = 1_700_000_000.0) -> None:
        self._now = start
        self._wall_ahead = wall - start
        self._timers: list[_FakeTimer] = []
        self._numbers = itertools.count()
        self._scheduled = asyncio.Event()

    def monotonic(self) -> float:
        """The time; only `advance` changes it."""
        return self._now

    def wall(self) -> float:
        """The time of day; `advance` and `set_wall` change it."""
        return self._now + self._wall_ahead

    def set_wall(self, seconds: float) -> None:
        """Set the time of day, as a person might; `monotonic` does not move."""
        self._wall_ahead = seconds - self._now

    def call_at(self, when: float, callback: Callable[[], object], /) -> Timer:
        """Call back when `advance` gets there; soon, if that time is past."""
        if when <= self._now:
            return asyncio.get_running_loop().call_soon(callback)
        timer = _FakeTimer(when, next(self._numbers), callback)
        heapq.heappush(self._timers, timer)
        self._scheduled.set()
        return timer

    async def sleep(self, seconds: float, /) -> None:
        """Wait until `advance` gets there."""
        woken = asyncio.get_running_loop().create_future()
        timer = self.call_at(self._now + seconds, lambda: _wake(woken))
        try:
            await woken
        finally:
            timer.cancel()

    @property
    def waiting(self) -> int:
        """How many timers and sleepers there are."""
        return sum(not timer.cancelled for timer in self._timers)

    async def until_waiting(self, count: int = 1) -> None:
        """Wait, in real time, until there are this many timers and sleepers; put a timeout around it."""
        while self.waiting < count:
            self._scheduled.clear()
            await self._scheduled.wait()

    async def advance(self, seconds: float) -> None:
        """Move the time, and let everything happen that falls due: in order, each at its own time.

        Tasks that are woken run before the next timer, and before this returns.

        Raises:
            ValueError: Time does not go back.
        """
        if seconds < 0:
            raise ValueError("time does not go back")
        until = self._now + seconds
        await _let_others_run()
        while self._timers and self._timers[0].when <= until:
            timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                self._now = timer.when
                timer.callback()
                await _let_others_run()
        self._now = until


@dataclass(order=True, slots=True)
class _FakeTimer:
    when: float
    number: int
    callback: Callable[[], object] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)


async def _let_others_run() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0)
