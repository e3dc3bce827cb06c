from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_servers import MODERN, ScriptedServer

from toolcrib_mcp.rpc import Connection, RpcError
from toolcrib_mcp.upstreams.eras import ClientFace, Era
from toolcrib_mcp.upstreams.relaying import only_granted
from toolcrib_mcp.upstreams.session import Session, open_session
from toolcrib_runtime.clock import SYSTEM_CLOCK

STAMP = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "toolcrib", "version": "0.1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
STRANGER = {"io.modelcontextprotocol/clientInfo": {"name": "somebody", "version": "9"}, "trace": "t1"}


async def asked(server: ScriptedServer, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
    wire = await server.connect()
    connection = Connection(wire)
    running = asyncio.create_task(connection.run())
    try:
        session: Session = await open_session(
            connection, face=ClientFace(), deadline=SYSTEM_CLOCK.monotonic() + 5, era=Era.HANDSHAKE
        )
        await session.notify("notifications/told", params)
        return await session.request(method, params, timeout=5)
    finally:
        await wire.aclose()
        await running


def modern() -> ScriptedServer:
    return ScriptedServer(**{"server/discover": MODERN, "initialize": RpcError(-32601, "Method not found")})


@pytest.mark.req("GW-6.2")
async def test_every_modern_request_says_who_asks_and_in_which_version() -> None:
    server = modern()

    await asked(server, "tools/call", {"name": "echo", "_meta": STRANGER})

    assert server.params_of("tools/call") == {"name": "echo", "_meta": {"trace": "t1", **STAMP}}
    assert server.params_of("notifications/told")["_meta"] == {"trace": "t1", **STAMP}


@pytest.mark.req("GW-6.2")
async def test_a_modern_request_without_params_is_stamped_too() -> None:
    server = modern()

    await asked(server, "tools/list", None)

    assert server.params_of("tools/list") == {"_meta": STAMP}


@pytest.mark.req("GW-6.2")
async def test_a_request_of_the_handshake_era_goes_out_as_it_is() -> None:
    server = ScriptedServer()

    await asked(server, "tools/call", {"name": "echo", "_meta": {"trace": "t1"}})

    assert server.params_of("tools/call") == {"name": "echo", "_meta": {"trace": "t1"}}


@pytest.mark.req("GW-6.2")
async def test_an_older_server_is_not_told_who_the_client_behind_us_is() -> None:
    server = ScriptedServer()

    await asked(server, "tools/call", {"name": "echo", "_meta": STRANGER})

    assert server.params_of("tools/call") == {"name": "echo", "_meta": {"trace": "t1"}}


@pytest.mark.req("GW-6.6")
async def test_a_result_comes_back_as_it_came() -> None:
    result = {"content": [{"type": "hologram", "x": [1, None]}], "_meta": {"a": 1}, "unheardOf": {"b": 2}}

    answer = await asked(ScriptedServer(**{"tools/call": result}), "tools/call", {"name": "echo"})

    assert answer == result


@pytest.mark.fault("F17")
@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list", "no/such"])
async def test_what_was_not_announced_is_refused(method: str) -> None:
    async def answer(_method: str, _params: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("a server got through")

    granted = {"sampling/createMessage": "elicitation", "elicitation/create": "roots"}.get(method, "sampling")

    with pytest.raises(RpcError) as refused:
        await only_granted(ClientFace(capabilities={granted: {}}), answer)(method, {})

    assert refused.value.code == -32601


@pytest.mark.fault("F17")
async def test_what_was_announced_is_handed_on() -> None:
    async def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"method": method, **params}

    handed_on = await only_granted(ClientFace(capabilities={"roots": {}}), answer)("roots/list", {"a": 1})

    assert handed_on == {"method": "roots/list", "a": 1}


@pytest.mark.fault("F17")
async def test_without_anybody_to_ask_everything_is_refused() -> None:
    with pytest.raises(RpcError):
        await only_granted(ClientFace(capabilities={"roots": {}}), None)("roots/list", {})
