"""Log messages of servers: in the words of the client's era, at the level that it wants, and only where granted."""

from __future__ import annotations

import pytest
from relay_cases import META_LEVEL, PAIRS, Client, transparent
from relay_servers import RelayServer

from toolcrib_mcp.upstreams.eras import Era

LOGGED = "notifications/message"


async def log(client: Client, front: Era, level: str | None) -> list[str]:
    """The levels of the messages that a call brings, when the client has asked for this one."""
    if front is Era.HANDSHAKE:
        if level is not None:
            await client.ask("logging/setLevel", {"level": level})
        await client.call("log")
    else:
        await client.call("log", **({} if level is None else {"_meta": {META_LEVEL: level}}))
    # The connection hands on notifications in order, after the answer as well.
    await client.ask("tools/list")
    return [params["level"] for method, params in client.told if method == LOGGED]


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("solo", [True, False])
@pytest.mark.parametrize(("front", "behind"), PAIRS)
async def test_messages_come_from_the_level_that_the_client_named(front: Era, behind: Era, *, solo: bool) -> None:
    server = RelayServer(era=behind)

    async with (
        transparent(server, solo=solo, grants=() if solo else ("logging",)) as case,
        case.client(front) as client,
    ):
        levels = await log(client, front, "warning")

    assert levels == ["warning"]
    assert server.levels == (["warning"] if behind is Era.HANDSHAKE else [])
    meta = server.params_of("tools/call").get("_meta", {})
    assert meta.get(META_LEVEL) == ("warning" if behind is Era.MODERN else None)


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize(("front", "behind"), PAIRS)
async def test_a_client_that_named_no_level_gets_what_its_era_says(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind), solo=True) as case, case.client(front) as client:
        levels = await log(client, front, None)

    # A modern client is told nothing unasked; one of the handshake era takes what comes.
    assert levels == (["debug", "warning"] if front is Era.HANDSHAKE else [])


@pytest.mark.parametrize(("front", "behind"), PAIRS)
async def test_without_a_grant_nothing_is_told_among_several_clients(front: Era, behind: Era) -> None:
    server = RelayServer(era=behind)

    async with transparent(server) as case, case.client(front) as client:
        levels = await log(client, front, "debug")
        capabilities = client.session.agreement.capabilities

    assert levels == []
    assert server.levels == []
    assert "logging" not in capabilities


async def test_the_grant_to_ask_is_none_to_log() -> None:
    async with (
        transparent(RelayServer(era=Era.HANDSHAKE), grants=("roots",)) as case,
        case.client(Era.HANDSHAKE, capabilities={"roots": {}}) as client,
    ):
        levels = await log(client, Era.HANDSHAKE, "debug")

    assert levels == []


async def test_a_handshake_server_is_told_a_level_once() -> None:
    server = RelayServer(era=Era.HANDSHAKE)

    async with transparent(server, grants=("logging",)) as case, case.client(Era.HANDSHAKE) as client:
        for level in ("warning", "warning", "debug"):
            await log(client, Era.HANDSHAKE, level)

    assert server.levels == ["warning", "debug"]


async def test_a_level_that_a_server_refuses_does_not_stop_the_call() -> None:
    server = RelayServer(era=Era.HANDSHAKE)
    server.refuses_levels = True

    async with transparent(server, solo=True) as case, case.client(Era.HANDSHAKE) as client:
        levels = await log(client, Era.HANDSHAKE, "debug")

    assert levels == ["debug", "warning"]
