"""Upstreams that are servers of the official SDK: found out about, asked and followed in both eras."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp.types as t
import pytest
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from toolcrib_mcp.rpc import Wire
from toolcrib_mcp.upstreams import Era, Upstream, UpstreamHooks, UpstreamSettings
from toolcrib_mcp.upstreams.in_process_wire import open_in_process_wire

ERAS = [Era.HANDSHAKE, Era.MODERN]


class SdkServer:
    """Lists as many tools as it is told to, and tells of changes as its era does."""

    def __init__(self) -> None:
        self.tools = 1
        self._bus = InMemorySubscriptionBus()
        self._server: Server[Any] = Server(
            "sdk",
            version="1",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    async def connect(self) -> Wire:
        return await open_in_process_wire(self._server)

    async def _list(self, _context: Any, _params: Any) -> t.ListToolsResult:
        tools = [t.Tool(name=f"tool{number}", input_schema={"type": "object"}) for number in range(self.tools)]
        return t.ListToolsResult(tools=tools)

    async def _call(self, context: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
        if params.name == "grow":
            self.tools += 1
            await self._bus.publish(ToolsListChanged())
            await context.session.send_tool_list_changed()
        return t.CallToolResult(content=[t.TextContent(type="text", text=params.name)])


@pytest.mark.req("GW-6.2")
@pytest.mark.parametrize("era", ERAS)
async def test_a_server_of_the_sdk_is_asked_in_its_era(era: Era) -> None:
    settings = UpstreamSettings(era=era)
    async with asyncio.timeout(20), Upstream("sdk", SdkServer().connect, settings=settings) as upstream:
        result = await upstream.call("tools/call", {"name": "greet", "arguments": {}})
        tools = await upstream.tools()

        assert result["content"] == [{"type": "text", "text": "greet"}]
        assert [tool["name"] for tool in tools.items] == ["tool0"]
        assert upstream.agreement.era is era


@pytest.mark.req("GW-6.2", "GW-6.5")
@pytest.mark.parametrize("era", ERAS)
async def test_a_server_of_the_sdk_that_changes_its_tools_is_read_again(era: Era) -> None:
    told: asyncio.Queue[int] = asyncio.Queue()
    hooks = UpstreamHooks(on_tools=lambda listing: told.put_nowait(len(listing.items)))
    settings = UpstreamSettings(era=era, settle=0.01)
    async with asyncio.timeout(20), Upstream("sdk", SdkServer().connect, settings=settings, hooks=hooks) as upstream:
        await upstream.start()
        before = await told.get()

        await upstream.call("tools/call", {"name": "grow", "arguments": {}})
        after = await told.get()

    assert (before, after) == (1, 2)
