"""Streams that stay open for long: whether their client may still be here is asked again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from toolcrib_mcp.front.http.replies import Event, Receive, Refusal
from toolcrib_mcp.front.service import Identity

UNWELCOME: Final = "toolcrib.unwelcome"
"""The event that comes where a token is no longer good, as ASGI's own does where the client has gone."""

MAX_MISSED: Final = 3
"""How often in a row it may stay open whose token it is before the stream ends."""

_CANNOT_TELL = 503


class Rechecked:
    """What a client sends while its stream is open, and `UNWELCOME` once nobody vouches for it any more."""

    def __init__(
        self,
        receive: Receive,
        *,
        principal: Identity | None,
        identify: Callable[[], Awaitable[Identity | None]],
        every: float,
    ) -> None:
        self._receive = receive
        self._principal = principal
        self._identify = identify
        self._every = every
        self._due = asyncio.get_running_loop().time() + every
        self._missed = 0

    async def __call__(self) -> Event:
        """The next event."""
        while True:
            try:
                async with asyncio.timeout_at(self._due):
                    return await self._receive()
            except TimeoutError:
                if not await self._is_welcome():
                    return {"type": UNWELCOME}
                self._due = asyncio.get_running_loop().time() + self._every

    async def _is_welcome(self) -> bool:
        if self._missed >= MAX_MISSED:
            return False
        # Counted before: whoever waits for the next event may give up before there is an answer.
        self._missed += 1
        try:
            found = await self._identify()
        except Refusal as refusal:
            return refusal.status == _CANNOT_TELL
        self._missed = 0
        return found == self._principal
