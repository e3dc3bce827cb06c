"""Packs of principals behind the gateway, in every mode: one does not see those of another, whatever it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolcrib_cli.pack import serving
from toolcrib_cli.wiring import Asked
from toolcrib_mcp.config import GatewayConfig, GatewaySettings
from toolcrib_mcp.front import Caller, Request
from toolcrib_mcp.front.service import META_PRINCIPAL
from toolcrib_mcp.gateway import open_gateway_service
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.proxy import ProxyRuntime, ProxyService
from toolcrib_mcp.proxy.embedding import lone_request
from toolcrib_mcp.relay import TransparentService
from toolcrib_mcp.upstreams.eras import MODERN_VERSIONS, Era

pytestmark = [pytest.mark.fault("K9"), pytest.mark.req("CP-20")]


@asynccontextmanager
async def _served(mode: Any) -> AsyncIterator[Any]:
    config = GatewayConfig(servers={}, settings=GatewaySettings(mode=mode))
    async with (
        asyncio.timeout(30),
        serving.bring_context_packs(Asked(config=config)) as brought,
        Hub(config, upstreams=brought) as hub,
    ):
        await hub.start(timeout=10)
        if mode == "gateway":
            service: Any = await open_gateway_service(hub, state_dir=None)
        elif mode == "proxy":
            service = ProxyService(ProxyRuntime(hub))
        else:
            service = TransparentService(hub)
        async with aclosing(service):
            yield service


async def _call(service: Any, mode: str, who: str | None, tool: str, *, meta: Any = None, **arguments: Any) -> Any:
    caller = Caller(era=Era.MODERN, protocol_version=MODERN_VERSIONS[-1], principal=who)
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if mode != "transparent":
        executed = {"tool_id": f"contextpacks__{tool}", "args": arguments}
        params = {"name": "tool_execute", "arguments": executed}
    if meta is not None:
        params["_meta"] = meta
    request = Request(method="tools/call", params=params, caller=caller, channel=lone_request().channel)
    return json.dumps(await service.answer(request))


@pytest.mark.parametrize("mode", ["gateway", "proxy", "transparent"])
async def test_a_pack_of_one_principal_is_not_found_by_another(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_PACKS", str(tmp_path / "packs.db"))
    document = {"name": "plan", "title": "Canary of alice", "sections": []}
    lie = {META_PRINCIPAL: "alice"}
    async with _served(mode) as service:
        written = await _call(service, mode, "alice", "input", action="write", document=document)
        read = await _call(service, mode, "alice", "output", action="read", name="plan")
        others = [
            await _call(service, mode, who, "output", meta=meta, action=action, **which)
            for who in ("bob", None)
            for meta in (None, lie)
            for action, which in (("read", {"name": "plan"}), ("list", {}))
        ]

    assert "pk_" in written
    assert "Canary of alice" in read
    assert not any("Canary" in each for each in others)
    assert sum("not_found" in each or "NOT_FOUND" in each for each in others) == 4
