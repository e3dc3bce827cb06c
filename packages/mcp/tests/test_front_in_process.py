"""A service as a server in the same process, for upstreams and tests."""

from __future__ import annotations

import asyncio

import pytest
from front_services import FixtureService, text
from sdk_servers import ERAS, call, conversing

from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.front import connect_service, in_process
from toolcrib_mcp.rpc import WireClosed
from toolcrib_mcp.upstreams import Upstream
from toolcrib_mcp.upstreams.eras import Era

pytestmark = pytest.mark.req("GW-6.2")


@pytest.mark.parametrize("era", ERAS)
async def test_a_service_is_reached_in_both_eras(era: Era) -> None:
    service = FixtureService()

    async with conversing(await connect_service(service, principal="me")(), era) as session:
        result = await call(session, "echo", nonce="n1")
        with pytest.raises(UpstreamFailed) as failed:
            await call(session, "fail")

    assert session.agreement.era is era
    assert result["content"] == text("n1")["content"]
    assert (failed.value.rpc_code, failed.value.rpc_data) == (-32123, {"why": ["kept", 1]})
    assert service.requests[0].caller.principal == "me"


async def test_an_upstream_can_be_a_service_and_hears_of_its_changes() -> None:
    service = FixtureService()
    upstream = Upstream("fixture", connect_service(service))

    async with asyncio.timeout(10):
        tools = await upstream.tools()
        result = await upstream.call("tools/call", {"name": "echo", "arguments": {"nonce": "n1"}})
        await upstream.aclose()

    assert "echo" in [tool["name"] for tool in tools.items]
    assert result["content"] == text("n1")["content"]


async def test_every_connection_is_a_conversation_of_its_own() -> None:
    service = FixtureService()
    connect = connect_service(service)

    async with conversing(await connect()) as first, conversing(await connect()) as second:
        await call(first, "echo")
        await call(second, "echo")

    keys = [request.caller.conversation for request in service.requests]
    assert len(set(keys)) == 2
    assert sorted(service.ended) == sorted(map(str, keys))


@pytest.mark.fault("F16")
async def test_closing_the_wire_cancels_the_work_and_waits_until_nothing_is_left() -> None:
    service = FixtureService()

    async with conversing(await connect_service(service)()) as session:
        hanging = asyncio.create_task(call(session, "hang"))
        await service.hanging.wait()
    await asyncio.wait([hanging])

    assert service.cancelled.is_set()
    assert len(service.ended) == 1
    assert hanging.exception() is not None


async def test_a_service_that_does_not_let_go_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "SHUTDOWN_GRACE", 0.05)
    left = asyncio.Event()

    class Holding(FixtureService):
        async def end(self, conversation: str) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                left.set()

    wire = await connect_service(Holding())()
    async with asyncio.timeout(5):
        await wire.aclose()
        with pytest.raises(WireClosed):
            await wire.receive()

    assert left.is_set()
