from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from scripted_servers import HANDSHAKE, MODERN, UNKNOWN, ScriptedServer

from toolcrib_mcp.errors import UpstreamMalformed, UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.rpc import Connection, RpcError, Unreadable
from toolcrib_mcp.upstreams import eras
from toolcrib_mcp.upstreams.eras import HANDSHAKE_VERSIONS, Agreement, ClientFace, Era, agree
from toolcrib_runtime.clock import SYSTEM_CLOCK

pytestmark = pytest.mark.req("GW-6.2")

VERSION = "io.modelcontextprotocol/protocolVersion"
UNSUPPORTED = -32022


@asynccontextmanager
async def connected(server: ScriptedServer) -> AsyncIterator[Connection]:
    wire = await server.connect()
    connection = Connection(wire)
    running = asyncio.create_task(connection.run())
    try:
        yield connection
    finally:
        await wire.aclose()
        await running


async def agreed(server: ScriptedServer, *, era: Era | None = None, seconds: float = 5.0) -> Agreement:
    async with connected(server) as connection:
        face = ClientFace(capabilities={"roots": {}})
        return await agree(connection, face=face, deadline=SYSTEM_CLOCK.monotonic() + seconds, era=era)


def script(discover: object, initialize: object = HANDSHAKE) -> ScriptedServer:
    return ScriptedServer(**{"server/discover": discover, "initialize": initialize})


async def test_a_server_that_can_be_discovered_is_modern() -> None:
    server = script(MODERN)

    agreement = await agreed(server)

    assert agreement == Agreement(
        era=Era.MODERN,
        protocol_version="2026-07-28",
        capabilities={"tools": {}},
        server_info={"name": "scripted", "version": "2"},
        instructions="Ask nicely.",
    )
    assert server.methods == ["server/discover"]


async def test_the_probe_says_what_every_modern_request_says() -> None:
    server = script(MODERN)

    await agreed(server)

    assert server.params_of("server/discover")["_meta"] == {
        VERSION: "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "toolcrib", "version": "0.1.0"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    }


async def test_a_server_that_does_not_know_the_probe_is_shaken_hands_with() -> None:
    server = script(UNKNOWN)

    agreement = await agreed(server)

    assert agreement == Agreement(
        era=Era.HANDSHAKE,
        protocol_version="2025-11-25",
        capabilities={"tools": {"listChanged": True}},
        server_info={"name": "scripted", "version": "1"},
        instructions="Ask nicely.",
    )
    await server.until_heard("notifications/initialized")
    assert server.methods == ["server/discover", "initialize", "notifications/initialized"]
    assert server.params_of("initialize") == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "toolcrib", "version": "0.1.0"},
    }


@pytest.mark.parametrize(
    "discover",
    [
        RpcError(-32600, "Before initialize"),
        RpcError(0, "boom"),
        RpcError(UNSUPPORTED, "No", {"supported": ["2025-06-18"]}),
        RpcError(UNSUPPORTED, "No", {"supported": "all of them"}),
        RpcError(UNSUPPORTED, "No"),
        {},
        {**MODERN, "supportedVersions": ["2025-11-25"]},
        {**MODERN, "capabilities": None},
        Unreadable(reason="it is not JSON", excerpt="Unknown method!"),
    ],
    ids=str,
)
async def test_nothing_but_the_word_of_a_modern_server_makes_it_modern(discover: object) -> None:
    agreement = await agreed(script(discover))

    assert agreement.era is Era.HANDSHAKE


async def test_a_server_that_keeps_silent_about_the_probe_is_shaken_hands_with() -> None:
    agreement = await agreed(script(None), seconds=1.0)

    assert agreement.era is Era.HANDSHAKE


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
async def test_every_version_of_the_handshake_era_is_taken(version: str) -> None:
    agreement = await agreed(script(UNKNOWN, {"protocolVersion": version}))

    assert agreement == Agreement(era=Era.HANDSHAKE, protocol_version=version, capabilities={})


@pytest.mark.fault("F1")
async def test_a_version_that_is_not_known_is_named_together_with_ours() -> None:
    with pytest.raises(UpstreamUnavailable) as refused:
        await agreed(script(UNKNOWN, {**HANDSHAKE, "protocolVersion": "2031-01-01"}))

    assert "`2031-01-01`" in refused.value.message
    assert "`2025-11-25`" in refused.value.message
    assert not refused.value.retryable


