"""What a hub needs of its upstreams: whoever works beside a session, and servers that are only there to be asked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import mcp.types as t
import pytest
from hub_cases import CALL, ECHOED, caller, config_file, eventually
from mcp.server import Server
from scripted_servers import ScriptedServer
from sdk_servers import serving_sdk

from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.upstreams import Era, RestartRules, Upstream, UpstreamHooks, UpstreamSettings
from toolcrib_mcp.upstreams.session import Session

REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


async def test_what_works_beside_a_session_begins_and_ends_with_it() -> None:
    server, sessions = ScriptedServer(), []
    ended = asyncio.Event()

    async def attend(session: Session) -> None:
        sessions.append(session)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    settings = UpstreamSettings(restarts=RestartRules(first_delay=0.01))
    async with Upstream("files", server.connect, settings=settings, hooks=UpstreamHooks(attend=attend)) as upstream:
        await upstream.start()
        await server.die(status=1)
        await eventually(lambda: len(sessions) == 2)
        ended_with_the_first = ended.is_set()

    assert ended_with_the_first
    assert server.lives == 2


async def test_what_fails_beside_a_session_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    server = ScriptedServer()

    async def attend(session: Session) -> None:
        raise RuntimeError("a fault of ours")

    async with Upstream("files", server.connect, hooks=UpstreamHooks(attend=attend)) as upstream:
        tools = await upstream.tools()
        result = await upstream.call("tools/call", CALL)

    assert len(tools.items) == 1
    assert result == ECHOED
    assert server.lives == 1
    assert "beside a session" in caplog.text


async def test_what_a_server_tells_about_itself_does_not_wait_for_its_tools() -> None:
    server = ScriptedServer(**{"tools/list": None})

    async with Upstream("files", server.connect) as upstream, asyncio.timeout(5):
        agreement = await upstream.agreed()

    assert agreement.era is Era.HANDSHAKE


async def test_a_server_that_cannot_be_reached_tells_nothing_about_itself() -> None:
    server = ScriptedServer()
    server.refuses = OSError("no such program")

    async with Upstream("files", server.connect) as upstream:
        with pytest.raises(UpstreamUnavailable, match="no such program"):
            await upstream.agreed()


async def test_a_server_that_is_only_there_to_be_asked_is_not_read() -> None:
    server = ScriptedServer()

    async with Upstream("files", server.connect, settings=UpstreamSettings(watch=False)) as upstream:
        await upstream.start()
        result = await upstream.call("tools/call", CALL)

    assert result == ECHOED
    assert "tools/list" not in server.methods


@pytest.mark.enable_socket
@pytest.mark.req("GW-6.2")
async def test_a_private_connection_over_http_knows_which_arguments_headers_repeat(tmp_path: Path) -> None:
    seen: list[str] = []

    async def list_tools(context: Any, params: Any) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[t.Tool(name="deploy", description="Deploys.", input_schema=REGION)])

    async def call_tool(context: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
        seen.append(context.request.headers.get("mcp-param-region"))
        return t.CallToolResult(content=[])

    server = Server("fixture", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    params = {"name": "deploy", "arguments": {"region": "north"}}
    async with asyncio.timeout(30), serving_sdk(server) as url:
        config = config_file(tmp_path, {"web": {"url": url}}, servers={"web": {"grants": ["logging"]}})
        async with Hub(config) as hub:
            await hub.start(timeout=10)
            async with hub.lease("web", caller(Era.MODERN, log_level="info")) as upstream:
                is_private = upstream is not hub.shared("web")
                await upstream.call("tools/call", params)

    assert is_private
    assert seen == ["north"]
