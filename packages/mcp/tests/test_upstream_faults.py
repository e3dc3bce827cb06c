from __future__ import annotations

import asyncio
from typing import Any

import pytest
from process_children import until
from scripted_servers import ScriptedServer

from toolcrib_core import ToolErrorCategory
from toolcrib_mcp.errors import UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.rpc import WireClosed
from toolcrib_mcp.upstreams import (
    RestartRules,
    Upstream,
    UpstreamSettings,
    UpstreamState,
)
from toolcrib_runtime.guards.secrets import Scrubber, Secret

CALL = {"name": "echo", "arguments": {"nonce": "n1"}}


def upstream(server: ScriptedServer, **options: Any) -> Upstream:
    return Upstream("files", server.connect, **options)


@pytest.mark.req("GW-6.7")
@pytest.mark.fault("F3")
async def test_a_call_ends_with_its_own_deadline_and_the_server_is_told() -> None:
    server = ScriptedServer(**{"tools/call": None})

    async with upstream(server) as files:
        with pytest.raises(UpstreamTimeout) as late:
            await files.call("tools/call", CALL, timeout=0.1)
        await server.until_heard("notifications/cancelled")

        assert late.value.details["upstream"] == "files"
        assert files.state is UpstreamState.STARTED


@pytest.mark.req("GW-6.7")
async def test_a_call_without_a_timeout_has_that_of_the_settings() -> None:
    server = ScriptedServer(**{"tools/call": None})

    async with upstream(server, settings=UpstreamSettings(call_timeout=0.1)) as files:
        with pytest.raises(UpstreamTimeout):
            await files.call("tools/call", CALL)


@pytest.mark.req("GW-6.7")
@pytest.mark.fault("F1")
async def test_a_server_that_never_opens_is_unavailable_in_time_and_nothing_was_sent() -> None:
    async def never() -> Any:
        await asyncio.Event().wait()

    async with Upstream("files", never) as files:
        async with asyncio.timeout(5):
            with pytest.raises(UpstreamUnavailable) as late:
                await files.call("tools/call", CALL, timeout=0.1)

    assert late.value.details == {"upstream": "files", "sent": False}


@pytest.mark.fault("F1")
async def test_a_start_has_a_deadline_of_its_own() -> None:
    server = ScriptedServer(initialize=None)

    async with upstream(server, settings=UpstreamSettings(start_timeout=0.2)) as files:
        async with asyncio.timeout(5):
            with pytest.raises(UpstreamUnavailable, match=r"did not answer `initialize` within 0\.2 s") as failed:
                await files.call("tools/call", CALL, timeout=60)

    assert failed.value.details["sent"] is False


@pytest.mark.fault("F1")
async def test_a_start_that_takes_too_long_tells_what_the_server_wrote_meanwhile() -> None:
    server = ScriptedServer(**{"initialize": None, "server/discover": None})
    server.last_words = WireClosed("It was closed.", stderr="waiting for the database")

    async with upstream(server, settings=UpstreamSettings(start_timeout=0.2)) as files:
        with pytest.raises(UpstreamUnavailable) as failed:
            await files.call("tools/call", CALL)

    assert failed.value.details["stderr"] == "waiting for the database"


@pytest.mark.fault("F1")
async def test_a_wire_that_never_opens_is_given_up_with_the_start() -> None:
    async def never() -> Any:
        await asyncio.Event().wait()

    async with Upstream("files", never, settings=UpstreamSettings(start_timeout=0.1)) as files:
        with pytest.raises(UpstreamUnavailable, match=r"could not be reached within .*startTimeout"):
            await files.call("tools/call", CALL)


async def test_a_wire_that_takes_nothing_any_more_is_replaced_though_it_has_not_ended() -> None:
    server = ScriptedServer()
    async with upstream(server, settings=UpstreamSettings(restarts=RestartRules(first_delay=0.01))) as files:
        await files.start()
        wire = files._host.link.wire

        async def deaf(_message: Any) -> None:
            raise WireClosed("It closed its standard input.")

        wire.send = deaf
        async with asyncio.timeout(10):
            result = await files.call("tools/call", CALL)

        assert result == {"echo": {"nonce": "n1"}}
        assert server.lives == 2


async def test_a_fault_in_a_wire_ends_its_link_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    server = ScriptedServer()
    async with upstream(server, settings=UpstreamSettings(restarts=RestartRules(first_delay=0.01))) as files:
        await files.start()

        async def broken() -> Any:
            raise RuntimeError("a fault of ours")

        files._host.link.wire.receive = broken
        await server.tell("notifications/message")
        await until(lambda: files.health().failures == 1)

        assert await files.call("tools/call", CALL) == {"echo": {"nonce": "n1"}}
    assert "a fault of ours" in caplog.text


@pytest.mark.fault("F1")
async def test_a_fault_in_opening_is_told_to_the_caller_without_secrets() -> None:
    async def broken() -> Any:
        raise RuntimeError("token hunter2hunter2 refused")

    async with Upstream("files", broken, scrubber=Scrubber([Secret("hunter2hunter2")])) as files:
        with pytest.raises(UpstreamUnavailable) as failed:
            await files.call("tools/call", CALL)

        assert "hunter2" not in str(failed.value)
        assert "hunter2" not in str(files.health().to_json())
    assert failed.value.category is ToolErrorCategory.UNAVAILABLE
