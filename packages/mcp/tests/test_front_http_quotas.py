"""What one principal or one address may take up of the HTTP front: its own share, and nothing of that of others."""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from front_http_cases import FakeService, Link, call, initialize, message_of, modern, modern_headers, raw, serving
from process_children import until

from toolcrib_core import ToolError
from toolcrib_mcp.config.settings import HttpFront as HttpFrontOfConfig
from toolcrib_mcp.front import Identity
from toolcrib_mcp.front import conversation as conversation_module
from toolcrib_mcp.front.http import HttpFront, HttpFrontSettings
from toolcrib_mcp.front.http.app import HELD_SECONDS
from toolcrib_mcp.front.http.entrance import Entrance
from toolcrib_mcp.front.http.handshake import MAX_INTRODUCTION
from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.rates import MAX_BUCKETS
from toolcrib_mcp.front.http.replies import Refusal
from toolcrib_mcp.front.http.under_way import MAX_BODIES, MAX_PRINCIPAL_BODIES, UnderWay
from toolcrib_mcp.serving.admission import ANYBODY, front_settings
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_runtime.testing import FakeClock

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-8.5"), pytest.mark.fault("K12")]

TOKENS = {"ann": Secret("token-of-ann"), "bob": Secret("token-of-bob")}
ANN, BOB = "Bearer token-of-ann", "Bearer token-of-bob"
_two_addresses = pytest.mark.skipif(sys.platform != "linux", reason="this system has one loopback address")
_HERE: Any = {"client": ("192.0.2.1", 1)}
_THERE: Any = {"client": ("192.0.2.2", 1)}


def _headers(authorization: str | None) -> Headers:
    return Headers([] if authorization is None else [(b"authorization", authorization.encode())])


async def _status(entrance: Entrance, authorization: str | None, scope: Any = _HERE) -> int:
    try:
        await entrance.admit(_headers(authorization), scope)
    except Refusal as refusal:
        return refusal.status
    return 200


async def test_of_a_principal_with_too_many_sessions_the_longest_unused_ends():
    service = FakeService()

    async with serving(service, tokens=TOKENS, max_principal_sessions=2, max_sessions=4) as url, raw(url) as client:
        await client.initialize(authorization=BOB)
        his = client.session
        hers = []
        for _ in range(6):
            await client.initialize(authorization=ANN)
            hers.append(client.session)
        left = [(await client.handshake("ping", mcp_session_id=each, authorization=ANN)).status_code for each in hers]
        kept = await client.handshake("ping", mcp_session_id=his, authorization=BOB)
        another = await client.initialize(authorization=BOB)

    assert left == [404, 404, 404, 404, 200, 200]
    assert (kept.status_code, another.status_code) == (200, 200)


async def test_a_session_in_use_does_not_give_way():
    service = FakeService()

    async with serving(service, tokens=TOKENS, max_principal_sessions=1) as url, raw(url) as client:
        await client.initialize(authorization=ANN)
        calling = asyncio.create_task(client.handshake("tools/call", call("wait", nonce="kept"), authorization=ANN))
        await service.hanging.wait()
        refused = await client.post(initialize(), authorization=ANN)
        other = await client.post(initialize(), authorization=BOB)
        service.release.set()
        answer = await calling
        later = await client.post(initialize(), authorization=ANN)

    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert "kept" in answer.text
    assert (other.status_code, later.status_code) == (200, 200)


async def test_a_client_that_says_too_much_of_itself_opens_no_session():
    front = HttpFront(FakeService(), settings=HttpFrontSettings())
    much = Link(initialize(experimental={"x": {"y": "z" * MAX_INTRODUCTION}}))
    enough = Link(initialize(experimental={"x": {"y": "z" * (MAX_INTRODUCTION - 1_000)}}))

    await front(much.scope, much.receive, much.send)
    refused = front.sessions
    await front(enough.scope, enough.receive, enough.send)
    opened = front.sessions
    await front.aclose()

    assert (much.sent[0]["status"], refused, enough.sent[0]["status"], opened) == (400, 0, 200, 1)


