"""A gateway over servers that live in this process, and what its tests ask it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hub_cases import caller, hub_of
from mcp.server import MCPServer
from proxy_cases import Channel, error_of
from relay_cases import Case

from toolcrib_core import count_tokens
from toolcrib_mcp.front import Caller, Request
from toolcrib_mcp.gateway import Gateway, GatewayBehaviour, GatewayService
from toolcrib_mcp.gateway.envelope import META_ENVELOPE
from toolcrib_mcp.gateway.service import META_CARDS
from toolcrib_mcp.gateway.sizing import is_media, text_of
from toolcrib_mcp.rpc import Wire
from toolcrib_mcp.upstreams import Connect, Era
from toolcrib_mcp.upstreams.in_process_wire import open_in_process_wire
from toolcrib_store import ArtifactLimits, Artifacts, open_store

HANDLE = r"art_[a-z2-7]{16}"
BEHAVIOUR = GatewayBehaviour()


class GatewayCase(Case):
    """A gateway, its servers, and requests to it without a front between."""

    def __init__(self, gateway: Gateway, artifacts: Artifacts | None, servers: dict[str, Any]) -> None:
        self.gateway = gateway
        self.artifacts = artifacts
        self.channel = Channel()
        super().__init__(GatewayService(gateway), gateway.hub, servers)  # type: ignore[arg-type]  # a service as well

    async def ask(self, method: str, *, by: Caller | None = None, **params: Any) -> dict[str, Any]:
        request = Request(method=method, params=params, caller=by or caller(), channel=self.channel)
        return dict(await self.service.answer(request))

    async def call(self, name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
        return await self.ask("tools/call", name=name, arguments=arguments, **more)

    async def browse(self, *, by: Caller | None = None, **arguments: Any) -> dict[str, Any]:
        return await self.call("tool_browse", arguments, by=by)

    async def execute(self, tool_id: str, /, **args: Any) -> dict[str, Any]:
        return await self.call("tool_execute", {"tool_id": tool_id, "args": args})

    async def view(self, handle: str, /, *, by: Caller | None = None, **selector: Any) -> dict[str, Any]:
        return await self.call("tool_view", {"handle": handle, "selector": selector}, by=by)

    async def failed(self, name: str, **arguments: Any) -> dict[str, Any]:
        return error_of(await self.call(name, arguments))


class SdkTools:
    """A server of the SDK in this process, whose every call is counted."""

    def __init__(self, name: str = "box") -> None:
        self.server = MCPServer(name)
        self.calls: list[str] = []

    async def connect(self) -> Wire:
        return await open_in_process_wire(self.server)


@asynccontextmanager
async def gatewayed(
    servers: Mapping[str, Any] | None = None,
    *,
    file: Path | None = None,
    limits: ArtifactLimits | None = None,
    ours: Mapping[str, Any] | None = None,
    behaviour: GatewayBehaviour = BEHAVIOUR,
    now: Any = None,
    **options: Any,
) -> AsyncIterator[GatewayCase]:
    """A gateway over these servers, whose `connect` is taken; without a file it keeps nothing."""
    connects: dict[str, Connect] = {name: each.connect for name, each in (servers or {}).items()}
    store = None if file is None else open_store(file)
    try:
        clock = {} if now is None else {"now": now}
        artifacts = None if store is None else Artifacts(store, limits=limits, **clock)
        async with hub_of(connects, ours={"mode": "gateway", **(ours or {})}) as hub:
            gateway = Gateway(hub, artifacts=artifacts, settings=behaviour, **options)
            case = GatewayCase(gateway, artifacts, dict(servers or {}))
            try:
                yield case
            finally:
                await case.service.aclose()
    finally:
        if store is not None:
            store.close()


def tokens_sent(result: Mapping[str, Any]) -> int:
    """What a model may read of a result: texts, and everything else that is no picture as JSON."""
    blocks = [each for each in result["content"] if not is_media(each)]
    texts = [text for each in blocks if (text := text_of(each)) is not None]
    others = [each for each in blocks if text_of(each) is None]
    beside = {name: value for name, value in result.items() if name not in {"content", "isError", "_meta"}}
    written = [
        json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in [*others, *([beside] if beside else [])]
    ]
    return sum(map(count_tokens, (*texts, *written)))


def cards_of(page: Mapping[str, Any]) -> dict[str, Any]:
    """A page of cards as programs read it."""
    cards: dict[str, Any] = page["_meta"][META_CARDS]
    return cards


def envelope_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """What a program reads of a large result."""
    envelope: dict[str, Any] = result["_meta"][META_ENVELOPE]
    return envelope


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def modern(**fields: Any) -> Caller:
    """A modern client, whose requests stand alone."""
    return caller(Era.MODERN, **fields)
