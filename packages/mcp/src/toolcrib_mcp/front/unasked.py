"""What a client is told without having asked, while it does not read: bounded, and nothing told twice for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolcrib_mcp.front.feed import LIST_CHANGED, RESOURCE_UPDATED
from toolcrib_mcp.rpc.backlog import Backlog
from toolcrib_mcp.rpc.messages import notification_message

MAX_CHANGES: Final = 1024
"""How many different changes wait for a client that does not read; more are dropped."""

MAX_OTHERS: Final = 512
"""How many other notifications wait, which are log messages above all; more are dropped."""

MAX_OTHER_BYTES: Final = 4 * 1024 * 1024
"""How large those may be together."""

_CHANGES = frozenset({*LIST_CHANGED.values(), RESOURCE_UPDATED})


class Unasked:
    """Notifications in the order they came, changes before all others; one that waits already is not told twice."""

    def __init__(self) -> None:
        self.dropped = 0
        self._changes: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._others = Backlog(max_items=MAX_OTHERS, max_bytes=MAX_OTHER_BYTES)
        self._news = asyncio.Event()

    def add(self, method: str, params: Mapping[str, Any]) -> None:
        """Take it in, without waiting."""
        if not self._taken(method, params):
            self.dropped += 1
        self._news.set()

    async def send_all(self, send: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        """Send what comes, as fast as the client takes it, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._changes or self._others:
                await send(self._next())

    def _taken(self, method: str, params: Mapping[str, Any]) -> bool:
        if method not in _CHANGES:
            return self._others.append(method, dict(params))
        key = (method, str(params.get("uri")))
        if key not in self._changes and len(self._changes) >= MAX_CHANGES:
            return False
        self._changes[key] = params
        return True

    def _next(self) -> dict[str, Any]:
        if not self._changes:
            item = self._others.popleft()
            return notification_message(item.method, item.params)
        key = next(iter(self._changes))
        return notification_message(key[0], self._changes.pop(key))