async def test_a_client_subscribes_to_a_bounded_number_of_resources(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conversation_module, "MAX_WATCHED", 20)
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        await client.initialize()
        answers = [
            message_of(await client.handshake("resources/subscribe", {"uri": f"notes:{at:04}"})) for at in range(3)
        ]

    assert ["error" in each for each in answers] == [False, False, True]
    assert len(service.subscribed) == 2


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_a_principal_has_so_many_requests_under_way(era: str):
    service = FakeService()

    async with serving(service, tokens=TOKENS, max_principal_requests=2) as url, raw(url) as client:
        if era == "handshake":
            await client.initialize(authorization=ANN)

        async def ask(name: str, request_id: int, who: str) -> Any:
            if era == "modern" or who == BOB:
                return await client.modern("tools/call", call(name), authorization=who)
            message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": call(name)}
            return await client.post(message, mcp_session_id=client.session, authorization=who)

        waiting = [asyncio.create_task(ask("wait", at, ANN)) for at in (1, 2)]
        await until(lambda: len(service.calls) == 2)
        refused = await ask("echo", 3, ANN)
        other = await ask("echo", 4, BOB)
        # What takes back a request is taken in, however many there are.
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}
        noted = await client.post(note, mcp_session_id=client.session, authorization=ANN)
        service.release.set()
        answers = [await each for each in waiting]
        later = await ask("echo", 5, ANN)

    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert (other.status_code, later.status_code) == (200, 200)
    assert noted.status_code == (202 if era == "handshake" else 400)
    assert {each.status_code for each in answers} == {200}


def test_bodies_of_one_principal_take_a_part_of_the_room():
    under_way = UnderWay(HttpFrontSettings(max_body=100))
    ann, bob = Identity(name="ann"), Identity(name="bob", scopes=frozenset())

    with under_way.weighing(ann) as hers, under_way.weighing(bob) as his:
        for _ in range(MAX_PRINCIPAL_BODIES):
            hers(100)
        with pytest.raises(Refusal) as refused, under_way.weighing(ann) as more:
            more(1)
        his(100)

    with under_way.weighing(ann) as again:
        again(100)
    assert refused.value.status == 503


def test_bodies_of_all_take_no_more_than_there_is_room():
    under_way = UnderWay(HttpFrontSettings(max_body=100))

    with under_way.weighing(None) as weigh:
        for _ in range(MAX_BODIES):
            weigh(100)
        with pytest.raises(Refusal):
            weigh(1)


async def test_a_principal_sends_so_many_bodies_at_once():
    front = HttpFront(FakeService(), settings=HttpFrontSettings(tokens=TOKENS, max_principal_requests=2))
    coming = [Link(None, authorization=ANN) for _ in range(3)]
    other = Link(modern("tools/list"), authorization=BOB, **_texts(modern("tools/list")))
    begun = asyncio.Semaphore(0)

    async def never() -> Any:
        begun.release()
        await asyncio.Event().wait()

    sending = [asyncio.create_task(front(each.scope, never, each.send)) for each in coming[:2]]
    for _ in sending:
        await begun.acquire()
    await front(coming[2].scope, never, coming[2].send)
    await front(other.scope, other.receive, other.send)
    for each in sending:
        each.cancel()
    await asyncio.wait(sending)
    await front.aclose()

    assert coming[2].sent[0]["status"] == 503
    assert other.sent[0]["status"] == 200


class _Part(dict[str, Any]):
    """A part of a body, which says when it is gone."""


async def test_what_came_of_a_refused_body_is_not_held_while_the_rest_is_dropped():
    front = HttpFront(FakeService(), settings=HttpFrontSettings(tokens=TOKENS, max_body=1_000))
    link = Link(None, authorization=ANN, transfer_encoding="chunked")
    given: list[weakref.ref[_Part]] = []
    held: list[int] = []

    async def receive() -> Any:
        held.append(sum(each() is not None for each in given))
        part = _Part(type="http.request", body=b"x" * 600, more_body=len(given) < 3)
        given.append(weakref.ref(part))
        return part

    await front(link.scope, receive, link.send)
    await front.aclose()

    assert link.sent[0]["status"] == 413
    assert held[2] == 0


