"""Which era a client speaks: decided once, by what it says first."""

from __future__ import annotations

import pytest
from front_raw_client import ENVELOPE, INITIALIZE, call, raw_client
from front_services import FixtureService, text

from toolcrib_mcp.upstreams.eras import META_CAPABILITIES, META_SERVER, META_VERSION, Era

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, UNSUPPORTED = -32600, -32601, -32602, -32022

pytestmark = pytest.mark.req("GW-6.2")


async def test_a_client_that_asks_for_discovery_may_still_shake_hands() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        discovered = await client.exchange(1, "server/discover", _meta=ENVELOPE)
        await client.shake_hands()
        answer = await client.exchange(2, "tools/call", **call("echo", nonce="n1"))

    assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
    assert answer["result"] == text("n1")
    assert service.requests[0].caller.era is Era.HANDSHAKE


async def test_a_client_of_an_unknown_version_is_told_which_are_served_and_may_shake_hands() -> None:
    async with raw_client(FixtureService()) as client:
        refused = await client.exchange(1, "server/discover", _meta={**ENVELOPE, META_VERSION: "2099-01-01"})
        opened = await client.exchange(2, "initialize", **INITIALIZE)

    assert refused["error"]["code"] == UNSUPPORTED
    assert refused["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}
    assert opened["result"]["protocolVersion"] == "2025-11-25"


async def test_what_discovery_says_may_not_be_kept_and_names_the_server() -> None:
    async with raw_client(FixtureService()) as client:
        discovered = await client.exchange(1, "server/discover", _meta=ENVELOPE)

    result = discovered["result"]
    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 0, "private")
    assert result["_meta"] == {META_SERVER: {"name": "fixture", "version": "1"}}
    assert result["instructions"] == "Ask nicely."


async def test_after_a_modern_request_there_is_no_handshake() -> None:
    async with raw_client(FixtureService()) as client:
        await client.exchange(1, "tools/list", _meta=ENVELOPE)
        handshake = await client.exchange(2, "initialize", **INITIALIZE)
        bare = await client.exchange(3, "tools/list")

    assert handshake["error"]["code"] == UNSUPPORTED
    assert handshake["error"]["data"]["supported"] == ["2026-07-28"]
    assert bare["error"]["code"] == INVALID_PARAMS


async def test_after_the_handshake_requests_do_not_say_their_version() -> None:
    async with raw_client(FixtureService()) as client:
        await client.shake_hands()
        refused = await client.exchange(1, "tools/list", _meta=ENVELOPE)

    assert refused["error"]["code"] == INVALID_REQUEST


async def test_a_handshake_that_says_a_version_in_its_meta_is_a_handshake() -> None:
    async with raw_client(FixtureService()) as client:
        opened = await client.exchange(1, "initialize", **INITIALIZE, _meta=ENVELOPE)

    assert opened["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    ("offered", "agreed"), [("2024-11-05", "2024-11-05"), ("2026-07-28", "2025-11-25"), ("x", "2025-11-25")]
)
async def test_the_handshake_agrees_on_what_was_offered_or_on_the_newest(offered: str, agreed: str) -> None:
    async with raw_client(FixtureService()) as client:
        opened = await client.exchange(1, "initialize", **{**INITIALIZE, "protocolVersion": offered})

    assert opened["result"]["protocolVersion"] == agreed


@pytest.mark.parametrize("missing", ["protocolVersion", "capabilities", "clientInfo"])
async def test_a_handshake_without_its_parts_is_refused_and_may_be_tried_again(missing: str) -> None:
    params = {name: value for name, value in INITIALIZE.items() if name != missing}

    async with raw_client(FixtureService()) as client:
        refused = await client.exchange(1, "initialize", **params)
        opened = await client.exchange(2, "initialize", **INITIALIZE)

    assert refused["error"]["code"] == INVALID_PARAMS
    assert "result" in opened


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("tools/list", INVALID_REQUEST),
        ("resources/subscribe", INVALID_REQUEST),
        ("server/discover", METHOD_NOT_FOUND),
        ("made/up", METHOD_NOT_FOUND),
    ],
)
async def test_before_the_handshake_nothing_but_ping_is_served(method: str, code: int) -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        refused = await client.exchange(1, method)
        pinged = await client.exchange(2, "ping")

    assert refused["error"]["code"] == code
    assert pinged["result"] == {}
    assert service.requests == []


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen", "made/up"])
async def test_a_method_of_the_other_era_is_unknown_after_the_handshake(method: str) -> None:
    async with raw_client(FixtureService()) as client:
        await client.shake_hands()
        refused = await client.exchange(1, method)

    assert refused["error"]["code"] == METHOD_NOT_FOUND


@pytest.mark.parametrize(
    "method", ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "made/up"]
)
async def test_a_method_of_the_other_era_is_unknown_to_a_modern_client(method: str) -> None:
    async with raw_client(FixtureService()) as client:
        refused = await client.exchange(1, method, _meta=ENVELOPE)

    assert refused["error"]["code"] == METHOD_NOT_FOUND


@pytest.mark.parametrize(
    "envelope",
    [
        {META_VERSION: "2026-07-28"},
        {META_VERSION: "2026-07-28", META_CAPABILITIES: []},
        {META_VERSION: 20260728, META_CAPABILITIES: {}},
    ],
)
async def test_an_envelope_that_lacks_something_is_refused_by_its_name(envelope: dict[str, object]) -> None:
    async with raw_client(FixtureService()) as client:
        refused = await client.exchange(1, "tools/list", _meta=envelope)

    assert refused["error"]["code"] == INVALID_PARAMS
    assert "io.modelcontextprotocol/" in refused["error"]["message"]


async def test_the_service_learns_who_asks() -> None:
    service = FixtureService()
    meta = {
        **ENVELOPE,
        META_CAPABILITIES: {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "m", "version": "1"},
        "io.modelcontextprotocol/logLevel": "error",
    }

    async with raw_client(service) as client:
        await client.exchange(1, "tools/list", _meta=meta)

    caller = service.requests[0].caller
    assert (caller.era, caller.protocol_version, caller.conversation) == (Era.MODERN, "2026-07-28", "stdio")
    assert (caller.capabilities, caller.info) == ({"elicitation": {}}, {"name": "m", "version": "1"})
    assert caller.log_level == "error"
    assert service.requests[0].meta == meta
