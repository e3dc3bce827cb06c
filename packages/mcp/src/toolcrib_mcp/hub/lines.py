"""Connections to servers that run for some clients only; there are so many and no more."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, Final

from toolcrib_core.wording import count
from toolcrib_mcp.errors import UpstreamBusy
from toolcrib_mcp.front.feed import LOG_MESSAGE
from toolcrib_mcp.hub.voices import Voices
from toolcrib_mcp.upstreams import Upstream, UpstreamHooks, UpstreamState, close_all

MakeUpstream = Callable[[UpstreamHooks], Upstream]
Hear = Callable[[str, dict[str, Any]], object]
"""Takes in a notification that no request under way wants."""

_RUNNING: Final = (UpstreamState.STARTED, UpstreamState.IN_USE)


class Line:
    """One such connection, who it is for, and who can be spoken to over it; nothing is started yet.

    Log messages are dropped unless `logs` says otherwise.
    """

    def __init__(self, key: Hashable, make: MakeUpstream, *, hear: Hear | None = None, logs: bool = False) -> None:
        self.key = key
        self.voices = Voices()
        self.is_closed = False
        self._hear = hear
        self._logs = logs
        self.upstream = make(UpstreamHooks(on_request=self.voices.ask, on_notification=self._told))

    @property
    def is_free(self) -> bool:
        """Whether no request is under way on it."""
        return not self.voices and not self.is_closed

    @property
    def is_running(self) -> bool:
        """Whether there is a server at its other end."""
        return self.upstream.state in _RUNNING

    async def _told(self, method: str, params: dict[str, Any]) -> None:
        if method == LOG_MESSAGE and not self._logs:
            return
        if not await self.voices.tell(method, params) and self._hear is not None:
            self._hear(method, params)


class Lines:
    """All lines that are open; one whose server was ended because nobody used it makes room for another."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._lines: dict[Line, None] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def running(self) -> Counter[str]:
        """By server, how many lines have one at their other end."""
        return Counter(line.upstream.name for line in self._lines if line.is_running)

    def find(self, key: Hashable, *, free: bool = False) -> Line | None:
        """The line with this key that was opened last; with `free`, that nobody uses."""
        return next((line for line in reversed(self._lines) if line.key == key and (line.is_free or not free)), None)

    def add(self, line: Line, *, spare: Callable[[Line], bool]) -> Line:
        """Take one more line in. Of those that nobody uses, `spare` ones may be closed for it.

        Raises:
            UpstreamBusy: There are too many, and all of them are needed.
        """
        if len(self._lines) >= self._limit:
            self._make_room(spare)
        self._lines[line] = None
        return line

    def drop(self, line: Line) -> asyncio.Task[None]:
        """Close a line, whatever is under way on it; the task ends when nothing of it is left."""
        self._lines.pop(line, None)
        line.is_closed = True
        task = asyncio.create_task(line.upstream.aclose(drain=0))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return task

    def take_out(self, belongs: Callable[[Line], bool]) -> list[Line]:
        """Give no request these lines any more; who has one keeps it. Whoever takes them out closes them."""
        taken = [line for line in self._lines if belongs(line)]
        for line in taken:
            del self._lines[line]
        return taken

    async def drop_all(self, belongs: Callable[[Line], bool]) -> None:
        """Close every line that belongs to something, and wait until nothing of them is left."""
        dropped = [self.drop(line) for line in list(self._lines) if belongs(line)]
        if dropped:
            await asyncio.wait(dropped)

    async def aclose(self, *, drain: float | None = None) -> None:
        """Close all lines, with time for what is under way."""
        lines, self._lines = list(self._lines), {}
        for line in lines:
            line.is_closed = True
        await close_all((line.upstream for line in lines), drain=drain)
        while self._closing:
            await asyncio.wait(self._closing)

    def _make_room(self, spare: Callable[[Line], bool]) -> None:
        free = [line for line in self._lines if line.is_free]
        unused = [line for line in free if not line.is_running] or [line for line in free if spare(line)]
        if not unused:
            raise UpstreamBusy(
                f"No more than {count(self._limit, 'server')} may run for one client alone, and all are needed.",
                hint="Nothing was sent. Try again later.",
                details={"sent": False, "limit": self._limit},
            )
        self.drop(unused[0])