def _texts(message: dict[str, Any]) -> dict[str, str]:
    return {name: str(each) for name, each in modern_headers(message).items()}


async def test_wrong_tokens_use_up_what_their_address_has_and_are_then_not_looked_at():
    asked: list[str] = []

    async def authenticate(token: str) -> Identity | None:
        asked.append(token)
        return Identity(name="eve") if token == "good" else None

    clock = FakeClock()
    entrance = Entrance(HttpFrontSettings(authenticate=authenticate, unauthenticated_per_minute=3), clock=clock)
    before = await _status(entrance, "Bearer good")
    wrong = [await _status(entrance, f"Bearer guess-{at}") for at in range(5)]
    without = await _status(entrance, None)
    known = [await _status(entrance, "Bearer good") for _ in range(5)]
    elsewhere = await _status(entrance, "Bearer guess", _THERE)
    await clock.advance(20)
    after = [await _status(entrance, "Bearer guess") for _ in range(2)]

    assert (before, wrong, without) == (200, [401, 401, 401, 429, 429], 429)
    assert known == [200] * 5
    assert (elsewhere, after) == (401, [401, 429])
    assert len([each for each in asked if each != "good"]) == 5


async def test_a_good_token_takes_nothing_from_its_address():
    async def authenticate(token: str) -> Identity | None:
        return Identity(name=token)

    entrance = Entrance(HttpFrontSettings(authenticate=authenticate, unauthenticated_per_minute=1), clock=FakeClock())

    assert [await _status(entrance, f"Bearer token-{at}") for at in range(20)] == [200] * 20


async def test_a_token_that_is_good_no_longer_counts_as_any_other():
    known = {"one"}

    async def authenticate(token: str) -> Identity | None:
        return Identity(name=token) if token in known else None

    entrance = Entrance(HttpFrontSettings(authenticate=authenticate, unauthenticated_per_minute=1), clock=FakeClock())
    good = await _status(entrance, "Bearer one")
    known.clear()

    assert [good, *[await _status(entrance, "Bearer one") for _ in range(3)]] == [200, 401, 401, 429]


async def test_that_tokens_cannot_be_looked_up_costs_a_client_nothing():
    async def authenticate(token: str) -> Identity | None:
        raise ToolError("The database is away.")

    entrance = Entrance(HttpFrontSettings(authenticate=authenticate, unauthenticated_per_minute=1), clock=FakeClock())

    assert [await _status(entrance, "Bearer one") for _ in range(3)] == [503] * 3


async def test_tokens_that_were_good_are_remembered_in_a_bounded_number():
    async def authenticate(token: str) -> Identity | None:
        return Identity(name="ann")

    entrance = Entrance(HttpFrontSettings(authenticate=authenticate), clock=FakeClock())
    for at in range(MAX_BUCKETS + 10):
        await entrance.admit(_headers(f"Bearer {at}"), _HERE)

    assert len(entrance) == MAX_BUCKETS


async def test_the_answer_to_one_request_too_many_is_held_back():
    clock = FakeClock()
    front = HttpFront(
        FakeService(), settings=HttpFrontSettings(tokens=TOKENS, unauthenticated_per_minute=1), clock=clock
    )
    first, second = (Link(None, authorization="Bearer wrong") for _ in range(2))
    await front(first.scope, first.receive, first.send)
    answering = asyncio.create_task(front(second.scope, second.receive, second.send))

    await clock.advance(HELD_SECONDS * 0.9)
    early = list(second.sent)
    await clock.advance(HELD_SECONDS * 0.2)
    await answering
    await front.aclose()

    assert (first.sent[0]["status"], early) == (401, [])
    assert second.sent[0]["status"] == 429


