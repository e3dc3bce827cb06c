"""Connections to `hostile_server`, and proof that nothing of it is left."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from process_children import SIGN, nothing_left

from tests.chaos import hostile_server
from toolcrib_mcp.rpc import MAX_LINE, Connection, OnNotification, OnProgress, OnRequest, StdioWire, open_stdio_wire
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.guards.process import LONG_LIVED, ProcessSpec


@dataclass(frozen=True, kw_only=True)
class HostileUpstream:
    """A hostile server that runs, and a connection to it."""

    wire: StdioWire
    connection: Connection

    async def call(
        self,
        nonce: str,
        *,
        tool: str = "echo",
        timeout: float | None = None,  # noqa: ASYNC109  # handed on
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Call a tool; without a timeout only what the server does can end it."""
        params = {"name": tool, "arguments": {"nonce": nonce}}
        return await self.connection.request("tools/call", params, timeout=timeout, on_progress=on_progress)

    async def works(self) -> None:
        """See the next good call answered on the same connection."""
        result = await self.call("the next one", tool="steady", timeout=10)
        assert result["structuredContent"] == {"nonce": "the next one"}


def hostile_spec(mode: str, *options: str, family: str = "") -> ProcessSpec:
    """How to start the server; `family` is a mark to find it by."""
    argv = (sys.executable, "-I", "-S", hostile_server.__file__, "--mode", mode, *options)
    return ProcessSpec(argv=argv, env={SIGN: family}, limits=LONG_LIVED)


@asynccontextmanager
async def hostile(
    mode: str,
    *options: str,
    clock: Clock = SYSTEM_CLOCK,
    max_line: int = MAX_LINE,
    on_request: OnRequest | None = None,
    on_notification: OnNotification | None = None,
) -> AsyncIterator[HostileUpstream]:
    """Start the server in a mode; at the end it is closed, and no process and no descriptor of it is left."""
    async with asyncio.timeout(60), nothing_left() as family:
        wire = await open_stdio_wire(hostile_spec(mode, *options, family=family), max_line=max_line, grace=0.5)
        connection = Connection(wire, clock=clock, on_request=on_request, on_notification=on_notification)
        async with asyncio.TaskGroup() as group:
            group.create_task(connection.run())
            try:
                yield HostileUpstream(wire=wire, connection=connection)
            finally:
                await wire.aclose()
