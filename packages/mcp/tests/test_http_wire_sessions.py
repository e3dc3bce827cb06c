"""Sessions of the handshake era: lost ones, the stream beside the calls, and streams that are taken up again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import pytest
from loopback import Server, answer, endlessly, header_of, serving, silence, then_silence
from sdk_servers import LOOPBACK, SdkServer, call, conversing, open_wire, serving_sdk

from toolcrib_mcp.errors import UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.rpc import Unreadable, WireClosed
from toolcrib_mcp.upstreams.eras import META_VERSION, Era
from toolcrib_mcp.upstreams.http_conversation import SessionLost
from toolcrib_mcp.upstreams.http_wire import HttpWire, open_http_wire
from toolcrib_runtime.testing import FakeClock

pytestmark = pytest.mark.enable_socket

JSON = "Content-Type: application/json"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "x"}}
ANSWER = {"jsonrpc": "2.0", "id": 2, "result": {}}
WELCOME = answer(
    "200 OK",
    JSON,
    "Mcp-Session-Id: s-1",
    body=b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}',
)
GONE = answer("404 Not Found", JSON, body=b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session"}}')
ACCEPTED = answer("202 Accepted")

Reply: TypeAlias = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


def event(data: bytes, **fields: str) -> bytes:
    return b"".join(f"{name}: {value}\n".encode() for name, value in fields.items()) + b"data: " + data + b"\n\n"


@asynccontextmanager
async def begun(
    *replies: Reply, listen: bool = False, clock: FakeClock | None = None
) -> AsyncIterator[tuple[HttpWire, Server]]:
    """A wire whose session has begun, and the server, which goes on with these replies."""
    first: list[Reply] = [WELCOME, ACCEPTED] if listen else [WELCOME]
    async with (
        serving(*first, *replies) as server,
        open_wire(server.url(), **({} if clock is None else {"clock": clock})) as wire,
    ):
        await wire.send(INITIALIZE)
        await next_of(wire)
        if listen:
            await wire.send(INITIALIZED)
        yield wire, server


async def next_of(wire: HttpWire) -> Any:
    async with asyncio.timeout(10):
        return await wire.receive()


async def until_requests(server: Server, count: int) -> None:
    async with asyncio.timeout(10):
        while len(server.requests) < count:
            server.asked.clear()
            await server.asked.wait()


@pytest.mark.fault("F2")
@pytest.mark.req("GW-6.4")
async def test_a_restart_while_nobody_speaks_loses_the_session_before_anything_is_sent() -> None:
    offer = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    async with serving_sdk(SdkServer().server) as url:
        wire = await open_http_wire(url, headers={}, grant=LOOPBACK)
        await wire.send({**INITIALIZE, "params": offer})
        await next_of(wire)

    async with serving_sdk(SdkServer().server, port=int(url.split(":")[2].split("/")[0])) as url:
        await wire.send(CALL)
        failed = await next_of(wire)
        with pytest.raises(SessionLost, match="session-lost"):
            await next_of(wire)
        async with open_wire(url) as fresh, conversing(fresh, Era.HANDSHAKE) as session:
            result = await call(session, "echo", nonce="again")
        await wire.aclose()

    assert isinstance(failed.error, UpstreamUnavailable)
    assert failed.error.details == {"sent": False, "reason": "session-lost"}
    assert result["content"][0]["text"] == "again"


@pytest.mark.parametrize(
    "refusal",
    [
        answer("404 Not Found"),
        GONE,
        answer(
            "400 Bad Request",
            JSON,
            body=b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID provided"}}',
        ),
    ],
    ids=["bare", "specified", "older servers"],
)
async def test_every_way_to_say_that_the_session_is_gone_ends_the_wire(refusal: bytes) -> None:
    async with begun(refusal) as (wire, server):
        await wire.send(CALL)
        failed = await next_of(wire)
        for _ in range(2):
            with pytest.raises(SessionLost):
                await next_of(wire)
        with pytest.raises(SessionLost):
            await wire.send(CALL)

    assert failed.id == 2
    # Nobody says farewell to a session that is not there.
    assert len(server.requests) == 2


async def test_a_refusal_for_another_reason_is_not_the_end_of_the_session() -> None:
    body = b'{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no such tool"}}'

    async with begun(answer("400 Bad Request", JSON, body=body)) as (wire, _):
        await wire.send(CALL)
        refused = await next_of(wire)

    assert refused["error"]["message"] == "no such tool"


async def test_a_lost_session_is_also_noticed_by_a_notice() -> None:
    async with begun(GONE) as (wire, _):
        await wire.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})

        with pytest.raises(SessionLost):
            await next_of(wire)


@pytest.mark.parametrize("reply", [silence, b"", answer("500 Oops"), answer("202 Accepted", length=9)])
async def test_a_notice_that_is_not_taken_is_nobodys_failure(reply: Reply) -> None:
    async with begun(reply, answer("200 OK", JSON, body=b'{"jsonrpc":"2.0","id":2,"result":{}}')) as (wire, server):
        await wire.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
        await until_requests(server, 2)
        await wire.send(CALL)

        assert await next_of(wire) == ANSWER


async def test_what_the_server_says_unasked_comes_through_and_its_stream_is_taken_up_where_it_ended() -> None:
    clock = FakeClock()
    first = EVENTS + event(b"", id="e1", retry="2500") + event(CHANGED, id="e2")

    async with begun(first, then_silence(EVENTS + event(CHANGED)), listen=True, clock=clock) as (wire, server):
        assert (await next_of(wire))["method"] == "notifications/tools/list_changed"
        await until_waiting(clock)
        await clock.advance(2.4)
        assert len(server.requests) == 3
        await clock.advance(0.2)
        assert (await next_of(wire))["method"] == "notifications/tools/list_changed"

    assert [request[:4] for request in server.requests[2:4]] == [b"GET ", b"GET "]
    assert header_of(server.requests[2], "Mcp-Session-Id") == "s-1"
    assert header_of(server.requests[2], "Last-Event-ID") is None
    assert header_of(server.requests[3], "Last-Event-ID") == "e2"


@pytest.mark.fault("F5")
@pytest.mark.parametrize("data", [b'{"jsonrpc":"2.0","result":{"a":', b"x" * 20_000_000], ids=["damaged", "too long"])
async def test_what_cannot_be_read_on_the_stream_of_its_own_is_nobodys_answer(data: bytes) -> None:
    stream = then_silence(EVENTS + event(data) + event(CHANGED))

    async with begun(stream, listen=True) as (wire, _):
        unreadable, changed = await next_of(wire), await next_of(wire)

    assert not unreadable.is_answer
    assert changed["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize(
    "reply", [answer("405 Method Not Allowed"), answer("200 OK", "Content-Type: text/html"), answer("403 Forbidden")]
)
async def test_a_server_that_offers_no_stream_of_its_own_is_not_asked_again(reply: bytes) -> None:
    clock = FakeClock()

    async with begun(reply, listen=True, clock=clock) as (wire, server):
        await until_requests(server, 3)
        async with asyncio.timeout(5):
            while wire._tasks:
                await asyncio.wait(wire._tasks)

        assert clock.waiting == 0


async def test_a_stream_that_does_not_come_back_is_asked_for_less_and_less_often() -> None:
    clock = FakeClock()
    waits = []

    async with begun(answer("503 Service Unavailable"), listen=True, clock=clock) as (_, server):
        for asked in range(3, 10):
            await until_requests(server, asked)
            await until_waiting(clock)
            before = clock.monotonic()
            while len(server.requests) == asked and clock.waiting:
                await clock.advance(1.0)
            waits.append(clock.monotonic() - before)

    assert waits == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.fault("F2")
async def test_a_restart_is_noticed_by_the_stream_beside_the_calls() -> None:
    clock = FakeClock()

    async with begun(EVENTS, GONE, listen=True, clock=clock) as (wire, _):
        await until_waiting(clock)
        await clock.advance(1.0)

        with pytest.raises(SessionLost):
            await next_of(wire)


async def test_the_answer_to_a_call_comes_on_another_stream_where_the_server_named_a_place() -> None:
    clock = FakeClock()
    first = EVENTS + event(b"", id="p1", retry="500")
    second = EVENTS + event(b'{"jsonrpc":"2.0","id":2,"result":{}}', id="p2")

    async with begun(first, second, clock=clock) as (wire, server):
        await wire.send(CALL)
        await until_waiting(clock)
        await clock.advance(0.5)

        assert await next_of(wire) == ANSWER
        assert server.requests[2].startswith(b"GET ")
        assert header_of(server.requests[2], "Last-Event-ID") == "p1"


@pytest.mark.parametrize(
    ("later", "requests"),
    [(EVENTS, 5), (b"", 5), (answer("503 Service Unavailable"), 5), (answer("403 Forbidden"), 3)],
    ids=["empty", "broken", "unavailable", "forbidden"],
)
async def test_a_stream_that_brings_nothing_new_is_given_up(later: bytes, requests: int) -> None:
    clock = FakeClock()

    async with begun(EVENTS + event(b"", id="p1"), later, clock=clock) as (wire, server):
        await wire.send(CALL)
        failing = asyncio.create_task(next_of(wire))
        while not failing.done():
            await asyncio.sleep(0)
            await clock.advance(1.0)
        failed = await failing

        assert isinstance(failed, Unreadable)
        assert isinstance(failed.error, UpstreamUnavailable)
        assert len(server.requests) == requests


async def test_an_error_that_is_the_answer_on_another_stream_is_the_answer() -> None:
    clock = FakeClock()
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no such event"}}'

    async with begun(EVENTS + event(b"", id="p1"), answer("400 Bad", JSON, body=body), clock=clock) as (wire, _):
        await wire.send(CALL)
        await until_waiting(clock)
        await clock.advance(1.0)

        assert (await next_of(wire))["error"]["message"] == "no such event"


async def test_a_stream_of_the_modern_era_is_never_taken_up_again() -> None:
    modern = {**CALL, "params": {"_meta": {META_VERSION: "2026-07-28"}}}

    async with serving(EVENTS + event(b"", id="p1")) as server, open_wire(server.url()) as wire:
        await wire.send(modern)
        failed = await next_of(wire)

    assert isinstance(failed.error, UpstreamUnavailable)
    assert len(server.requests) == 1


async def test_a_session_that_is_lost_between_two_streams_of_a_call_leaves_its_outcome_open() -> None:
    clock = FakeClock()

    async with begun(EVENTS + event(b"", id="p1"), GONE, clock=clock) as (wire, _):
        await wire.send(CALL)
        await until_waiting(clock)
        await clock.advance(1.0)
        failed = await next_of(wire)

    assert failed.error.details == {"sent": True, "reason": "session-lost"}


async def test_what_follows_an_answer_on_its_stream_holds_up_nobody() -> None:
    stream = EVENTS + event(b'{"jsonrpc":"2.0","id":2,"result":{}}')

    async with begun(endlessly(stream, b": ping\n\n", every=0.01)) as (wire, _):
        await wire.send(CALL)
        answered = await next_of(wire)
        async with asyncio.timeout(5):
            await asyncio.wait(wire._tasks)

    assert answered == ANSWER


async def test_a_server_without_sessions_is_not_asked_for_a_stream_of_its_own() -> None:
    welcome = answer("200 OK", JSON, body=b'{"jsonrpc":"2.0","id":1,"result":{}}')

    async with serving(welcome, ACCEPTED) as server, open_wire(server.url()) as wire:
        await wire.send(INITIALIZE)
        await next_of(wire)
        await wire.send(INITIALIZED)

        assert not wire._tasks
    assert len(server.requests) == 2


@pytest.mark.parametrize(("era", "requests"), [(Era.HANDSHAKE, 2), (Era.MODERN, 1)])
async def test_giving_up_what_has_ended_is_said_in_the_handshake_era_only(era: Era, requests: int) -> None:
    meta = {"_meta": {META_VERSION: "2026-07-28"}} if era is Era.MODERN else {}

    async with serving(answer("200 OK", JSON, body=b'{"jsonrpc":"2.0","id":2,"result":{}}'), ACCEPTED) as server:
        wire = await open_http_wire(server.url(), headers={}, grant=LOOPBACK)
        await wire.send({**CALL, "params": meta})
        await next_of(wire)
        async with asyncio.timeout(5):
            while wire._tasks:
                await asyncio.wait(wire._tasks)
            await wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
            while wire._tasks:
                await asyncio.wait(wire._tasks)
        await wire.aclose()

    assert len(server.requests) == requests


async def test_another_answer_on_the_stream_of_a_call_does_not_end_it() -> None:
    stream = EVENTS + event(b'{"jsonrpc":"2.0","id":77,"result":{}}') + event(b'{"jsonrpc":"2.0","id":"2","result":{}}')

    async with begun(stream) as (wire, _):
        await wire.send(CALL)
        other, own = await next_of(wire), await next_of(wire)

    assert (other["id"], own["id"]) == (77, "2")


@pytest.mark.fault("F5")
async def test_a_flood_waits_at_the_server_until_it_is_read() -> None:
    flood = EVENTS + event(CHANGED) * 20_000 + event(b'{"jsonrpc":"2.0","id":2,"result":{}}')

    async with begun(flood) as (wire, _):
        await wire.send(CALL)
        received = [await next_of(wire) for _ in range(20_001)]

    assert received[-1] == ANSWER


async def test_closing_does_not_wait_for_a_server_that_does_not_say_farewell() -> None:
    async with begun(silence) as (wire, server):
        reading = asyncio.create_task(wire.receive())
        async with asyncio.timeout(5):
            await wire.aclose()
            with pytest.raises(WireClosed):
                await reading

    assert server.requests[1].startswith(b"DELETE ")


async def test_the_session_is_not_lost_when_the_handshake_itself_is_not_found() -> None:
    async with serving(answer("404 Not Found")) as server, open_wire(server.url()) as wire:
        await wire.send(INITIALIZE)
        failed = await next_of(wire)

    assert isinstance(failed.error, UpstreamFailed)


async def until_waiting(clock: FakeClock) -> None:
    async with asyncio.timeout(10):
        await clock.until_waiting()
