"""Counting the processes of a tree while it runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from toolcrib_runtime.guards.process.tree import find_tree

_PAUSE = 0.25
# Looking at all processes takes 1 ms where there are 80; however many there are, at most a fiftieth of the time goes
# into looking.
_PAUSE_PER_LOOK = 50


class TreeCensus:
    """Calls back once when a tree has more processes than it may.

    `RLIMIT_NPROC` is no help: it counts all processes of the user, and exempts root. Between two looks a tree can grow
    far over its limit, but it does not live to go on.
    """

    def __init__(self, leader: int, mark: str, *, limit: int, on_over: Callable[[], None]) -> None:
        self._leader = leader
        self._mark = mark
        self._limit = limit
        self._on_over = on_over
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(_PAUSE, self._look)

    def close(self) -> None:
        """Count no longer."""
        self._timer.cancel()

    def _look(self) -> None:
        begun = time.monotonic()
        if len(find_tree(self._leader, self._mark)) > self._limit:
            self._on_over()
            return
        pause = max(_PAUSE, _PAUSE_PER_LOOK * (time.monotonic() - begun))
        self._timer = self._loop.call_later(pause, self._look)
