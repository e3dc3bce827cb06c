"""Modern callers have no conversation: those that offer the same share a server, or take turns with it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hub_cases import ABLE, CALL, ECHOED, caller, config_file, eventually, granted, program
from process_children import alive, nothing_left
from scripted_servers import MODERN, UNKNOWN, ScriptedServer

from toolcrib_mcp.errors import UpstreamBusy, UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.front import Caller
from toolcrib_mcp.hub import Hub, HubLimits
from toolcrib_mcp.upstreams import Era


def modern_server(**answers: Any) -> ScriptedServer:
    return ScriptedServer(**{"server/discover": MODERN, "initialize": UNKNOWN, **answers})


async def test_modern_callers_share_a_modern_server_whatever_they_offer() -> None:
    server = modern_server()
    one, other = caller(Era.MODERN, capabilities=ABLE), caller(Era.MODERN, capabilities={"elicitation": {"url": {}}})

    async with (
        granted(server, "elicitation") as hub,
        hub.lease("files", one) as first,
        hub.lease("files", other) as second,
    ):
        pass

    assert first is second is hub.shared("files")


async def test_modern_callers_have_a_server_of_the_handshake_era_one_after_the_other() -> None:
    server, client = ScriptedServer(), caller(Era.MODERN, capabilities=ABLE)

    async with granted(server, "elicitation") as hub:
        async with hub.lease("files", client) as first, hub.lease("files", client) as second:
            await first.call("tools/call", CALL)
        async with hub.lease("files", client) as third:
            pass

    assert first is not second
    assert third in (first, second)


async def test_modern_callers_that_want_log_messages_have_a_server_for_themselves() -> None:
    server, heard = modern_server(), asyncio.Event()
    client = caller(Era.MODERN, log_level="info")

    async def hear(method: str, params: dict[str, Any]) -> None:
        heard.set()

    async with granted(server, "logging") as hub:
        async with (
            hub.lease("files", client, on_notification=hear) as first,
            hub.lease("files", client) as second,
            asyncio.timeout(5),
        ):
            await first.call("tools/call", CALL)
            await server.tell("notifications/message", level="info", data="x")
            await heard.wait()
        async with hub.lease("files", caller(Era.MODERN)) as silent:
            pass

    assert first is not second
    assert silent is hub.shared("files")


@pytest.mark.parametrize("failure", [UpstreamUnavailable("gone"), asyncio.CancelledError()])
async def test_a_server_whose_request_was_broken_off_is_no_other_clients(failure: BaseException) -> None:
    client = caller(Era.MODERN, capabilities=ABLE)

    async with granted(ScriptedServer(), "elicitation") as hub:
        with pytest.raises(type(failure)):
            async with hub.lease("files", client) as first:
                raise failure
        async with hub.lease("files", client) as second:
            pass

    assert first is not second


async def test_a_server_that_answered_with_an_error_is_used_again() -> None:
    client = caller(Era.MODERN, capabilities=ABLE)

    async with granted(ScriptedServer(**{"tools/call": UNKNOWN}), "elicitation") as hub:
        with pytest.raises(UpstreamFailed):
            async with hub.lease("files", client) as first:
                await first.call("tools/call", CALL)
        async with hub.lease("files", client) as second:
            pass

    assert first is second


async def test_callers_wait_when_a_server_runs_for_enough_of_them() -> None:
    client = caller(Era.MODERN, capabilities=ABLE)

    async with granted(ScriptedServer(), "elicitation", limits=HubLimits(max_exclusive=1)) as hub:
        async with hub.lease("files", client) as first:
            with pytest.raises(UpstreamBusy, match="none of them ended"):
                async with hub.lease("files", client, timeout=0):
                    pass
        async with hub.lease("files", client) as second:
            pass

    assert first is second


async def test_a_server_kept_for_the_next_caller_makes_room_for_a_conversation() -> None:
    server = ScriptedServer()

    async with granted(server, "elicitation", limits=HubLimits(max_private=1)) as hub:
        async with hub.lease("files", caller(Era.MODERN, capabilities=ABLE)) as spare:
            await spare.call("tools/call", CALL)
        async with hub.lease("files", caller(capabilities=ABLE)) as upstream:
            result = await upstream.call("tools/call", CALL)

    assert result == ECHOED
    assert spare.agreement is None


@pytest.mark.req("GW-6.4")
async def test_nothing_is_left_of_a_server_whose_request_was_broken_off_as_the_hub_closed(tmp_path: Path) -> None:
    async with nothing_left() as family:
        config = config_file(tmp_path, {"files": program(family)}, servers={"files": {"grants": ["logging"]}})
        async with Hub(config) as hub:
            calling = asyncio.create_task(_hold(hub, caller(Era.MODERN, log_level="info")))
            await eventually(lambda: hub.status().totals.private == 1)
            calling.cancel()
            await asyncio.wait([calling])
        left = alive(family)

    assert left == set()


async def _hold(hub: Hub, client: Caller) -> None:
    async with hub.lease("files", client) as upstream:
        await upstream.agreed(timeout=10)
        await asyncio.Event().wait()
