"""Changes of lists, told to clients: a burst of them once."""

from __future__ import annotations

import asyncio
from typing import Final

from toolcrib_mcp.front.feed import Feed, Notice
from toolcrib_mcp.upstreams.changes import CHANGED, Burst
from toolcrib_mcp.upstreams.listing import ListKind
from toolcrib_runtime.clock import Clock

_NOTICES: Final = {kind: Notice(method=method) for method, kind in CHANGED.items()}
# Servers that start together list together.
_QUIET: Final = 0.1
_LONGEST: Final = 1.0


class ListNews:
    """Publishes that lists have changed, when the changes have settled."""

    def __init__(self, feed: Feed, *, clock: Clock) -> None:
        self._feed = feed
        self._burst = Burst(quiet=_QUIET, longest=_LONGEST, clock=clock)
        self._task: asyncio.Task[None] | None = None

    def add(self, kind: ListKind) -> None:
        """A list of this kind is not what it was."""
        self._burst.add(kind)
        if self._task is None:
            self._task = asyncio.create_task(self._publish(), name="news of lists")

    async def aclose(self) -> None:
        """Tell no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _publish(self) -> None:
        while True:
            for kind in sorted(await self._burst.settled()):
                self._feed.publish(_NOTICES[kind])
