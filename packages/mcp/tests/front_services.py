"""A service of our own with one tool for everything that the tests of fronts look at."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from toolcrib_mcp.front import Feed, Notice, Request, ServerFace
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams.eras import Era

INFO = {"name": "fixture", "version": "1"}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "logging": {},
}
ODD_RESULT = {
    "content": [{"type": "hologram", "shape": {"deep": [1, None]}}, {"type": "text", "text": "x", "novel": True}],
    "isError": False,
    "novel": {"kept": 12345678901234567890123},
    "_meta": {"io.example/kept": 1},
}
"""A result with fields and blocks that no version of the protocol knows."""

WATCHED = "file:///watched"
_TOOLS = "echo odd fail crash unspeakable large change touch print hang stubborn progress log ask".split()


class FixtureService:
    """Answers `tools/list` and `tools/call`, watches one resource, and remembers what happened."""

    def __init__(self) -> None:
        self.feed = Feed()
        self.info: Mapping[str, Any] = INFO
        self.requests: list[Request] = []
        self.hanging = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.release = asyncio.Event()
        self.ready = asyncio.Event()
        self.ready.set()
        self.ended: list[str] = []
        self.listeners: dict[str, set[str]] = {}
        self.under_way = 0
        self.most = 0

    async def face(self) -> ServerFace:
        await self.ready.wait()
        return ServerFace(capabilities=CAPABILITIES, instructions="Ask nicely.")

    async def answer(self, request: Request) -> Mapping[str, Any]:
        self.requests.append(request)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            return await self._answer(request)
        finally:
            self.under_way -= 1

    async def subscribe(self, listener: str, uri: str) -> None:
        if uri != WATCHED:
            raise RpcError(-32602, "Nobody tells of its changes.")
        self.listeners.setdefault(uri, set()).add(listener)

    async def unsubscribe(self, listener: str, uri: str) -> None:
        self.listeners.get(uri, set()).discard(listener)

    async def end(self, conversation: str) -> None:
        self.ended.append(conversation)

    def touch(self) -> None:
        """The watched resource has changed."""
        to = frozenset(self.listeners.get(WATCHED, ()))
        self.feed.publish(Notice(method="notifications/resources/updated", params={"uri": WATCHED}, to=to))

    def change(self) -> None:
        """The list of tools has changed."""
        self.feed.publish(Notice(method="notifications/tools/list_changed"))

    async def _answer(self, request: Request) -> Mapping[str, Any]:
        if request.method == "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}, "novel": [1]} for name in _TOOLS]}
        if request.method != "tools/call":
            raise RpcError(-32601, "Method not found")
        arguments = request.params.get("arguments") or {}
        tool = getattr(self, f"_{request.params.get('name')}", None)
        result = None if tool is None else await tool(request, arguments)
        return text(str(arguments.get("nonce", "done"))) if result is None else result

    async def _odd(self, request: Request, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return ODD_RESULT

    async def _fail(self, request: Request, arguments: Mapping[str, Any]) -> None:
        raise RpcError(-32123, "It failed.", {"why": ["kept", 1]})

    async def _crash(self, request: Request, arguments: Mapping[str, Any]) -> None:
        raise ValueError("secret detail")

    async def _unspeakable(self, request: Request, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"content": {1, 2}}

    async def _large(self, request: Request, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return text("x" * arguments["size"])

    async def _change(self, request: Request, arguments: Mapping[str, Any]) -> None:
        self.change()

    async def _touch(self, request: Request, arguments: Mapping[str, Any]) -> None:
        self.touch()

    async def _print(self, request: Request, arguments: Mapping[str, Any]) -> None:
        print("stray", flush=True)  # noqa: T201  # what must not reach the client

    async def _hang(self, request: Request, arguments: Mapping[str, Any]) -> None:
        self.hanging.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def _stubborn(self, request: Request, arguments: Mapping[str, Any]) -> None:
        self.hanging.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.set()

    async def _progress(self, request: Request, arguments: Mapping[str, Any]) -> None:
        assert request.on_progress is not None
        for step in (1, 2, 3):
            await request.on_progress({"progress": step, "total": 3, "message": f"step {step}", "novel": step})

    async def _log(self, request: Request, arguments: Mapping[str, Any]) -> None:
        for level in ("debug", "error"):
            params = {"level": level, "data": f"from {level}", "novel": True}
            if request.caller.era is Era.MODERN:
                await request.channel.notify("notifications/message", params)
            else:
                to = frozenset({str(request.caller.conversation)})
                self.feed.publish(Notice(method="notifications/message", params=params, to=to))

    async def _ask(self, request: Request, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        seconds = arguments.get("timeout", 5)
        answer = await request.channel.ask(arguments["method"], arguments["params"], timeout=seconds)
        return {**text("answered"), "structuredContent": answer}


def text(words: str) -> dict[str, Any]:
    """A result that says this."""
    return {"content": [{"type": "text", "text": words}]}
