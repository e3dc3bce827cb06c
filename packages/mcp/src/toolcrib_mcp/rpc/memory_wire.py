"""Two wires that lead to each other, for a server in the same process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, cast

from toolcrib_mcp.rpc.codec import decode, encode_message
from toolcrib_mcp.rpc.wire import Unreadable, WireClosed, WireNoise

CAPACITY: Final = 64
"""How many messages wait for the other side unless the caller says otherwise; then a sender waits."""


def memory_wires(*, capacity: int = CAPACITY) -> tuple[MemoryWire, MemoryWire]:
    """Two ends: what is sent into one is received from the other. Closing one closes both."""
    there, back = _Channel(capacity), _Channel(capacity)
    return MemoryWire(there, back), MemoryWire(back, there)


class MemoryWire:
    """One end of two; get both from `memory_wires`."""

    def __init__(self, outward: _Channel, inward: _Channel) -> None:
        self._outward = outward
        self._inward = inward

    @property
    def noise(self) -> WireNoise:
        """Always nothing."""
        return WireNoise()

    async def send(self, message: Mapping[str, Any]) -> None:
        """Hand a copy of the message to the other side, as soon as there is room.

        Raises:
            WireClosed: One side was closed.
            TypeError: The message is not JSON.
        """
        await self._outward.put(cast("dict[str, Any]", decode(encode_message(message))))

    async def receive(self) -> dict[str, Any] | Unreadable:
        """The next message of the other side.

        Raises:
            WireClosed: One side was closed, and all that was sent before has been received.
        """
        return await self._inward.get()

    async def aclose(self) -> None:
        """Close both sides."""
        await self._outward.close()
        await self._inward.close()


class _Channel:
    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._messages: deque[dict[str, Any]] = deque()
        self._closed = False
        self._changed = asyncio.Condition()

    async def put(self, message: dict[str, Any]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or len(self._messages) < self._capacity)
            if self._closed:
                raise WireClosed("It was closed.")
            self._messages.append(message)
            self._changed.notify_all()

    async def get(self) -> dict[str, Any]:
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or bool(self._messages))
            if not self._messages:
                raise WireClosed("It was closed.")
            self._changed.notify_all()
            return self._messages.popleft()

    async def close(self) -> None:
        async with self._changed:
            self._closed = True
            self._changed.notify_all()
