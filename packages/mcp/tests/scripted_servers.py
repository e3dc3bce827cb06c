"""Servers in this process whose every answer a test decides."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

from toolcrib_mcp.rpc import MemoryWire, RpcError, Unreadable, WireClosed, memory_wires
from toolcrib_mcp.rpc.messages import error_message, result_message

Json: TypeAlias = dict[str, Any]
Answer: TypeAlias = Json | RpcError | Unreadable | Callable[[Json], "Json | Awaitable[Json]"] | None
"""A result, an error, something that cannot be read, silence, or what makes a result from the params."""

UNKNOWN = RpcError(-32601, "Method not found")
HANDSHAKE: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "scripted", "version": "1"},
    "instructions": "Ask nicely.",
}
MODERN: Json = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "instructions": "Ask nicely.",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "2"}},
}
ECHO: Json = {"name": "echo", "inputSchema": {"type": "object"}}


class ScriptedServer:
    """Answers as `answers` says by method; a method that is not there is unknown. Every connection is a new life."""

    def __init__(self, **answers: Answer) -> None:
        self.answers: dict[str, Answer] = {
            "initialize": HANDSHAKE,
            "tools/list": {"tools": [ECHO]},
            "tools/call": lambda params: {"echo": params.get("arguments")},
            **answers,
        }
        self.heard: list[tuple[str, Json]] = []
        self.lives = 0
        self.refuses: Exception | None = None
        self.last_words: WireClosed | None = None
        self.wire: MemoryWire | None = None
        self._client: _ScriptedWire | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()

    @property
    def methods(self) -> list[str]:
        """What was asked and told, in order."""
        return [method for method, _ in self.heard]

    def params_of(self, method: str) -> Json:
        """Those of the last message with this method."""
        return next(params for each, params in reversed(self.heard) if each == method)

    async def connect(self) -> _ScriptedWire:
        """What an `Upstream` is given to reach it."""
        if self.refuses is not None:
            raise self.refuses
        self.lives += 1
        ours, self.wire = memory_wires()
        self._client = _ScriptedWire(ours, end=self.last_words)
        task = asyncio.create_task(self._serve(self.wire, self._client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return self._client

    async def until_heard(self, method: str, count: int = 1) -> None:
        """Wait until so many messages with this method have come."""
        async with asyncio.timeout(5):
            while self.methods.count(method) < count:
                self._news.clear()
                await self._news.wait()

    async def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        await self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, request_id: int = 1) -> None:
        """Send a request; its answer is heard as `""`."""
        await self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": {}})

    async def die(self, reason: str = "It was closed.", *, status: int | None = None, stderr: str = "") -> None:
        """End the connection, with these last words."""
        assert self.wire is not None
        assert self._client is not None
        self._client.end = WireClosed(reason, status=status, stderr=stderr)
        await self.wire.aclose()

    async def _send(self, message: Json) -> None:
        assert self.wire is not None
        await self.wire.send(message)

    async def _serve(self, wire: MemoryWire, client: _ScriptedWire) -> None:
        answering: list[asyncio.Task[None]] = []
        with suppress(WireClosed):
            while True:
                message = await wire.receive()
                assert isinstance(message, dict)
                self.heard.append((message.get("method", ""), message.get("params", message)))
                self._news.set()
                if "id" in message and "method" in message:
                    answering.append(asyncio.create_task(self._answer(message, wire, client)))
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)

    async def _answer(self, message: Json, wire: MemoryWire, client: _ScriptedWire) -> None:
        answer = self.answers.get(message["method"], UNKNOWN)
        with suppress(WireClosed):
            if callable(answer):
                answer = answer(message.get("params", {}))
            if isinstance(answer, Awaitable):
                answer = await answer
            if isinstance(answer, RpcError):
                await wire.send(error_message(message["id"], answer))
            elif isinstance(answer, Unreadable):
                client.unreadable = replace(answer, id=message["id"])
                await wire.send({"unreadable": True})
            elif answer is not None:
                await wire.send(result_message(message["id"], answer))


class _ScriptedWire:
    """A memory wire that can have last words, and can bring something that cannot be read."""

    def __init__(self, inner: MemoryWire, *, end: WireClosed | None = None) -> None:
        self.inner = inner
        self.end = end
        self.unreadable: Unreadable | None = None

    @property
    def noise(self):
        return self.inner.noise

    async def send(self, message) -> None:
        try:
            await self.inner.send(message)
        except WireClosed as end:
            raise self.end or end from None

    async def receive(self) -> Json | Unreadable:
        try:
            message = await self.inner.receive()
        except WireClosed as end:
            raise self.end or end from None
        unreadable, self.unreadable = self.unreadable, None
        return unreadable or message

    async def aclose(self) -> None:
        await self.inner.aclose()
