"""Hubs over scripted servers, the callers that use them, and the notices that they publish."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from process_children import SIGN
from scripted_servers import ECHO, ScriptedServer

from tests.chaos import hostile_server
from toolcrib_mcp.config import GatewayConfig, GatewaySettings, load_config
from toolcrib_mcp.front import Caller, Notice
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.upstreams import Connect, Era

CALL = {"name": "echo", "arguments": {"nonce": "n1"}}
ECHOED = {"echo": {"nonce": "n1"}}
FORM = {"elicitation": {"form": {}}}
ABLE = {**FORM, "sampling": {}, "roots": {"listChanged": True}}
"""What a client can do that can do everything."""


def caller(era: Era = Era.HANDSHAKE, **fields: Any) -> Caller:
    """A client with a conversation, unless it is modern."""
    version = "2025-11-25" if era is Era.HANDSHAKE else "2026-07-28"
    conversation = "c1" if era is Era.HANDSHAKE else None
    return Caller(**{"era": era, "protocol_version": version, "conversation": conversation, **fields})


def settings(**fields: Any) -> GatewaySettings:
    """The settings of a gateway, as a file has them."""
    return GatewaySettings.model_validate_json(json.dumps(fields))


def hub_of(servers: Mapping[str, Connect], *, ours: Mapping[str, Any] | None = None, **options: Any) -> Hub:
    """A hub over servers that live in this process."""
    config = GatewayConfig(servers={}, settings=settings(**(ours or {})))
    return Hub(config, upstreams=servers, **options)


def granted(server: ScriptedServer, *grants: str, **options: Any) -> Hub:
    """A hub over one server, `files`, that was granted something of its clients."""
    return hub_of({"files": server.connect}, ours={"servers": {"files": {"grants": grants}}}, **options)


def config_file(folder: Path, entries: Mapping[str, Any], **ours: Any) -> GatewayConfig:
    """The configuration in a file that was written for these servers."""
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": entries, "toolcrib": ours}), "utf-8")
    return load_config(file)


def program(family: str, *, mode: str = "good", era: str | None = None) -> dict[str, Any]:
    """The entry of a server that is the hostile one, in one of its modes."""
    script = ["-I", "-S", hostile_server.__file__, "--mode", mode, *(["--era", era] if era else [])]
    return {"command": sys.executable, "args": script, "env": {SIGN: family}}


def plain(name: str, family: str, *more: str) -> dict[str, Any]:
    """The entry of a server that says who it is; see `plain_server.py`."""
    script = ["-I", "-S", str(Path(__file__).with_name("plain_server.py")), name, *more]
    return {"command": sys.executable, "args": script, "env": {SIGN: family}}


async def who(hub: Hub, server: str, **arguments: Any) -> dict[str, Any]:
    """What such a server says."""
    async with hub.lease(server, caller()) as upstream:
        result = await upstream.call("tools/call", {"name": "who", "arguments": arguments}, timeout=20)
    said: dict[str, Any] = result["structuredContent"]
    return said


def listing(*names: str) -> ScriptedServer:
    """A server with tools of these names."""
    return ScriptedServer(**{"tools/list": {"tools": [{**ECHO, "name": name} for name in names]}})


class Held:
    """A server whose calls wait until they are let go."""

    def __init__(self) -> None:
        self.server = ScriptedServer(**{"tools/call": self._answer})
        self.under_way = self.most_at_once = self.answered = 0
        self._open = asyncio.Event()
        self._news = asyncio.Event()

    async def call(self, hub: Hub, conversation: str, **options: Any) -> None:
        async with hub.lease("files", caller(conversation=conversation), **options) as upstream:
            await upstream.call("tools/call", CALL)
        self.answered += 1

    async def until_under_way(self, count: int) -> None:
        async with asyncio.timeout(5):
            while self.under_way < count:
                self._news.clear()
                await self._news.wait()

    def let_go(self) -> None:
        self._open.set()

    async def _answer(self, params: dict[str, Any]) -> dict[str, Any]:
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        self._news.set()
        await self._open.wait()
        self.under_way -= 1
        return {}


class Heard:
    """The notices that a hub publishes."""

    def __init__(self, hub: Hub) -> None:
        self.notices: list[Notice] = []
        self._news = asyncio.Event()
        hub.feed.subscribe(self._hear)

    @property
    def methods(self) -> list[str]:
        return [notice.method for notice in self.notices]

    async def until(self, condition: Callable[[list[Notice]], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition(self.notices):
                self._news.clear()
                await self._news.wait()

    def _hear(self, notice: Notice) -> None:
        self.notices.append(notice)
        self._news.set()


async def eventually(condition: Callable[[], bool], *, seconds: float = 10) -> None:
    """Wait for something that sets no event."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # nobody sets an event for it
            await asyncio.sleep(0.005)
