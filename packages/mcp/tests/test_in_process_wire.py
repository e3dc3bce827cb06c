"""The wire to a server object in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server import MCPServer, Server
from sdk_servers import ERAS, ODD_RESULT, SdkServer, call, conversing

from toolcrib_mcp.errors import UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.rpc import WireClosed
from toolcrib_mcp.upstreams import in_process_wire
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_mcp.upstreams.in_process_wire import open_in_process_wire

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

both_eras = pytest.mark.parametrize("era", ERAS)


@pytest.mark.req("GW-6.2", "GW-6.6")
@both_eras
async def test_a_server_object_is_spoken_to_in_both_eras_and_without_loss(era: Era) -> None:
    async with conversing(await open_in_process_wire(SdkServer().server), era) as session:
        echoed = await call(session, "echo", nonce="n1")
        odd = await call(session, "odd")

    assert session.agreement.era is era
    assert echoed["content"][0]["text"] == "n1"
    assert {key: odd[key] for key in ODD_RESULT} == ODD_RESULT


@pytest.mark.req("GW-6.2")
async def test_a_server_of_the_high_level_kind_will_do() -> None:
    server = MCPServer("high")

    @server.tool()
    def double(number: int) -> int:
        return 2 * number

    async with conversing(await open_in_process_wire(server)) as session:
        result = await call(session, "double", number=21)

    assert result["structuredContent"] == {"result": 42}


@pytest.mark.fault("F3")
@both_eras
async def test_a_call_that_is_given_up_is_cancelled_in_the_server(era: Era) -> None:
    fixture = SdkServer()

    async with conversing(await open_in_process_wire(fixture.server), era) as session:
        with pytest.raises(UpstreamTimeout):
            await session.request("tools/call", {"name": "hang", "arguments": {}}, timeout=0.2)
        async with asyncio.timeout(5):
            await fixture.cancelled.wait()

        assert (await call(session, "echo", nonce="next"))["content"][0]["text"] == "next"


async def test_closing_ends_a_call_under_way_and_the_server_with_it() -> None:
    fixture = SdkServer()

    async with conversing(await open_in_process_wire(fixture.server)) as session, asyncio.timeout(5):
        asked = asyncio.create_task(session.request("tools/call", {"name": "hang", "arguments": {}}, timeout=None))
        await fixture.hanging.wait()
    with pytest.raises(UpstreamUnavailable):
        await asked

    assert fixture.cancelled.is_set()


@pytest.mark.fault("F1")
async def test_a_server_that_fails_ends_the_wire_with_its_reason_and_cancels_nobody() -> None:
    @asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncIterator[None]:
        raise RuntimeError("no database")
        yield

    wire = await open_in_process_wire(Server("broken", lifespan=lifespan))

    with pytest.raises(WireClosed, match="no database"):
        await wire.receive()
    with pytest.raises(WireClosed, match="no database"):
        await wire.send(PING)
    await wire.aclose()


async def test_a_closed_wire_says_so_to_reader_and_writer_and_can_be_closed_again() -> None:
    wire = await open_in_process_wire(SdkServer().server)

    await wire.aclose()
    await wire.aclose()

    with pytest.raises(WireClosed, match="was closed"):
        await wire.receive()
    with pytest.raises(WireClosed, match="was closed"):
        await wire.send(PING)
    assert wire.noise.lines == 0


async def test_what_is_not_json_rpc_is_not_sent() -> None:
    wire = await open_in_process_wire(SdkServer().server)

    with pytest.raises(TypeError):
        await wire.send({"method": 7})
    await wire.aclose()


@pytest.mark.fault("F16")
async def test_a_server_that_does_not_end_by_itself_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process_wire, "SHUTDOWN_GRACE", 0.05)
    stuck = asyncio.Event()

    @asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncIterator[None]:
        yield
        stuck.set()
        await asyncio.Event().wait()

    wire = await open_in_process_wire(Server("stuck", lifespan=lifespan))
    await wire.send(PING)

    async with asyncio.timeout(5):
        await wire.aclose()

    assert stuck.is_set()
