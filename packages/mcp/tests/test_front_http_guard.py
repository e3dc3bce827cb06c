"""Who the HTTP front lets in, and how much of a request it takes."""

from __future__ import annotations

import asyncio
import logging

import pytest
from front_http_cases import ACCEPT, FakeService, Link, call, initialize, raw, serving

from toolcrib_core import ToolError
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.front.http import HttpFront, HttpFrontSettings, check_binding, http_app
from toolcrib_runtime.guards.secrets import Secret

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-8.5")]

TOKENS = {"ann": Secret("token-of-ann"), "bob": Secret("token-of-bob")}
ANN, BOB = "Bearer token-of-ann", "bearer  token-of-bob"


@pytest.mark.fault("F19")
@pytest.mark.parametrize(
    "host", ["evil.example.com", "localhost.evil.com", "127.0.0.1.evil.com:80", "evil.com:80", "user@localhost", ""]
)
async def test_a_request_for_another_host_is_refused(host):
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), host=host)
        health = await client.client.get(url.replace("/mcp", "/health"), headers={"host": host})

    assert (response.status_code, health.status_code) == (421, 421)
    assert service.requests == []


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:8000", "gateway.example"])
async def test_a_request_for_an_allowed_host_is_served(host):
    async with serving(FakeService(), allowed_hosts=("gateway.example",)) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), host=host)

    assert response.status_code == 200


@pytest.mark.fault("F19")
@pytest.mark.parametrize(
    "origin", ["http://evil.example.com", "null", "https://localhost.evil.com", "file://", "http://["]
)
async def test_a_foreign_page_is_refused(origin):
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), origin=origin)

    assert response.status_code == 403
    assert service.requests == []


@pytest.mark.parametrize("origin", ["http://localhost:5173", "https://127.0.0.1", "https://app.example"])
async def test_a_page_of_this_machine_or_an_allowed_one_is_served(origin):
    async with serving(FakeService(), allowed_origins=("https://app.example",)) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), origin=origin)

    assert response.status_code == 200


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("192.0.2.7:8000", None, 200),
        ("[2001:db8::1]", None, 200),
        ("192.0.2.7", "http://192.0.2.7", 403),
        ("evil.example.com", None, 421),
        ("192.0.2.7.evil.com", None, 421),
    ],
)
async def test_an_address_may_be_the_host_but_is_no_page_that_may_send(host, origin, status):
    async with serving(FakeService(), allow_addresses=True) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), host=host, origin=origin)

    assert response.status_code == status


async def test_hosts_beyond_those_that_are_remembered_are_served_as_well():
    async with serving(FakeService()) as url, raw(url) as client:
        responses = [await client.modern("tools/list", host=f"localhost:{port}") for port in range(70)]

    assert {each.status_code for each in responses} == {200}


@pytest.mark.fault("F19")
@pytest.mark.parametrize(
    ("authorization", "challenge"),
    [
        (None, "Bearer"),
        ("Basic dXNlcjpwYXNz", "Bearer"),
        ("Bearer wrong", 'Bearer error="invalid_token"'),
        ("Bearer", 'Bearer error="invalid_token"'),
        ("token-of-ann", "Bearer"),
    ],
)
async def test_without_a_known_token_nothing_runs(authorization, challenge):
    service = FakeService()

    async with serving(service, tokens=TOKENS) as url, raw(url) as client:
        modern = await client.modern("tools/call", call("echo"), authorization=authorization)
        opening = await client.post(initialize(), authorization=authorization)
        health = await client.client.get(url.replace("/mcp", "/health"))

    assert [modern.status_code, opening.status_code] == [401, 401]
    assert modern.headers["www-authenticate"] == challenge
    assert (health.status_code, health.json()) == (200, {"status": "ok"})
    assert service.requests == []


