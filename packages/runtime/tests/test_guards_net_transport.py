"""The guarded transport under somebody else's client: every request is judged, and answers may stream."""

from __future__ import annotations

import asyncio
import gzip

import httpx2
import pytest
from loopback import FakeResolver, answer, endlessly, header_of, serving, silence

from toolcrib_runtime.errors import BlockedAddress, InvalidRequest, InvalidUrl, MalformedOutput
from toolcrib_runtime.guards.net.client import GuardedClient
from toolcrib_runtime.guards.net.grant import NetGrant
from toolcrib_runtime.guards.net.transport import MAX_CONNECTIONS, guarded_transport

LOCAL = NetGrant(allow_loopback=True, allow_http=True)


def streaming_client(resolver: FakeResolver | None = None, **options: object) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=guarded_transport(LOCAL, resolver=resolver), trust_env=False, **options)


@pytest.mark.enable_socket
async def test_an_answer_streams_as_it_comes():
    event = b"data: one\n\n"
    stream = endlessly(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", event, every=0.01)

    async with (
        asyncio.timeout(5),
        serving(stream) as server,
        streaming_client() as client,
        client.stream("GET", server.url()) as response,
    ):
        lines = aiter(response.aiter_lines())
        first = [await anext(lines) for _ in range(3)]

    assert first == ["data: one", "", "data: one"]


@pytest.mark.enable_socket
async def test_gzip_is_unpacked_once():
    reply = answer("200 OK", "Content-Encoding: gzip", body=gzip.compress(b"plain"))

    async with serving(reply) as server, streaming_client() as client:
        response = await client.get(server.url(), headers={"Accept-Encoding": "br"})

    assert response.content == b"plain"
    assert header_of(server.requests[0], "Accept-Encoding") == "gzip, identity"


@pytest.mark.fault("E8")
@pytest.mark.enable_socket
async def test_other_encodings_are_refused():
    reply = answer("200 OK", "Content-Encoding: deflate", body=b"x")

    async with serving(reply) as server, streaming_client() as client:
        with pytest.raises(MalformedOutput):
            await client.get(server.url())


@pytest.mark.enable_socket
async def test_refused_answers_leave_no_connection_behind():
    refused = [answer("200 OK", "Content-Encoding: br", body=b"x")] * (MAX_CONNECTIONS + 1)

    async with serving(*refused, answer()) as server, streaming_client(timeout=5) as client:
        for _ in refused:
            with pytest.raises(MalformedOutput):
                await client.get(server.url())

        assert (await client.get(server.url())).status_code == 200


@pytest.mark.fault("E1", "E3", "E6")
@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://10.0.0.1/", BlockedAddress),
        ("http://169.254.169.254/", BlockedAddress),
        ("http://private.example/", BlockedAddress),
        ("http://2130706433/", InvalidUrl),
        ("http://user:password@example.com/", InvalidUrl),
        ("http://example.com:0/", InvalidUrl),
    ],
)
async def test_a_forbidden_request_is_not_sent(url, error):
    async with streaming_client(FakeResolver({"private.example": [["10.0.0.1"]]})) as client:
        with pytest.raises(error):
            await client.get(url)


@pytest.mark.fault("E5")
@pytest.mark.enable_socket
async def test_a_redirect_that_the_client_follows_is_judged_as_well():
    reply = answer("302 Found", "Location: http://169.254.169.254/")

    async with serving(reply) as server, streaming_client(follow_redirects=True) as client:
        with pytest.raises(BlockedAddress):
            await client.get(server.url())


@pytest.mark.fault("C8")
@pytest.mark.enable_socket
@pytest.mark.parametrize("headers", [{"Host": "other.example"}, {"X-A": "1\r\nX-B: 2"}])
async def test_a_header_that_reaches_round_the_grant_is_refused(headers):
    async with serving(answer()) as server, streaming_client() as client:
        with pytest.raises(InvalidRequest):
            await client.get(server.url(), headers=headers)

    assert server.connections == 0


@pytest.mark.enable_socket
async def test_extensions_that_reach_round_the_grant_have_no_effect():
    async with serving(answer()) as server, streaming_client() as client:
        await client.get(server.url("/asked"), extensions={"target": b"/other", "sni_hostname": "other.example"})

    assert server.requests[0].startswith(b"GET /asked HTTP/1.1")


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (silence, httpx2.ReadTimeout),
        (b"", httpx2.RemoteProtocolError),
        (b"nonsense\r\n\r\n", httpx2.RemoteProtocolError),
        (answer(length=9), httpx2.RemoteProtocolError),
    ],
)
async def test_failures_are_those_that_users_of_httpx_know(reply, error):
    async with serving(reply) as server, streaming_client(timeout=0.2) as client:
        with pytest.raises(error):
            await client.get(server.url())


@pytest.mark.enable_socket
async def test_no_connection_is_the_error_that_users_of_httpx_know():
    async with serving(answer()) as server:
        gone = server.url()

    async with streaming_client() as client:
        with pytest.raises(httpx2.ConnectError):
            await client.get(gone)


@pytest.mark.enable_socket
async def test_fetches_that_are_cancelled_anywhere_leave_no_connection_behind():
    async with serving(silence) as slow, serving(answer(body=b"good")) as good, GuardedClient(LOCAL) as client:
        for steps in range(3 * MAX_CONNECTIONS):
            scheme = "https" if steps % 2 else "http"
            task = asyncio.create_task(client.fetch("GET", slow.url(scheme=scheme)))
            for _ in range(steps % 40):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        assert (await client.fetch("GET", good.url())).body == b"good"


async def test_a_request_that_is_cancelled_while_dead_connections_are_closed_leaves_none_open():
    closed = []
    closing_begun = asyncio.Event()

    class Connection:
        async def aclose(self):
            closing_begun.set()
            await asyncio.sleep(0)
            closed.append(self)

    dead = [Connection() for _ in range(3)]
    transport = guarded_transport(LOCAL)
    housekeeping = asyncio.create_task(transport._pool._close_connections(dead))
    await closing_begun.wait()
    housekeeping.cancel()
    await asyncio.wait([housekeeping])

    assert housekeeping.cancelled()
    assert closed == dead
