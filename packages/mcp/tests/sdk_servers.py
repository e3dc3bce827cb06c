"""Real servers of the official SDK, over HTTP on loopback, with tools that do what the tests of wires look at."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import mcp.types as t
import uvicorn
from mcp.server import Server

from toolcrib_mcp.rpc import Connection, OnNotification, OnRequest, Wire
from toolcrib_mcp.upstreams.eras import ClientFace, Era
from toolcrib_mcp.upstreams.http_wire import HttpWire, open_http_wire
from toolcrib_mcp.upstreams.session import Session, open_session
from toolcrib_runtime.guards.net import NetGrant

ERAS = (Era.HANDSHAKE, Era.MODERN)
LOOPBACK = NetGrant(allow_loopback=True)

ODD_RESULT = {
    "content": [{"type": "hologram", "shape": {"deep": [1, None]}}, {"type": "text", "text": "x", "novel": True}],
    "isError": False,
    "novel": {"kept": 12345678901234567890123},
    "resultType": "complete",
}
"""A result with fields and blocks that no version of the protocol knows."""


class SdkServer:
    """A low-level server and what it saw: the headers of every request, and the calls that were cancelled."""

    def __init__(self) -> None:
        self.headers: list[Mapping[str, str]] = []
        self.hanging = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.server = Server("fixture", version="1", on_list_tools=_list_tools, on_call_tool=self._call_tool)
        self.server.middleware.append(self._watch)

    async def _watch(self, context: Any, call_next: Any) -> Any:
        if context.request is not None:
            self.headers.append(dict(context.request.headers))
        if context.method == "tools/call" and context.params["name"] == "odd":
            return ODD_RESULT
        return await call_next(context)

    async def _call_tool(self, context: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
        arguments = params.arguments or {}
        match params.name:
            case "progress":
                for step in (1, 2, 3):
                    await context.session.report_progress(step, 3, f"step {step}")
            case "ask":
                schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
                answer = await context.session.elicit_form("Which colour?", schema, context.request_id)
                return _text(f"{answer.action} {answer.content}")
            case "change":
                await context.session.send_tool_list_changed()
            case "hang":
                await self._hang()
        return _text(str(arguments.get("nonce", "done")))

    async def _hang(self) -> None:
        self.hanging.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()


@asynccontextmanager
async def serving_sdk(server: Server[Any], *, port: int = 0, **options: Any) -> AsyncIterator[str]:
    """The URL of the server, which is gone afterwards with all its sessions, open streams or not."""
    # With the protocol named, asyncio sends small packets at once.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    app = server.streamable_http_app(**options)
    config = uvicorn.Config(app, log_config=None, lifespan="on", ws="none", timeout_graceful_shutdown=0)
    running = uvicorn.Server(config)
    ready = asyncio.Event()
    startup = running.startup

    async def started(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets)
        ready.set()

    running.startup = started  # type: ignore[method-assign]  # uvicorn tells nobody when it listens
    task = asyncio.create_task(running.serve([listening]))
    await ready.wait()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        running.should_exit = True
        await task
        listening.close()


@asynccontextmanager
async def open_wire(url: str, **options: Any) -> AsyncIterator[HttpWire]:
    """A wire to a server on loopback, closed at the end."""
    wire = await open_http_wire(url, **{"headers": {}, "grant": LOOPBACK, **options})
    try:
        yield wire
    finally:
        await wire.aclose()


@asynccontextmanager
async def conversing(
    wire: Wire,
    era: Era | None = None,
    *,
    capabilities: Mapping[str, Any] | None = None,
    on_request: OnRequest | None = None,
    on_notification: OnNotification | None = None,
) -> AsyncIterator[Session]:
    """A session on a wire; where the era is modern, it is found out by the probe."""
    connection = Connection(wire, on_request=on_request, on_notification=on_notification)
    reading = asyncio.create_task(connection.run())
    try:
        session = await open_session(
            connection,
            face=ClientFace(capabilities=capabilities or {}),
            deadline=time.monotonic() + 5,
            era=Era.HANDSHAKE if era is Era.HANDSHAKE else None,
        )
        yield session
    finally:
        await wire.aclose()
        await reading


async def call(session: Session, name: str, **arguments: Any) -> dict[str, Any]:
    """The raw result of a tool."""
    return await session.request("tools/call", {"name": name, "arguments": arguments}, timeout=30)


async def _list_tools(context: Any, params: Any) -> t.ListToolsResult:
    return t.ListToolsResult(tools=[t.Tool(name="echo", description="Echoes.", input_schema={"type": "object"})])


def _text(text: str) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(type="text", text=text)])