async def test_requests_to_a_mounted_application_are_counted():
    async def application(scope: Any, receive: Any, send: Any) -> None:
        authorized = (b"authorization", ANN.encode()) in scope["headers"]
        await send({"type": "http.response.start", "status": 200 if authorized else 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    settings = HttpFrontSettings(tokens=TOKENS, requests_per_minute=3, unauthenticated_per_minute=2)
    clock = FakeClock()
    front = HttpFront(FakeService(), settings=settings, mounts={"/api": application}, clock=clock)

    async def status(authorization: str, client: str, path: str = "/api/x") -> int:
        message = modern("tools/list")
        link = Link(message, authorization=authorization, **_texts(message))
        link.scope |= {"path": path, "client": (client, 1)}
        serving_it = asyncio.create_task(front(link.scope, link.receive, link.send))
        while not serving_it.done():
            await clock.advance(HELD_SECONDS / 100)
        return int(link.sent[0]["status"])

    guessed = [await status(f"Bearer guess-{at}", "192.0.2.1") for at in range(3)]
    hers = [await status(ANN, "192.0.2.2") for _ in range(2)]
    both = [await status(ANN, "192.0.2.2", "/mcp"), await status(ANN, "192.0.2.2")]
    his = await status(BOB, "192.0.2.2", "/mcp")
    await front.aclose()

    assert guessed == [401, 401, 429]
    assert (hers, both, his) == ([200, 200], [200, 429], 200)


@_two_addresses
async def test_an_address_with_too_many_connections_loses_its_own_idle_ones():
    async with serving(FakeService(), max_address_connections=4) as url, _connections(url, 30, "127.0.0.2") as many:
        async with raw(url) as client:
            # Kept open by the client between the two requests.
            first = await client.modern("tools/list")
            async with _connections(url, 30, "127.0.0.2"):
                second = await client.modern("tools/list")
        ended = [await reader.read() for reader, _ in many]

    assert (first.status_code, second.status_code) == (200, 200)
    assert ended == [b""] * 30


@_two_addresses
async def test_connections_of_one_address_that_are_all_in_use_stay_and_no_new_one_is_taken():
    service = FakeService()

    async with serving(service, max_address_connections=1) as url, raw(url) as client:
        calling = asyncio.create_task(client.modern("tools/call", call("wait", nonce="kept")))
        await service.hanging.wait()
        async with _connections(url, 1, "127.0.0.1") as ours, _connections(url, 1, "127.0.0.2") as theirs:
            refused = await ours[0][0].read()
            theirs[0][1].write(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            served = await theirs[0][0].read()
        service.release.set()
        answer = await calling

    assert refused == b""
    assert served.startswith(b"HTTP/1.1 200")
    assert "kept" in answer.text


@asynccontextmanager
async def _connections(
    url: str, number: int, address: str
) -> AsyncIterator[list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]:
    host, port = urlsplit(url).hostname, urlsplit(url).port
    opened = [await asyncio.open_connection(host, port, local_addr=(address, 0)) for _ in range(number)]
    try:
        async with asyncio.timeout(60):
            yield opened
    finally:
        for _, writer in opened:
            writer.close()


def test_the_configuration_sets_every_quota():
    names = {
        "unauthenticated_per_minute": 11,
        "max_sessions": 12,
        "max_principal_sessions": 13,
        "max_requests": 14,
        "max_principal_requests": 15,
        "max_address_connections": 16,
    }

    settings = front_settings(HttpFrontOfConfig(**names), ANYBODY, drain=1)

    assert {name: getattr(settings, name) for name in names} == names


@pytest.mark.parametrize(
    "name",
    ["max_principal_sessions", "max_principal_requests", "max_address_connections", "unauthenticated_per_minute"],
)
def test_a_quota_of_nothing_is_refused(name: str):
    with pytest.raises(ValueError, match=name):
        HttpFrontSettings(**{name: 0})