@pytest.mark.fault("F19")
async def test_while_nobody_can_tell_who_comes_nobody_comes_in():
    async def failing(token: str):
        raise ToolError("The database failed.")

    service = FakeService()

    async with serving(service, authenticate=failing) as url, raw(url) as client:
        modern = await client.modern("tools/call", call("echo"), authorization="Bearer token-of-ann")

    assert modern.status_code == 503
    assert service.requests == []


async def test_a_token_tells_who_calls():
    service = FakeService()

    async with serving(service, tokens=TOKENS) as url, raw(url) as client:
        for authorization in (ANN, BOB):
            await client.modern("tools/call", call("echo"), authorization=authorization)

    assert [each.caller.principal for each in service.requests] == ["ann", "bob"]


async def test_a_session_belongs_to_whoever_opened_it():
    service = FakeService()

    async with serving(service, tokens=TOKENS) as url, raw(url) as client:
        await client.initialize(authorization=ANN)
        foreign = await client.handshake("tools/call", call("echo"), authorization=BOB)
        deleted = await client.client.delete(url, headers={"mcp-session-id": str(client.session), "authorization": BOB})
        own = await client.handshake("tools/call", call("echo"), authorization=ANN)

    assert [foreign.status_code, deleted.status_code, own.status_code] == [404, 404, 200]
    assert [each.caller.principal for each in service.requests] == ["ann"]


@pytest.mark.fault("F20")
async def test_a_token_goes_no_further_than_the_front(caplog):
    service = FakeService()
    caplog.set_level(logging.DEBUG, "toolcrib")

    async with serving(service, tokens=TOKENS) as url, raw(url) as client:
        await client.initialize(authorization=ANN)
        await client.handshake("tools/call", call("echo"), authorization=ANN)
        await client.modern("tools/call", call("echo"), authorization=ANN)

    assert len(service.requests) == 2
    assert "token-of-ann" not in repr(service.requests)
    assert "token-of-ann" not in caplog.text


@pytest.mark.fault("F19")
async def test_a_body_of_a_hundred_megabytes_is_refused_before_it_is_read():
    service = FakeService()

    async def body():
        for _ in range(100):
            yield b"x" * 1024 * 1024

    async with asyncio.timeout(20), serving(service) as url, raw(url) as client:
        declared = await client.client.post(url, content=b"{}" * 50 * 1024 * 1024, headers=ACCEPT)
        streamed = await client.client.post(url, content=body(), headers=ACCEPT)
        after = await client.modern("tools/call", call("echo"))

    assert (declared.status_code, streamed.status_code, after.status_code) == (413, 413, 200)
    assert service.calls == ["echo"]


async def test_a_body_that_comes_too_slowly_is_not_waited_for():
    front = HttpFront(FakeService(), settings=HttpFrontSettings(body_timeout=0.02))
    link = Link(None)

    async def first_part() -> dict[str, object]:
        if link.sent:
            return {"type": "http.disconnect"}
        if link.watched.is_set():
            await link.gone.wait()
        link.watched.set()
        return {"type": "http.request", "body": b'{"json', "more_body": True}

    async with asyncio.timeout(10):
        await front(link.scope, first_part, link.send)
        await front.aclose()

    assert link.sent[0]["status"] == 408
    assert (b"connection", b"close") in link.sent[0]["headers"]


async def test_a_refused_body_that_never_ends_is_not_followed_for_ever(monkeypatch):
    monkeypatch.setattr("toolcrib_mcp.front.http.body._LINGER_SECONDS", 0.02)
    front = HttpFront(FakeService(), settings=HttpFrontSettings(max_body=10))
    link = Link(None)

    async def trickle() -> dict[str, object]:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"more", "more_body": True}

    async with asyncio.timeout(10):
        await front(link.scope, trickle, link.send)
        await front.aclose()

    assert link.sent[0]["status"] == 413
    assert link.sent[-1] == {"type": "http.response.body", "body": b""}


