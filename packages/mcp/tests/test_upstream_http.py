"""Upstreams behind a URL: servers of the official SDK that are restarted, gone, or were never there."""

from __future__ import annotations

import asyncio
import gc
import socket
from typing import Any

import pytest
from process_children import until
from sdk_servers import ERAS, LOOPBACK, SdkServer, serving_sdk

from toolcrib_mcp.errors import UpstreamError, UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.rpc import Wire
from toolcrib_mcp.upstreams import Era, RestartRules, Upstream, UpstreamHooks, UpstreamSettings
from toolcrib_mcp.upstreams.http_wire import open_http_wire

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-6.2", "GW-6.4")]

SOON = RestartRules(first_delay=0.01, max_delay=0.05, max_failures=50)


def behind(url: str, era: Era | None = None, **options: Any) -> Upstream:
    async def connect() -> Wire:
        return await open_http_wire(url, headers={}, grant=LOOPBACK)

    return Upstream("web", connect, settings=UpstreamSettings(era=era, settle=0.01, restarts=SOON), **options)


async def echo(upstream: Upstream, nonce: str, tool: str = "echo") -> str:
    result = await upstream.call("tools/call", {"name": tool, "arguments": {"nonce": nonce}}, timeout=10)
    return result["content"][0]["text"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_that_was_restarted_while_nobody_asked_is_asked_as_before(era: Era) -> None:
    port = free_port()
    async with asyncio.timeout(30), behind(f"http://127.0.0.1:{port}/mcp", era) as upstream:
        async with serving_sdk(SdkServer().server, port=port):
            before = await echo(upstream, "n1")
        async with serving_sdk(SdkServer().server, port=port):
            after = [await echo(upstream, f"n{number}") for number in (2, 3)]

            assert (before, after) == ("n1", ["n2", "n3"])
            assert upstream.agreement.era is era


@pytest.mark.fault("F1")
async def test_a_server_that_is_not_there_is_unavailable_at_once_and_found_when_it_comes() -> None:
    port = free_port()
    async with asyncio.timeout(30), behind(f"http://127.0.0.1:{port}/mcp") as upstream:
        with pytest.raises(UpstreamUnavailable) as failed:
            await echo(upstream, "n1")
        async with serving_sdk(SdkServer().server, port=port):
            await until(lambda: upstream.state == "started")
            answer = await echo(upstream, "n2")

            assert failed.value.details["sent"] is False
            assert answer == "n2"


@pytest.mark.fault("F2")
@pytest.mark.parametrize(
    ("era", "error"),
    [(Era.HANDSHAKE, UpstreamUnavailable), (Era.MODERN, UpstreamFailed)],
    ids=["handshake: breaks off", "modern: answers 500 while it goes"],
)
async def test_a_server_that_goes_away_in_a_call_fails_it_once_and_cancels_nobody(
    era: Era, error: type[UpstreamError]
) -> None:
    port = free_port()
    async with asyncio.timeout(30), behind(f"http://127.0.0.1:{port}/mcp", era) as upstream:
        server = SdkServer()
        async with serving_sdk(server.server, port=port):
            calling = asyncio.create_task(echo(upstream, "n1", tool="hang"))
            await server.hanging.wait()

        with pytest.raises(error):
            await calling


@pytest.mark.req("GW-6.5")
async def test_a_server_of_the_handshake_era_that_tells_of_a_change_is_read_again() -> None:
    told: asyncio.Queue[int] = asyncio.Queue()
    hooks = UpstreamHooks(on_tools=lambda listing: told.put_nowait(len(listing.items)))
    async with (
        asyncio.timeout(30),
        serving_sdk(SdkServer().server) as url,
        behind(url, Era.HANDSHAKE, hooks=hooks) as upstream,
    ):
        await upstream.start()
        before = await told.get()

        await echo(upstream, "n1", tool="change")
        after = await told.get()

    assert (before, after) == (1, 1)


@pytest.mark.fault("F2")
async def test_many_callers_of_a_server_that_was_restarted_leave_no_connection_open() -> None:
    port = free_port()
    async with asyncio.timeout(30), behind(f"http://127.0.0.1:{port}/mcp", Era.HANDSHAKE) as upstream:
        async with serving_sdk(SdkServer().server, port=port):
            await asyncio.gather(*(echo(upstream, f"n{number}") for number in range(16)))
        async with serving_sdk(SdkServer().server, port=port):
            outcomes = await asyncio.gather(
                *(echo(upstream, f"m{number}") for number in range(16)), return_exceptions=True
            )
            after = await echo(upstream, "n2")
    # A connection that nobody closed is a warning, which is an error here.
    gc.collect()

    assert after == "n2"
    assert all(
        outcome == f"m{number}" or isinstance(outcome, UpstreamUnavailable) for number, outcome in enumerate(outcomes)
    )
