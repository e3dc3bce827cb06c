"""Servers that fail behind a transparent service: the client is told at once, and told which failure it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from relay_cases import ERAS, Case, Client, failure_of
from scripted_servers import HANDSHAKE, MODERN, ScriptedServer

from toolcrib_mcp.config import GatewayConfig, GatewaySettings
from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.relay import TransparentService
from toolcrib_mcp.rpc import Unreadable
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_runtime.testing import FakeClock

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
# What fronts put into results, or take out of them, by the era of the client.
ERA_MEMBERS = {"resultType", "ttlMs", "cacheScope", "_meta"}
RESULTS = st.dictionaries(st.text().filter(lambda name: name not in ERA_MEMBERS), JSON, max_size=6)


@asynccontextmanager
async def scripted(
    server: ScriptedServer, front: Era, *, clock: FakeClock | None = None
) -> AsyncIterator[tuple[Case, Client]]:
    """A client in front of one scripted server."""
    config = GatewayConfig(servers={}, settings=GatewaySettings(mode="transparent"))
    options: dict[str, Any] = {} if clock is None else {"clock": clock}
    async with Hub(config, upstreams={"files": server.connect}, **options) as hub:
        service = TransparentService(hub)
        case = Case(service, hub, {})
        async with case.client(front) as client:
            yield case, client
        await service.aclose()


def answers(behind: Era, **more: Any) -> ScriptedServer:
    """A scripted server of one era."""
    if behind is Era.MODERN:
        more = {"server/discover": MODERN, "initialize": None, **more}
    return ScriptedServer(**more)


@pytest.mark.fault("F7")
@pytest.mark.req("GW-6.8")
@pytest.mark.parametrize("front", ERAS)
@pytest.mark.parametrize("result", [5, [], "text", True])
async def test_a_result_that_is_no_object_is_an_error_at_once(front: Era, result: Any) -> None:
    async with scripted(ScriptedServer(**{"tools/call": lambda _: result}), front) as (_, client):
        error = await failure_of(client.call("echo"), UpstreamFailed)

    assert error.rpc_code == -32603
    assert error.rpc_data["error"] == "UPSTREAM_ERROR"
    assert error.rpc_data["details"] == {"method": "tools/call", "upstream": "files"}


@pytest.mark.fault("F7")
@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("front", ERAS)
@pytest.mark.parametrize(
    "result",
    [
        {"content": "no list", "isError": "perhaps"},
        {"structuredContent": [1, "against any schema"]},
        {},
        {"content": None},
        {"resultType": 5, "content": []},
    ],
)
async def test_a_result_of_a_strange_shape_passes_as_it_is(front: Era, result: dict[str, Any]) -> None:
    async with scripted(ScriptedServer(**{"tools/call": result}), front) as (_, client):
        seen = await client.call("echo")

    if front is Era.HANDSHAKE and "structuredContent" in result:
        # Clients of this era take an object only.
        result = {"structuredContent": {"result": result["structuredContent"]}}
    assert {name: seen.get(name) for name in result if name != "resultType"} == {
        name: value for name, value in result.items() if name != "resultType"
    }


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("front", ERAS)
@pytest.mark.parametrize("behind", ERAS)
async def test_any_result_passes_unchanged(front: Era, behind: Era) -> None:
    """Apart from what the era of the client asks for: `resultType`, `ttlMs`, `cacheScope`, and who answered."""
    sent: list[dict[str, Any]] = [{}]
    async with scripted(answers(behind, **{"tools/call": lambda _: sent[0]}), front) as (_, client):
        loop = asyncio.get_running_loop()

        @settings(max_examples=60, deadline=None, database=None)
        @given(result=RESULTS)
        def passes(result: dict[str, Any]) -> None:
            sent[0] = result
            seen = asyncio.run_coroutine_threadsafe(client.call("echo"), loop).result(10)

            assert {name: value for name, value in seen.items() if name not in ERA_MEMBERS} == result
            assert (ERA_MEMBERS & seen.keys() == {"resultType", "_meta"}) is (front is Era.MODERN)

        await asyncio.to_thread(passes)


@pytest.mark.req("GW-6.8")
@pytest.mark.parametrize("front", ERAS)
async def test_a_server_that_dies_in_a_call_is_told_apart_from_one_that_is_slow(front: Era) -> None:
    server = ScriptedServer(**{"tools/call": None})
    async with scripted(server, front) as (_, client):
        call = asyncio.create_task(client.call("echo"))
        await server.until_heard("tools/call")
        await server.die("It fell over.", stderr="Traceback of a secret")
        error = await failure_of(call, UpstreamFailed)

    assert error.rpc_code == -32000
    assert error.rpc_data["error"] == "UPSTREAM_UNAVAILABLE"
    assert error.rpc_data["details"]["sent"] is True
    assert "secret" not in str(error.rpc_data)


@pytest.mark.req("GW-6.8")
@pytest.mark.parametrize("front", ERAS)
async def test_a_server_that_is_silent_is_a_timeout(front: Era) -> None:
    clock = FakeClock()
    server = ScriptedServer(**{"tools/call": None})
    async with scripted(server, front, clock=clock) as (_, client):
        call = asyncio.create_task(client.call("echo"))
        await server.until_heard("tools/call")
        await clock.advance(60)
        error = await failure_of(call, UpstreamFailed)
        await server.until_heard("notifications/cancelled")

    assert error.rpc_code == -32001
    assert error.rpc_data["error"] == "UPSTREAM_TIMEOUT"
    assert error.rpc_data["details"] == {"method": "tools/call", "seconds": 60, "sent": True, "upstream": "files"}


@pytest.mark.req("GW-6.8")
async def test_an_answer_that_cannot_be_read_is_an_error_at_once() -> None:
    broken = Unreadable(reason="it is no JSON", excerpt="<html>", is_answer=True)
    async with scripted(ScriptedServer(**{"tools/call": broken}), Era.MODERN) as (_, client):
        error = await failure_of(client.call("echo"), UpstreamFailed)

    assert error.rpc_data["error"] == "UPSTREAM_ERROR"
    assert error.rpc_data["excerpt"] == "The server or program itself said: “<html>”"


@pytest.mark.fault("F17")
async def test_a_server_without_grants_has_no_capability_of_the_client() -> None:
    server = ScriptedServer(initialize=HANDSHAKE)
    async with scripted(server, Era.HANDSHAKE) as (_, client):
        await client.call("echo")
        await server.ask("sampling/createMessage")
        await server.until_heard("")

    assert server.params_of("initialize")["capabilities"] == {}
    assert server.params_of("")["error"]["code"] == -32601


async def test_nothing_but_the_call_is_asked_of_a_server_that_runs() -> None:
    server = ScriptedServer()
    async with scripted(server, Era.HANDSHAKE) as (_, client):
        await client.call("echo")
        before = len(server.heard)
        for number in range(20):
            await client.call("echo", arguments={"nonce": number})

    assert server.methods[before:] == ["tools/call"] * 20
