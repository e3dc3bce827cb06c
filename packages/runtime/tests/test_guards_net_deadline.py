"""One deadline for the whole exchange, wherever the other side is slow."""

from __future__ import annotations

import asyncio
import gzip
import time

import pytest
from loopback import FakeResolver, answer, endlessly, serving, silence, then_silence

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import DeadlineExceeded
from toolcrib_runtime.guards.net.client import FetchLimits, GuardedClient
from toolcrib_runtime.guards.net.grant import NetGrant

LOCAL = NetGrant(allow_loopback=True, allow_http=True)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.fault("E7")
@pytest.mark.enable_socket
@pytest.mark.parametrize(
    "slow",
    [
        pytest.param(silence, id="no answer"),
        pytest.param(then_silence(b"HTTP/1.1 200"), id="half a status line"),
        pytest.param(endlessly(b"HTTP/1.1 200 OK\r\n", b"X", every=0.01), id="slow headers"),
        pytest.param(endlessly(b"", b"HTTP/1.1 100 Continue\r\n\r\n", every=0.01), id="only interim answers"),
        pytest.param(endlessly(answer(length=10**6), b"x", every=0.01), id="a byte at a time"),
        pytest.param(endlessly(CHUNKED, b"1\r\nx\r\n", every=0.01), id="never-ending chunks"),
        pytest.param(then_silence(answer(body=b"short", length=99)), id="lying length"),
        pytest.param(then_silence(CHUNKED + b"ffff\r\nx"), id="half a chunk"),
        pytest.param(
            then_silence(answer("200 OK", "Content-Encoding: gzip", body=gzip.compress(b"x")[:9], length=99)),
            id="half a gzip body",
        ),
    ],
)
async def test_a_slow_server_is_left_at_the_deadline_and_the_next_call_succeeds(slow):
    async with serving(slow, answer(body=b"good")) as server, GuardedClient(LOCAL) as client:
        started = time.monotonic()

        with pytest.raises(DeadlineExceeded) as raised:
            await client.fetch("GET", server.url("/?key=hunter2"), seconds=0.2)

        assert 0.2 <= time.monotonic() - started < 5
        assert raised.value.category is ToolErrorCategory.TIMEOUT
        assert raised.value.details == {"sent": True, "redirects": 0}
        assert "hunter2" not in str(raised.value.to_dict())
        assert (await client.fetch("GET", server.url())).body == b"good"


@pytest.mark.fault("E7")
@pytest.mark.enable_socket
async def test_redirects_share_the_deadline_of_the_first_request():
    async with serving(answer("302 Found", "Location: /slow"), silence) as server, GuardedClient(LOCAL) as client:
        with pytest.raises(DeadlineExceeded) as raised:
            await client.fetch("GET", server.url(), seconds=0.2)

    assert raised.value.details == {"sent": True, "redirects": 1}


@pytest.mark.fault("E7")
async def test_a_name_that_is_slow_to_resolve_is_left_at_the_deadline():
    async def resolver(host, port):
        return await asyncio.Event().wait()

    async with GuardedClient(LOCAL, resolver=resolver) as client:
        with pytest.raises(DeadlineExceeded) as raised:
            await client.fetch("GET", "https://slow.example/", seconds=0.05)

    assert raised.value.details == {"sent": False, "redirects": 0}


@pytest.mark.fault("E7")
@pytest.mark.enable_socket
async def test_a_server_that_does_not_read_is_left_at_the_deadline():
    async def deaf(reader, writer):
        await stop.wait()
        writer.close()

    stop = asyncio.Event()
    server = await asyncio.start_server(deaf, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    async with GuardedClient(LOCAL) as client:
        with pytest.raises(DeadlineExceeded):
            await client.fetch("POST", url, content=bytes(50_000_000), seconds=0.3)

    stop.set()
    server.close()
    await server.wait_closed()


@pytest.mark.fault("E7")
@pytest.mark.enable_socket
async def test_a_server_that_does_not_greet_in_tls_is_left_at_the_deadline():
    async with serving(silence) as server, GuardedClient(LOCAL) as client:
        with pytest.raises(DeadlineExceeded) as raised:
            await client.fetch("GET", server.url(scheme="https"), seconds=0.2)

    assert raised.value.details == {"sent": False, "redirects": 0}


@pytest.mark.parametrize("late", [{"seconds": 0}, {"seconds": -1}, {"deadline": 0.0}])
async def test_without_any_time_left_not_even_the_name_is_resolved(late):
    resolver = FakeResolver({})

    async with GuardedClient(LOCAL, resolver=resolver) as client:
        with pytest.raises(DeadlineExceeded):
            await client.fetch("GET", "https://example.com/", **late)

    assert resolver.asked == []


@pytest.mark.enable_socket
@pytest.mark.parametrize("bound", ["limits", "seconds", "deadline"])
async def test_the_earliest_of_all_bounds_counts(bound):
    limits = FetchLimits(seconds=0.1 if bound == "limits" else 60)
    asked = {
        "limits": {},
        "seconds": {"seconds": 0.1, "deadline": time.monotonic() + 60},
        "deadline": {"seconds": 60, "deadline": time.monotonic() + 0.1},
    }[bound]

    async with serving(silence) as server, GuardedClient(LOCAL, limits=limits) as client:
        async with asyncio.timeout(10):
            with pytest.raises(DeadlineExceeded):
                await client.fetch("GET", server.url(), **asked)
