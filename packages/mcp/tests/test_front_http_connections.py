"""What one connection to the HTTP front, and all idle ones together, may take up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from front_http_cases import ACCEPT, FakeService, call, modern, modern_headers, raw, serving

from toolcrib_mcp.front.http import uvicorn_server
from toolcrib_runtime.guards.secrets import Secret

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-8.5")]

_HEAD = b"host: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n"
_TOKENS = {"ann": Secret("token-of-ann")}
_TOKEN = b"authorization: Bearer token-of-ann\r\n"
_CHUNKED = b"POST %b HTTP/1.1\r\n%btransfer-encoding: chunked\r\n\r\n"


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
    try:
        async with asyncio.timeout(60):
            yield reader, writer
    finally:
        writer.close()


async def _flood(writer: asyncio.StreamWriter, part: bytes, *, times: int) -> int:
    """Send a part again and again; how many bytes the server took before it closed the connection."""
    sent = 0
    for _ in range(times):
        try:
            writer.write(part)
            await writer.drain()
        except ConnectionError:
            break
        sent += len(part)
    return sent


def _head(message: dict[str, Any], framing: bytes) -> bytes:
    headers = modern_headers(message) | ACCEPT | {"host": "localhost"}
    lines = b"".join(b"%b: %b\r\n" % (k.replace("_", "-").encode(), v.encode()) for k, v in headers.items())
    return b"POST /mcp HTTP/1.1\r\n%b%b\r\n\r\n" % (lines, framing)


def _request(name: str, nonce: str) -> bytes:
    message = modern("tools/call", call(name, nonce=nonce))
    body = orjson.dumps(message)
    return _head(message, b"content-length: %d" % len(body)) + body


@pytest.mark.fault("K3", "K19")
@pytest.mark.parametrize("path", [b"/mcp", b"/nowhere"])
@pytest.mark.parametrize("head", [_HEAD, _HEAD + _TOKEN], ids=["no token", "token"])
@pytest.mark.parametrize("trailer", [_TOKEN, b"host: evil.example\r\n"], ids=["token", "host"])
async def test_trailers_are_refused(path, head, trailer):
    service = FakeService()

    async with serving(service, tokens=_TOKENS) as url, _connected(url) as (reader, writer):
        writer.write(_CHUNKED % (path, head) + b"2\r\n{}\r\n0\r\n" + trailer + b"\r\n")
        answer = await reader.read()

    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert service.requests == []


@pytest.mark.fault("K3")
@pytest.mark.parametrize("token", [b"", _TOKEN], ids=["no token", "token"])
@pytest.mark.parametrize(
    "part", [pytest.param(b"x: " + b"y" * 1_000 + b"\r\n", id="many"), pytest.param(b"y" * 1_000, id="one long")]
)
async def test_the_connection_is_closed_before_a_flood_of_headers_is_kept(part, token):
    service = FakeService()

    async with serving(service, tokens=_TOKENS) as url, _connected(url) as (_, writer):
        writer.write(b"POST /mcp HTTP/1.1\r\n" + _HEAD + token + b"x-flood: ")
        sent = await _flood(writer, part * 64, times=1_000)

    assert sent < 8 * 1024 * 1024
    assert service.requests == []


@pytest.mark.fault("K3")
@pytest.mark.parametrize(
    "part",
    [
        pytest.param(b"x: " + b"y" * 1_000 + b"\r\n", id="many trailers"),
        pytest.param(b"y" * 1_000, id="one long trailer"),
    ],
)
async def test_the_connection_is_closed_before_a_flood_of_trailers_is_kept(part):
    async with serving(FakeService()) as url, _connected(url) as (_, writer):
        writer.write(_CHUNKED % (b"/nowhere", _HEAD) + b"2\r\n{}\r\n0\r\n")
        sent = await _flood(writer, part * 64, times=1_000)

    assert sent < 8 * 1024 * 1024


@pytest.mark.fault("K3")
async def test_extensions_of_chunks_count_as_overhead():
    async with serving(FakeService()) as url, _connected(url) as (_, writer):
        writer.write(_CHUNKED % (b"/mcp", _HEAD))
        sent = await _flood(writer, b"1;" + b"e" * 64_000 + b"\r\nx\r\n", times=500)

    assert sent < 8 * 1024 * 1024


async def test_a_body_of_many_small_chunks_is_read():
    service = FakeService()
    message = modern("tools/call", call("echo", nonce="n" * 30_000))
    chunks = b"".join(b"1\r\n%b\r\n" % bytes([byte]) for byte in orjson.dumps(message))

    async with serving(service) as url, _connected(url) as (reader, writer):
        writer.write(_head(message, b"transfer-encoding: chunked") + chunks + b"0\r\n\r\n")
        answer = await reader.readuntil(b"\r\n")

    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.fault("K3")
async def test_a_request_before_the_last_one_is_answered_ends_the_connection():
    service = FakeService()

    async with serving(service) as url, _connected(url) as (reader, writer):
        writer.write(_request("wait", "kept"))
        await service.hanging.wait()
        sent = await _flood(writer, _request("echo", "pipelined") * 100, times=1_000)
        with pytest.raises(ConnectionError):
            await reader.read()
        service.release.set()

    assert sent < 8 * 1024 * 1024
    assert len(service.calls) == 1


async def test_one_connection_serves_one_request_after_the_other():
    async with serving(FakeService()) as url, raw(url) as client:
        answers = [await client.modern("tools/call", call("echo", nonce=str(at))) for at in range(20)]

    assert {each.status_code for each in answers} == {200}


@pytest.mark.fault("K12")
async def test_the_oldest_idle_connection_gives_way_to_a_new_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uvicorn_server, "_SPARE_CONNECTIONS", 8)
    service = FakeService()

    async with serving(service, max_sessions=1, max_requests=1) as url:
        async with _connected(url) as (oldest, _):
            others = [await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port) for _ in range(20)]
            async with raw(url) as client:
                served = await client.modern("tools/call", call("echo"))
            ended = await oldest.read()
        for _, writer in others:
            writer.close()

    assert served.status_code == 200
    assert ended == b""


@pytest.mark.fault("K12")
async def test_a_connection_with_a_request_in_flight_does_not_give_way(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uvicorn_server, "_SPARE_CONNECTIONS", 8)
    service = FakeService()

    async with serving(service, max_sessions=1, max_requests=1) as url, raw(url) as client:
        calling = asyncio.create_task(client.modern("tools/call", call("wait", nonce="kept")))
        await service.hanging.wait()
        others = [await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port) for _ in range(20)]
        service.release.set()
        answer = await calling
        for _, writer in others:
            writer.close()

    assert "kept" in answer.text


@pytest.mark.fault("K19")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', id="an id twice"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":{"b":1,"b":2}}}', id="inside"),
        pytest.param(b'{"jsonrpc":"2.0","id":"\\u003a","method":"ping","params":{"a":1,"a":2}}', id="escaped colon"),
        pytest.param(b'{"jsonrpc":"2.0","id":12345678901234567890123,"method":"ping","id":2}', id="a long integer"),
        pytest.param(b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', id="a lone surrogate"),
    ],
)
async def test_text_that_readers_understand_differently_is_refused(body: bytes):
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        answer = await client.client.post(url, content=body, headers={**ACCEPT, "content-type": "application/json"})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32700
    assert service.requests == []