async def test_a_client_that_goes_before_it_has_asked_is_forgotten():
    service = FakeService()
    front = HttpFront(service, settings=HttpFrontSettings())
    link = Link(None)
    await link.receive()
    link.gone.set()

    await front(link.scope, link.receive, link.send)
    await front.aclose()

    assert link.sent == []


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b'{"a": NaN}', -32700),
        (b"[" * 2000 + b"]" * 2000, -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","result":{}}', -32600),
    ],
)
async def test_what_is_no_message_is_refused(content, code):
    async with serving(FakeService()) as url, raw(url) as client:
        response = await client.client.post(url, content=content, headers=ACCEPT)

    assert (response.status_code, response.json()["error"]["code"]) == (400, code)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/json-seq"}, 415),
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"accept": "application/json"}, 406),
        ({"accept": "text/event-stream"}, 406),
        ({"accept": "*/*"}, 200),
        ({"accept": "application/*, text/*;q=0.5"}, 200),
    ],
)
async def test_content_types_are_checked(headers, status):
    async with serving(FakeService()) as url, raw(url) as client:
        response = await client.client.post(url, json=initialize(), headers={**ACCEPT, **headers})

    assert response.status_code == status


async def test_a_client_that_accepts_nothing_in_particular_is_told_what_it_must():
    front = HttpFront(FakeService(), settings=HttpFrontSettings())
    link = Link(initialize())
    link.scope["headers"] = [each for each in link.scope["headers"] if each[0] != b"accept"]

    await front(link.scope, link.receive, link.send)
    await front.aclose()

    assert link.sent[0]["status"] == 406


@pytest.mark.parametrize("name", [b"host", b"authorization", b"mcp-session-id"])
async def test_a_header_that_must_be_one_and_comes_twice_is_refused(name):
    service = FakeService()
    front = HttpFront(service, settings=HttpFrontSettings())
    link = Link(initialize())
    link.scope["headers"] = [*link.scope["headers"], (name, b"localhost"), (name, b"localhost")]

    await front(link.scope, link.receive, link.send)
    await front.aclose()

    assert link.sent[0]["status"] == 400
    assert front.sessions == 0


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("POST", "/mcp2", 404),
        ("POST", "/health", 404),
        ("GET", "/health", 200),
        ("OPTIONS", "/mcp", 405),
        ("PUT", "/mcp", 405),
        ("POST", "/mcp/", 200),
    ],
)
async def test_nothing_else_is_served(method, path, status):
    async with serving(FakeService()) as url, raw(url) as client:
        place = url.removesuffix("/mcp") + path
        response = await client.client.request(method, place, json=initialize(), headers=ACCEPT)

    assert response.status_code == status


async def test_the_front_can_stand_below_a_path_of_another_application():
    front = http_app(FakeService())
    link = Link(initialize())
    link.scope |= {"root_path": "/tools", "path": "/tools/mcp"}

    await front(link.scope, link.receive, link.send)
    await front.aclose()

    assert link.sent[0]["status"] == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "gateway.example", ""])
def test_the_network_is_not_served_without_tokens(host):
    with pytest.raises(ConfigError, match="no token") as refused:
        check_binding(host, HttpFrontSettings())

    assert refused.value.details["place"] == "host"
    check_binding(host, HttpFrontSettings(tokens=TOKENS))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]"])
def test_this_machine_alone_is_served_without_tokens(host):
    check_binding(host, HttpFrontSettings())


@pytest.mark.parametrize(
    "settings",
    [
        {"max_body": 0},
        {"max_sessions": 1.5},
        {"ping_interval": -1},
        {"tokens": {"ann": Secret("with space")}},
        {"tokens": {"ann": Secret("same"), "bob": Secret("same")}},
        {"allowed_hosts": ("http://x",)},
        {"allowed_hosts": ("x:80",)},
        {"allowed_origins": ("example.com",)},
        {"allowed_origins": ("https://example.com/path",)},
    ],
    ids=repr,
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings)).removesuffix("s")):
        HttpFrontSettings(**settings)
