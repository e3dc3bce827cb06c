"""The wire over streamable HTTP, against real servers of the SDK."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sdk_servers import ERAS, ODD_RESULT, SdkServer, call, conversing, open_wire, serving_sdk

from toolcrib_mcp.errors import UpstreamFailed, UpstreamTimeout
from toolcrib_mcp.rpc import WireClosed
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_mcp.upstreams.http_wire import open_http_wire
from toolcrib_runtime.errors import BlockedAddress, InvalidRequest, InvalidUrl
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.guards.secrets import Secret

pytestmark = pytest.mark.enable_socket

both_eras = pytest.mark.parametrize("era", ERAS)
both_bodies = pytest.mark.parametrize("json_response", [False, True], ids=["events", "json"])


@pytest.mark.req("GW-6.2")
@both_eras
@both_bodies
async def test_a_server_is_spoken_to_in_its_era_by_events_and_by_json(era: Era, json_response) -> None:
    fixture = SdkServer()

    async with (
        serving_sdk(fixture.server, json_response=json_response) as url,
        open_wire(url) as wire,
        conversing(wire, era) as session,
    ):
        result = await call(session, "echo", nonce="n1")

    assert session.agreement.era is era
    assert result["content"][0]["text"] == "n1"


@pytest.mark.req("GW-6.6")
@both_eras
@both_bodies
async def test_fields_and_blocks_that_nobody_knows_come_through(era: Era, json_response) -> None:
    fixture = SdkServer()

    async with (
        serving_sdk(fixture.server, json_response=json_response) as url,
        open_wire(url) as wire,
        conversing(wire, era) as session,
    ):
        result = await call(session, "odd")

    assert {key: result[key] for key in ODD_RESULT} == ODD_RESULT


@pytest.mark.req("GW-6.6")
@both_eras
async def test_progress_comes_on_the_stream_of_its_call(era: Era) -> None:
    fixture = SdkServer()
    seen: list[Any] = []

    async def note(params: dict[str, Any]) -> None:
        seen.append(params["message"])

    async with serving_sdk(fixture.server) as url, open_wire(url) as wire, conversing(wire, era) as session:
        await session.request("tools/call", {"name": "progress", "arguments": {}}, timeout=5, on_progress=note)

    assert seen == ["step 1", "step 2", "step 3"]


@pytest.mark.req("GW-6.6")
async def test_a_server_can_ask_back_in_the_middle_of_a_call() -> None:
    fixture = SdkServer()

    async def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"colour": "blue"}}

    async with serving_sdk(fixture.server) as url, open_wire(url) as wire:
        granted = {"elicitation": {"form": {}}}
        async with conversing(wire, Era.HANDSHAKE, capabilities=granted, on_request=answer) as session:
            result = await call(session, "ask")

    assert result["content"][0]["text"] == "accept {'colour': 'blue'}"


@pytest.mark.req("GW-6.5")
async def test_a_change_of_the_list_comes_on_the_stream_of_its_own() -> None:
    fixture = SdkServer()
    told = asyncio.Event()

    async def note(method: str, params: dict[str, Any]) -> None:
        if method == "notifications/tools/list_changed":
            told.set()

    async with (
        serving_sdk(fixture.server) as url,
        open_wire(url) as wire,
        conversing(wire, Era.HANDSHAKE, on_notification=note) as session,
        asyncio.timeout(10),
    ):
        while not told.is_set():
            # The stream opens beside the first calls, and what is said before is said to nobody.
            await call(session, "change")


@pytest.mark.fault("F3")
@both_eras
async def test_a_call_that_is_given_up_is_cancelled_at_the_server(era: Era) -> None:
    fixture = SdkServer()

    async with serving_sdk(fixture.server) as url, open_wire(url) as wire, conversing(wire, era) as session:
        with pytest.raises(UpstreamTimeout):
            await session.request("tools/call", {"name": "hang", "arguments": {}}, timeout=0.3)
        async with asyncio.timeout(5):
            await fixture.cancelled.wait()

        assert (await call(session, "echo", nonce="next"))["content"][0]["text"] == "next"


@pytest.mark.fault("F15")
@both_eras
async def test_of_many_calls_at_once_each_gets_its_own_answer(era: Era) -> None:
    fixture = SdkServer()

    async with serving_sdk(fixture.server) as url, open_wire(url) as wire, conversing(wire, era) as session:
        results = await asyncio.gather(*(call(session, "echo", nonce=f"n{each}") for each in range(100)))

    assert [each["content"][0]["text"] for each in results] == [f"n{each}" for each in range(100)]


@pytest.mark.req("GW-8.5")
@pytest.mark.fault("F20")
@both_eras
async def test_the_headers_are_those_of_the_protocol_and_those_that_are_configured(era: Era) -> None:
    fixture = SdkServer()
    configured = {"Authorization": Secret("Bearer configured"), "Accept": Secret("text/html")}

    async with (
        serving_sdk(fixture.server) as url,
        open_wire(url, headers=configured) as wire,
        conversing(wire, era) as session,
    ):
        await call(session, "echo", nonce="n1")

    allowed = {"accept", "accept-encoding", "authorization", "content-length", "content-type", "host", "user-agent"}
    protocol = {"mcp-method", "mcp-name"} if era is Era.MODERN else {"mcp-session-id"}
    last = fixture.headers[-1]
    assert last.keys() == allowed | protocol | {"mcp-protocol-version"}
    assert last["authorization"] == "Bearer configured"
    assert last["accept"] == "application/json, text/event-stream"


async def test_an_error_of_the_server_is_its_error_whatever_the_status() -> None:
    fixture = SdkServer()

    async with serving_sdk(fixture.server) as url, open_wire(url) as wire, conversing(wire, Era.MODERN) as session:
        with pytest.raises(UpstreamFailed) as failed:
            await session.request("no/such/method", timeout=5)

    assert failed.value.rpc_code == -32601


async def test_closing_the_wire_ends_the_session_at_the_server_and_the_reading_here() -> None:
    fixture = SdkServer()

    async with serving_sdk(fixture.server) as url, open_wire(url) as wire:
        async with conversing(wire, Era.HANDSHAKE):
            sessions = fixture.server.session_manager._server_instances
            assert len(sessions) == 1
        await wire.aclose()

        assert sessions == {}
        with pytest.raises(WireClosed):
            await wire.receive()
        with pytest.raises(WireClosed):
            await wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})


async def test_what_is_not_granted_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(BlockedAddress):
        await open_http_wire("http://127.0.0.1:9/mcp", headers={}, grant=NetGrant())
    with pytest.raises(InvalidUrl):
        await open_http_wire("http://example.com/mcp", headers={}, grant=NetGrant())


@pytest.mark.parametrize(("name", "value"), [("Host", "other"), ("X-Key", "a\r\nX-Other: b"), ("X-Key", "é")])
async def test_headers_that_cannot_be_sent_are_refused_without_their_values(name: str, value: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await open_http_wire("https://example.com/mcp", headers={name: Secret(value)}, grant=NetGrant())

    assert value not in str(refused.value)