async def test_a_modern_server_without_a_common_version_is_not_asked_for_a_handshake() -> None:
    server = script(RpcError(UNSUPPORTED, "No", {"supported": ["2031-01-01"]}))

    with pytest.raises(UpstreamUnavailable, match="`2031-01-01`"):
        await agreed(server)

    assert server.methods == ["server/discover"]


async def test_a_modern_server_that_names_a_common_version_is_probed_once_more() -> None:
    answers = iter([RpcError(UNSUPPORTED, "Not that one", {"supported": ["2026-07-28"]}), MODERN])
    server = ScriptedServer(**{"server/discover": lambda _: next(answers)})

    agreement = await agreed(server)

    assert agreement.era is Era.MODERN
    assert server.methods == ["server/discover", "server/discover"]


async def test_a_server_that_keeps_naming_a_version_and_refusing_it_is_given_up() -> None:
    server = script(RpcError(UNSUPPORTED, "Not that one", {"supported": ["2026-07-28"]}))

    with pytest.raises(UpstreamUnavailable):
        await agreed(server)

    assert server.methods == ["server/discover", "server/discover"]


async def test_a_slow_starter_that_has_become_modern_meanwhile_is_probed_once_more() -> None:
    answers = iter([UNKNOWN, MODERN])
    late = RpcError(UNSUPPORTED, "This connection is modern", {"supported": ["2026-07-28"]})
    server = ScriptedServer(**{"server/discover": lambda _: next(answers), "initialize": late})

    agreement = await agreed(server)

    assert agreement.era is Era.MODERN


@pytest.mark.req("CL-10", "GW-6.2")
async def test_a_slow_starter_speaks_the_era_that_it_speaks_when_it_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eras, "_PROBE_SECONDS", 0.01)
    has_started = asyncio.Event()

    async def discover() -> dict[str, object]:
        await has_started.wait()
        return MODERN

    async def initialize() -> dict[str, object]:
        has_started.set()
        await asyncio.Event().wait()  # it answers in order, and discovery came first
        return HANDSHAKE

    server = ScriptedServer(**{"server/discover": lambda _: discover(), "initialize": lambda _: initialize()})

    agreement = await agreed(server)

    assert agreement.era is Era.MODERN
    assert server.methods == ["server/discover", "initialize"]


async def test_a_slow_starter_of_the_handshake_era_is_shaken_hands_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eras, "_PROBE_SECONDS", 0.01)
    server = script(None)

    agreement = await agreed(server)

    assert agreement.era is Era.HANDSHAKE
    assert server.methods[:2] == ["server/discover", "initialize"]


@pytest.mark.fault("F1")
async def test_a_server_that_refuses_both_is_unavailable_in_its_own_words() -> None:
    with pytest.raises(UpstreamUnavailable) as refused:
        await agreed(script(UNKNOWN, RpcError(-32000, "no license found")))

    assert "`no license found`" in refused.value.message
    assert refused.value.details == {"rpcCode": -32000}


async def test_a_server_that_goes_back_and_forth_between_the_eras_is_given_up() -> None:
    late = RpcError(UNSUPPORTED, "This connection is modern", {"supported": ["2026-07-28"]})

    with pytest.raises(UpstreamUnavailable):
        await agreed(script(UNKNOWN, late))


@pytest.mark.fault("F1")
async def test_a_server_that_answers_nothing_is_given_up_in_time() -> None:
    async with asyncio.timeout(5):
        with pytest.raises(UpstreamTimeout):
            await agreed(script(None, None), seconds=0.2)


async def test_an_answer_to_the_handshake_without_a_version_is_none() -> None:
    with pytest.raises(UpstreamMalformed):
        await agreed(script(UNKNOWN, {"version": "2025-11-25"}))


async def test_a_server_that_is_known_to_shake_hands_is_not_probed() -> None:
    server = script(UNKNOWN)

    agreement = await agreed(server, era=Era.HANDSHAKE)

    assert agreement.era is Era.HANDSHAKE
    assert "server/discover" not in server.methods


async def test_a_server_that_no_longer_shakes_hands_is_probed_after_all() -> None:
    server = script(MODERN, UNKNOWN)

    agreement = await agreed(server, era=Era.HANDSHAKE)

    assert agreement.era is Era.MODERN


async def test_a_server_that_calls_itself_nothing_readable_is_taken_without_a_name() -> None:
    agreement = await agreed(script({**MODERN, "_meta": None, "instructions": 7}))

    assert agreement.server_info == {}
    assert agreement.instructions is None
