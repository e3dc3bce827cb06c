from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_servers import HANDSHAKE, ScriptedServer

from toolcrib_mcp.errors import UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams import StartReport, Upstream, close_all, start_all
from toolcrib_runtime.testing import FakeClock

pytestmark = pytest.mark.req("GW-6.4")


def slow_server(clock: FakeClock, seconds: float) -> ScriptedServer:
    async def initialize(_params: dict[str, Any]) -> dict[str, Any]:
        await clock.sleep(seconds)
        return HANDSHAKE

    return ScriptedServer(initialize=initialize)


async def test_forty_servers_start_in_the_time_of_the_slowest() -> None:
    clock = FakeClock()
    servers = [Upstream(f"s{number}", slow_server(clock, number / 10).connect, clock=clock) for number in range(40)]

    starting = asyncio.create_task(start_all(servers, timeout=30))
    await clock.advance(3.8)
    early = starting.done()
    await clock.advance(0.2)
    async with asyncio.timeout(5):
        reports = await starting

    assert not early
    assert reports == [StartReport(name=f"s{number}") for number in range(40)]
    await close_all(servers)


@pytest.mark.fault("F1")
async def test_a_server_that_never_answers_delays_nobody() -> None:
    clock = FakeClock()
    good, mute = ScriptedServer(), ScriptedServer(**{"server/discover": None, "initialize": None})
    servers = [Upstream("good", good.connect, clock=clock), Upstream("mute", mute.connect, clock=clock)]

    starting = asyncio.create_task(start_all(servers, timeout=20))
    async with asyncio.timeout(5):
        tools = await servers[0].tools()
    await clock.advance(20)
    async with asyncio.timeout(5):
        reports = await starting

    assert len(tools.items) == 1
    assert reports[0] == StartReport(name="good")
    assert isinstance(reports[1].error, UpstreamUnavailable)
    await close_all(servers, drain=0)


@pytest.mark.req("GW-6.2")
async def test_a_server_whose_tools_cannot_be_read_is_reported() -> None:
    broken = ScriptedServer(**{"tools/list": RpcError(-32603, "boom")})
    servers = [Upstream("broken", broken.connect)]

    [report] = await start_all(servers, timeout=5)

    assert isinstance(report.error, UpstreamFailed)
    await close_all(servers)


async def test_a_server_that_was_not_ready_in_time_goes_on_starting() -> None:
    clock = FakeClock()
    slow = Upstream("slow", slow_server(clock, 10).connect, clock=clock)

    starting = asyncio.create_task(start_all([slow], timeout=1))
    await clock.advance(1)
    async with asyncio.timeout(5):
        [report] = await starting
    await clock.advance(10)

    assert isinstance(report.error, UpstreamUnavailable)
    assert slow.state == "started"
    await close_all([slow])
