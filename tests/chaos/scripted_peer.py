"""A server whose every message a test writes by hand, at the other end of a wire in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from toolcrib_mcp.rpc import Connection, MemoryWire, OnNotification, OnRequest, memory_wires
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock


class ScriptedPeer:
    """The server's end, in the hands of the test."""

    def __init__(self, wire: MemoryWire) -> None:
        self.wire = wire

    async def take(self, method: str | None = None) -> dict[str, Any]:
        """The next message, which has this method; without one it is an answer."""
        message = await self.wire.receive()
        assert isinstance(message, dict)
        assert message.get("method") == method
        return message

    async def send(self, **members: object) -> None:
        """Send a message with these members."""
        await self.wire.send({"jsonrpc": "2.0", **members})

    async def answer(self, request: dict[str, Any], result: object) -> None:
        """Answer a request."""
        await self.send(id=request["id"], result=result)

    async def progress(self, token: object, number: int) -> None:
        """Report progress."""
        await self.send(method="notifications/progress", params={"progressToken": token, "progress": number})

    async def works(self, connection: Connection) -> None:
        """See a further request answered: nothing that was sent before has done harm."""
        asking = asyncio.create_task(connection.request("still/there", timeout=5))
        await self.answer(await self.take("still/there"), {"fine": True})
        assert await asking == {"fine": True}


@asynccontextmanager
async def connected(
    *,
    clock: Clock = SYSTEM_CLOCK,
    capacity: int = 64,
    on_request: OnRequest | None = None,
    on_notification: OnNotification | None = None,
) -> AsyncIterator[tuple[Connection, ScriptedPeer]]:
    """A connection that runs, and its peer; ten seconds at most."""
    near, far = memory_wires(capacity=capacity)
    connection = Connection(near, clock=clock, on_request=on_request, on_notification=on_notification)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(connection.run())
        try:
            yield connection, ScriptedPeer(far)
        finally:
            await near.aclose()
