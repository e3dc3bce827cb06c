"""Servers that are not there, refuse, or answer with something else: each is an honest error, at once."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any

import pytest
from certificates import self_signed
from loopback import answer, endlessly, serving, silence, then_silence
from sdk_servers import SdkServer, call, conversing, open_wire, serving_sdk

from toolcrib_mcp.errors import (
    AuthFailed,
    AuthRequired,
    ResultTooLarge,
    UpstreamBusy,
    UpstreamError,
    UpstreamFailed,
    UpstreamMalformed,
    UpstreamUnavailable,
)
from toolcrib_mcp.rpc import Unreadable
from toolcrib_mcp.upstreams.http_wire import HttpWire
from toolcrib_runtime.guards.secrets import Secret

pytestmark = pytest.mark.enable_socket

JSON = "Content-Type: application/json"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
GOOD = b'{"jsonrpc":"2.0","id":1,"result":{"ok":true}}'


async def ask(wire: HttpWire, request_id: int = 1) -> dict[str, Any] | Unreadable:
    await wire.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {"name": "x"}})
    async with asyncio.timeout(10):
        return await wire.receive()


async def failure(wire: HttpWire) -> UpstreamError:
    got = await ask(wire)
    while not isinstance(got, Unreadable):
        # What is JSON and no message is handed on, for the connection to count.
        assert isinstance(got, dict)
        assert "jsonrpc" not in got
        got = await asyncio.wait_for(wire.receive(), 10)
    assert got.id == 1
    return got.error


@pytest.mark.fault("F1")
async def test_a_server_that_takes_no_connection_is_unavailable_and_saw_nothing() -> None:
    async with serving(b"") as gone:
        pass

    async with open_wire(gone.url("/secret-path?key=hidden")) as wire:
        error = await failure(wire)

    assert isinstance(error, UpstreamUnavailable)
    assert error.retryable
    assert error.details == {"sent": False}
    assert "secret-path" not in str(error)


@pytest.mark.fault("F1")
async def test_a_failed_exchange_leaves_the_wire_as_it_was() -> None:
    async with (
        serving(answer("503 Service Unavailable"), answer("200 OK", JSON, body=GOOD)) as server,
        open_wire(server.url()) as wire,
    ):
        first, second = await ask(wire), await ask(wire)

    assert isinstance(first, Unreadable)
    assert second == {"jsonrpc": "2.0", "id": 1, "result": {"ok": True}}


@pytest.mark.req("GW-6.8")
@pytest.mark.parametrize(
    ("status", "configured", "kind", "outward", "retryable"),
    [
        ("401 Unauthorized", False, AuthRequired, "AUTH_REQUIRED", False),
        ("401 Unauthorized", True, AuthFailed, "AUTH_FAILED", False),
        ("403 Forbidden", True, AuthFailed, "AUTH_FAILED", False),
        ("429 Too Many Requests", False, UpstreamBusy, "RATE_LIMITED", True),
        ("408 Request Timeout", False, UpstreamUnavailable, "UPSTREAM_UNAVAILABLE", True),
        ("502 Bad Gateway", False, UpstreamUnavailable, "UPSTREAM_UNAVAILABLE", True),
        ("500 Internal Server Error", False, UpstreamFailed, "UPSTREAM_ERROR", False),
        ("418 Teapot", False, UpstreamFailed, "UPSTREAM_ERROR", False),
        ("599 Odd", False, UpstreamFailed, "UPSTREAM_ERROR", False),
    ],
)
async def test_a_status_keeps_its_meaning(
    status: str, configured, kind: type[UpstreamError], outward: str, retryable
) -> None:
    headers = {"X-Key": Secret("configured-key")} if configured else {}

    async with serving(answer(status, body=b"<h1>no</h1>")) as server, open_wire(server.url(), headers=headers) as wire:
        error = await failure(wire)

    assert type(error) is kind
    assert (error.outward, error.retryable) == (outward, retryable)
    assert status[:3] in error.message
    assert "configured-key" not in str(error)


async def test_a_missing_page_is_a_missing_method_where_there_is_no_session() -> None:
    async with serving(answer("404 Not Found")) as server, open_wire(server.url()) as wire:
        error = await failure(wire)

    assert isinstance(error, UpstreamFailed)
    assert error.rpc_code == -32601


@pytest.mark.parametrize(("asked", "taken"), [("7", 7.0), ("999999999", 3600.0)])
@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
async def test_the_wait_that_a_server_asks_for_is_bounded(status: str, asked: str, taken: float) -> None:
    async with serving(answer(status, f"Retry-After: {asked}")) as server, open_wire(server.url()) as wire:
        error = await failure(wire)

    assert error.details["retryAfter"] == taken


@pytest.mark.parametrize("given", [b"null", b'"server-error"', b"1"])
async def test_an_error_in_the_body_of_a_refusal_is_the_answer_whatever_its_id(given: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32602,"message":"m","data":{"a":1}}}' % given

    async with serving(answer("400 Bad Request", JSON, body=body)) as server, open_wire(server.url()) as wire:
        got = await ask(wire)

    assert got == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "m", "data": {"a": 1}}}


@pytest.mark.fault("F7")
@pytest.mark.parametrize(
    "reply",
    [
        answer("200 OK", "Content-Type: text/html", body=b"<html>Sign in, configured-key</html>"),
        answer("200 OK", JSON, body=b'{"status":"fine"}'),
        answer("200 OK", JSON, body=b'"text"'),
        answer("200 OK", JSON),
        answer("202 Accepted"),
        answer("200 OK", body=GOOD),
    ],
    ids=["html", "other json", "no object", "empty", "accepted", "no type"],
)
async def test_an_answer_that_is_no_message_is_malformed_at_once(reply: bytes) -> None:
    async with (
        serving(reply) as server,
        open_wire(server.url(), headers={"X-Key": Secret("configured-key")}) as wire,
    ):
        error = await failure(wire)

    assert isinstance(error, UpstreamMalformed)
    assert "configured-key" not in str(error.to_dict())


@pytest.mark.fault("F7")
@pytest.mark.parametrize("kind", ["json", "event"])
async def test_an_answer_that_cannot_be_read_fails_the_call_that_it_belongs_to(kind: str) -> None:
    damaged = b'{"jsonrpc":"2.0","result":{"a":'
    reply = answer("200 OK", JSON, body=damaged) if kind == "json" else EVENTS + b"data: " + damaged + b"\n\n"

    async with serving(reply) as server, open_wire(server.url()) as wire:
        got = await ask(wire)

    assert isinstance(got, Unreadable)
    assert got.id == 1
    assert got.limit is None


async def test_a_body_on_many_lines_is_one_message_and_a_batch_is_several() -> None:
    body = b'[\n  {"jsonrpc":"2.0","method":"notifications/x"},\n  {"jsonrpc":"2.0","id":1,"result":{}}\n]\n'

    async with serving(answer("200 OK", JSON, body=body)) as server, open_wire(server.url()) as wire:
        first, second = await ask(wire), await wire.receive()

    assert first == {"jsonrpc": "2.0", "method": "notifications/x"}
    assert second == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.fault("F5")
@pytest.mark.parametrize("ending", ["closes", "resets"])
async def test_half_an_event_and_the_end_fail_the_call_at_once(ending: str) -> None:
    half = b"data: " + GOOD[:20]
    head = (
        EVENTS if ending == "closes" else EVENTS.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n1a\r\n")
    )

    async with serving(head + half) as server, open_wire(server.url()) as wire:
        error = await failure(wire)

    assert isinstance(error, UpstreamUnavailable)
    assert error.details == {"sent": True}


@pytest.mark.fault("F5")
async def test_a_server_that_hangs_up_without_an_answer_may_have_seen_the_request() -> None:
    async with serving(b"") as server, open_wire(server.url()) as wire:
        error = await failure(wire)

    assert isinstance(error, UpstreamUnavailable)
    assert error.details == {"sent": True}


@pytest.mark.fault("F5")
@pytest.mark.parametrize(
    "behaviour",
    [
        endlessly(EVENTS + b'data: {"jsonrpc":"2.0","id":1,"result":{"text":"', b"x" * 65_536),
        endlessly(EVENTS, b"data: " + b"x" * 65_536 + b"\n"),
        endlessly(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + GOOD[:-3], b"x" * 65_536),
    ],
    ids=["one line", "many lines", "json"],
)
async def test_an_endless_answer_is_too_large_as_soon_as_it_is(behaviour: Any) -> None:
    async with serving(behaviour) as server, open_wire(server.url(), max_message=1_000_000) as wire:
        got = await ask(wire)

    assert isinstance(got, Unreadable)
    assert (got.id, got.limit) == (1, 1_000_000)


@pytest.mark.fault("F5")
async def test_an_answer_of_16_megabytes_comes_whole_and_one_byte_over_the_cap_does_not() -> None:
    text = b"x" * (16 * 1024 * 1024 - 100)
    large = b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + text + b'"}}'
    reply = EVENTS + b"data: " + large + b"\n\n"

    async with serving(reply) as server:
        async with open_wire(server.url(), max_message=len(large)) as wire:
            whole = await ask(wire)
        async with open_wire(server.url(), max_message=len(large) - 1) as wire:
            cut = await ask(wire)
            noise = wire.noise

    assert isinstance(whole, dict)
    assert len(whole["result"]["text"]) == len(text)
    assert isinstance(cut, Unreadable)
    assert (cut.id, cut.limit) == (1, len(large) - 1)
    assert noise.too_long == 1


@pytest.mark.fault("E8")
async def test_a_small_body_that_unpacks_to_a_large_one_is_too_large() -> None:
    bomb = gzip.compress(b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + b"x" * 50_000_000 + b'"}}')
    reply = answer("200 OK", JSON, "Content-Encoding: gzip", body=bomb)

    async with serving(reply) as server, open_wire(server.url(), max_message=1_000_000) as wire:
        got = await ask(wire)

    assert isinstance(got, Unreadable)
    assert got.limit == 1_000_000


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        (["Content-Encoding: gzip"], UpstreamMalformed),
        (["Content-Encoding: br"], UpstreamMalformed),
        ([f"X-{each}: {'y' * 1_000}" for each in range(80)], ResultTooLarge),
    ],
    ids=["damaged gzip", "brotli", "long headers"],
)
async def test_what_the_network_guard_stops_is_an_error_of_the_server(headers: list[str], kind: type) -> None:
    async with serving(answer("200 OK", JSON, *headers, body=GOOD)) as server, open_wire(server.url()) as wire:
        error = await failure(wire)

    assert type(error) is kind


async def test_a_name_that_leads_where_nothing_is_granted_is_not_asked() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return ["10.0.0.7"]

    async with open_wire("https://mcp.example.com/", resolver=resolver) as wire:
        error = await failure(wire)

    assert isinstance(error, UpstreamUnavailable)
    assert not error.retryable
    assert error.details["sent"] is False


async def test_a_name_that_does_not_resolve_is_unavailable() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return []

    async with open_wire("https://mcp.example.com/", resolver=resolver) as wire:
        error = await failure(wire)

    assert "does not resolve" in error.message


async def test_a_server_without_tls_is_not_asked_by_https() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.com\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with open_wire(f"https://127.0.0.1:{port}/") as wire:
            error = await failure(wire)

    assert "TLS" in error.message
    assert not error.retryable
    assert error.details == {"sent": False}


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(tmp_path: Path) -> None:
    async with (
        serving(answer("200 OK", JSON, body=GOOD), tls=self_signed(tmp_path, "localhost")) as server,
        open_wire(server.url(scheme="https", host="localhost")) as wire,
    ):
        error = await failure(wire)

    assert "certificate" in error.message
    assert server.requests == []


@pytest.mark.fault("E5")
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_no_redirect_takes_the_credentials_to_another_server(status: str) -> None:
    async with serving(answer(body=GOOD)) as other:
        reply = answer(status, f"Location: {other.url('/mcp')}")
        async with (
            serving(reply) as server,
            open_wire(server.url(), headers={"Authorization": Secret("Bearer token")}) as wire,
        ):
            error = await failure(wire)

    assert other.connections == 0
    assert isinstance(error, UpstreamUnavailable)
    assert not error.retryable


@pytest.mark.parametrize("location", ["", "Location: http://[", "Location: ftp://x/"])
async def test_a_redirect_to_nowhere_is_an_error(location: str) -> None:
    async with serving(answer("307 Temporary", *filter(None, [location]))) as server, open_wire(server.url()) as wire:
        assert isinstance(await failure(wire), UpstreamUnavailable)


async def test_a_redirect_within_the_server_is_followed_with_the_whole_request() -> None:
    async with (
        serving(answer("307 Temporary", "Location: /mcp/"), answer("200 OK", JSON, body=GOOD)) as server,
        open_wire(server.url("/mcp"), headers={"Authorization": Secret("Bearer token")}) as wire,
    ):
        got = await ask(wire)

    assert got == {"jsonrpc": "2.0", "id": 1, "result": {"ok": True}}
    assert server.requests[1].startswith(b"POST /mcp/ ")
    assert b"Bearer token" in server.requests[1]
    assert b"tools/call" in server.requests[1]


async def test_redirects_in_a_circle_come_to_an_end() -> None:
    async with serving(answer("308 Permanent", "Location: /again")) as server, open_wire(server.url()) as wire:
        error = await failure(wire)

    assert isinstance(error, UpstreamUnavailable)
    assert len(server.requests) == 6


@pytest.mark.fault("F3")
@pytest.mark.parametrize(
    "behaviour",
    [silence, then_silence(EVENTS + b"data: half"), endlessly(EVENTS, b": ping\n\n", every=0.01)],
    ids=["no word", "half an event", "pings"],
)
async def test_a_server_that_hangs_costs_its_callers_their_deadline_and_nobody_more(behaviour: Any) -> None:
    async with serving(behaviour) as server, open_wire(server.url()) as wire:
        await wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
        async with asyncio.timeout(5):
            await server.asked.wait()

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wire.receive(), 0.1)
        async with asyncio.timeout(2):
            await wire.aclose()


@pytest.mark.fault("F15")
async def test_calls_that_hang_keep_neither_their_cancellation_nor_others_from_the_server() -> None:
    fixture = SdkServer()

    async with serving_sdk(fixture.server) as url, open_wire(url) as wire, conversing(wire) as session:
        hanging = [
            asyncio.create_task(session.request("tools/call", {"name": "hang", "arguments": {}}, timeout=None))
            for _ in range(40)
        ]
        async with asyncio.timeout(10):
            await fixture.hanging.wait()
            for each in hanging:
                each.cancel()
            await asyncio.gather(*hanging, return_exceptions=True)
            result = await call(session, "echo", nonce="still here")

    assert result["content"][0]["text"] == "still here"
