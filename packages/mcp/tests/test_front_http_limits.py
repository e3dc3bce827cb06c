"""What a client may take up of the HTTP front, and what of a request is refused before anything is done with it."""

from __future__ import annotations

import asyncio
import logging
from urllib.parse import urlsplit

import orjson
import pytest
from front_http_cases import ACCEPT, FakeService, Link, call, modern, modern_headers, raw, serving

from toolcrib_mcp.front import Identity
from toolcrib_mcp.front.http import HttpFront, HttpFrontSettings
from toolcrib_mcp.front.http.bearer import MAX_TOKEN
from toolcrib_mcp.front.http.rates import MAX_BUCKETS, Rates
from toolcrib_mcp.front.http.replies import Refusal
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_runtime.testing import FakeClock

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-8.5")]

TOKENS = {"ann": Secret("token-of-ann"), "bob": Secret("token-of-bob")}
ANN, BOB = "Bearer token-of-ann", "Bearer token-of-bob"


async def _spoken(url: str, *parts: bytes) -> bytes:
    """What the front says to these bytes, until it closes the connection or has said a whole answer."""
    host, port = urlsplit(url).hostname, urlsplit(url).port
    reader, writer = await asyncio.open_connection(host, port)
    try:
        async with asyncio.timeout(30):
            for part in parts:
                writer.write(part)
                await writer.drain()
            return await reader.read(64 * 1024)
    finally:
        writer.close()


def _request(*lines: bytes, host: bytes = b"host: localhost\r\n", target: bytes = b"/mcp") -> bytes:
    return b"POST %b HTTP/1.1\r\n%bcontent-type: application/json\r\n%b\r\n" % (target, host, b"".join(lines))


@pytest.mark.req("GW-8.7")
async def test_a_principal_may_send_so_many_requests_and_is_told_when_to_come_again():
    service = FakeService()

    async with serving(service, tokens=TOKENS, requests_per_minute=3) as url, raw(url) as client:
        hers = [await client.modern("tools/call", call("echo"), authorization=ANN) for _ in range(4)]
        his = await client.modern("tools/call", call("echo"), authorization=BOB)
        health = await client.client.get(url.replace("/mcp", "/health"))

    assert [each.status_code for each in hers] == [200, 200, 200, 429]
    assert (his.status_code, health.status_code) == (200, 200)
    assert 1 <= int(hers[-1].headers["retry-after"]) <= 20
    assert hers[-1].json()["error"]["data"] == {"retryAfter": int(hers[-1].headers["retry-after"])}
    assert len(service.calls) == 4


@pytest.mark.req("GW-8.7")
async def test_where_nobody_is_asked_an_address_may_send_so_many():
    service = FakeService()

    async with serving(service, requests_per_minute=2) as url, raw(url) as client:
        responses = [await client.modern("tools/call", call("echo")) for _ in range(3)]

    assert [each.status_code for each in responses] == [200, 200, 429]
    assert len(service.calls) == 2


@pytest.mark.req("GW-8.7")
async def test_a_wrong_token_takes_nothing_from_whose_it_is_not():
    async with serving(FakeService(), tokens=TOKENS, requests_per_minute=1) as url, raw(url) as client:
        wrong = [await client.modern("tools/list", authorization="Bearer guess") for _ in range(3)]
        right = await client.modern("tools/list", authorization=ANN)

    assert {each.status_code for each in wrong} == {401}
    assert right.status_code == 200


async def test_a_bucket_fills_up_again():
    clock = FakeClock()
    rates, ann = Rates(60, clock=clock), Identity(name="ann")
    for _ in range(60):
        rates.take(ann, {})
    with pytest.raises(Refusal) as refused:
        rates.take(ann, {})

    await clock.advance(1)
    rates.take(ann, {})
    with pytest.raises(Refusal):
        rates.take(ann, {})
    await clock.advance(3600)
    for _ in range(60):
        rates.take(ann, {})
    with pytest.raises(Refusal):
        rates.take(ann, {})

    assert refused.value.headers == ((b"retry-after", b"1"),)


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (("192.0.2.1", 1), ("192.0.2.1", 2), True),
        (("192.0.2.1", 1), ("192.0.2.2", 1), False),
        (("2001:db8::1", 1), ("2001:db8::ffff", 1), True),
        (("2001:db8::1", 1), ("2001:db8:0:1::1", 1), False),
        (("::ffff:192.0.2.1", 1), ("192.0.2.1", 1), True),
        (("fe80::1%eth0", 1), ("fe80::2%eth0", 1), True),
        (None, None, True),
        (("unix", 1), ("192.0.2.1", 1), False),
    ],
)
def test_addresses_of_one_network_share_a_bucket(one, other, together):
    rates = Rates(1)
    rates.take(None, {"client": one})

    if together:
        with pytest.raises(Refusal):
            rates.take(None, {"client": other})
    else:
        rates.take(None, {"client": other})


def test_a_principal_and_an_address_of_the_same_name_do_not_share_a_bucket():
    rates = Rates(1)

    rates.take(None, {"client": ("192.0.2.1", 1)})
    rates.take(Identity(name="192.0.2.1"), {})

    assert len(rates) == 2


def test_no_crowd_of_clients_takes_more_memory_than_there_are_buckets():
    rates = Rates(1)

    for number in range(MAX_BUCKETS + 50):
        rates.take(Identity(name=f"client-{number}"), {})

    assert len(rates) == MAX_BUCKETS


@pytest.mark.parametrize("settings", [{"requests_per_minute": 0}, {"recheck_interval": 0}], ids=repr)
def test_limits_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        HttpFrontSettings(**settings)


@pytest.mark.fault("F19")
@pytest.mark.parametrize(
    "query",
    [
        "access_token=token-of-ann",
        "token=token-of-ann",
        "a=b&ACCESS_TOKEN=token-of-ann",
        "acc%65ss_token=token-of-ann",
        "access_token",
        "access_token=",
    ],
)
@pytest.mark.parametrize("path", ["/mcp", "/health", "/elsewhere"])
async def test_a_token_in_the_address_is_refused_and_never_repeated(query, path, caplog):
    service = FakeService()
    caplog.set_level(logging.DEBUG)

    async with serving(service, tokens=TOKENS) as url, raw(url) as client:
        place = url.replace("/mcp", f"{path}?{query}")
        alone = await client.client.post(place, json={}, headers=ACCEPT)
        beside = await client.client.get(place, headers={**ACCEPT, "authorization": ANN})

    assert (alone.status_code, beside.status_code) == (400, 400)
    assert "Authorization" in alone.text
    toolcribs = [each.getMessage() for each in caplog.records if not each.name.startswith("http")]
    assert "token-of-ann" not in alone.text + repr(alone.headers) + repr(toolcribs)
    assert service.requests == []


async def test_another_query_is_nobodys_business():
    async with serving(FakeService()) as url, raw(url) as client:
        client.url = f"{url}?tenant=1&tokens=7"
        response = await client.modern("tools/list")

    assert response.status_code == 200


@pytest.mark.fault("F19")
@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (b"Bearer token-of-\xe4nn", 400),
        (b"Bearer token-of-ann\xa0", 400),
        (b"Bearer token of ann", 400),
        (b"Bearer token-of-ann\tx", 400),
        (b"Bearer " + b"x" * (MAX_TOKEN + 1), 431),
        (b"Bearer " + b"x" * MAX_TOKEN, 401),
        (b"Bearer token-of-ann ", 200),
    ],
    ids=lambda each: repr(each)[:30],
)
async def test_a_header_that_carries_no_token_is_refused(authorization, status):
    message = modern("tools/list")
    front = HttpFront(FakeService(), settings=HttpFrontSettings(tokens=TOKENS))
    link = Link(message, **{name: str(each) for name, each in modern_headers(message).items()})
    link.scope["headers"].append((b"authorization", authorization))

    await front(link.scope, link.receive, link.send)
    await front.aclose()

    assert link.sent[0]["status"] == status


def _whole(*lines: bytes) -> bytes:
    """A request that is served if nothing in these lines is wrong."""
    message = modern("tools/list")
    body = orjson.dumps(message)
    repeated = [f"{name.replace('_', '-')}: {each}\r\n".encode() for name, each in modern_headers(message).items()]
    return _request(b"accept: */*\r\n", b"content-length: %d\r\n" % len(body), *repeated, *lines) + body


async def test_a_request_with_a_plain_header_is_served():
    service = FakeService()

    async with serving(service, tokens=TOKENS) as url:
        answer = await _spoken(url, _whole(b"authorization: Bearer token-of-ann\r\n"))

    assert answer.startswith(b"HTTP/1.1 200")
    assert len(service.requests) == 1


@pytest.mark.fault("F19")
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"authorization: Bearer token-of-ann\r\nauthorization: Bearer token-of-bob\r\n", id="two"),
        pytest.param(b"authorization: Bearer token-of-ann\nx-evil: 1\r\n", id="a bare line feed"),
        pytest.param(b"authorization: Bearer token-of\r-ann\r\n", id="a bare carriage return"),
        pytest.param(b"authorization: Bearer token-of-ann\x00\r\n", id="a zero byte"),
        pytest.param(b"authorization : Bearer token-of-ann\r\n", id="a blank before the colon"),
        pytest.param(b"authorization: Bearer\r\n token-of-ann\r\n", id="a folded line"),
        pytest.param(b"authorization: Bearer token-of-ann\r\ntransfer-encoding: chunked\r\n", id="two lengths"),
        pytest.param(b"authorization: Bearer token-of-ann\r\ncontent-length: 3\r\n", id="contradicting lengths"),
    ],
)
async def test_headers_that_two_readers_could_read_differently_are_refused(line):
    service = FakeService()

    async with serving(service, tokens=TOKENS) as url:
        answer = await _spoken(url, _whole(line))

    assert answer.startswith(b"HTTP/1.1 4")
    assert b"token-of-ann" not in answer
    assert b"x-evil" not in answer
    assert service.requests == []


async def test_a_line_break_that_is_written_in_another_way_stays_what_it_is():
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        await client.initialize()
        response = await client.post(modern("tools/list"), mcp_session_id="x%0d%0aset-cookie: a=b")

    assert "set-cookie" not in response.headers


@pytest.mark.fault("F19")
@pytest.mark.parametrize(
    "host",
    [
        pytest.param(b"", id="none"),
        pytest.param(b"host: \r\n", id="empty"),
        pytest.param(b"host: evil.example\r\n", id="foreign"),
        pytest.param(b"host: localhost:80@evil.example\r\n", id="behind a port"),
        pytest.param(b"host: localhost:80:80\r\n", id="two ports"),
        pytest.param(b"host: localhost:123456\r\n", id="no port"),
        pytest.param(b"host: localhost:\r\n", id="an empty port"),
        pytest.param(b"host: localhost:8O\r\n", id="a port that is none"),
        pytest.param(b"host: localhost.\r\n", id="with a dot"),
        pytest.param(b"host: localhost, evil.example\r\n", id="two in one"),
        pytest.param(b"host: [::1]evil.example\r\n", id="behind brackets"),
        pytest.param(b"host: evil.example#localhost\r\n", id="before a fragment"),
        pytest.param(b"host: 127.1\r\n", id="a short address"),
        pytest.param(b"host: 0x7f000001\r\n", id="an address in hex"),
        pytest.param(b"host: evil.example\r\nx-forwarded-host: localhost\r\n", id="forwarded"),
    ],
)
async def test_a_page_cannot_reach_the_front_by_a_name_of_its_own(host):
    service = FakeService()

    async with serving(service) as url:
        answer = await _spoken(url, _request(b"content-length: 2\r\naccept: */*\r\n", host=host) + b"{}")
        old = await _spoken(url, b"POST /mcp HTTP/1.0\r\n%bcontent-length: 2\r\n\r\n{}" % host)

    assert answer.startswith(b"HTTP/1.1 421")
    assert b" 421 " in old
    assert service.requests == []


@pytest.mark.fault("F19")
async def test_two_hosts_are_refused():
    async with serving(FakeService()) as url:
        both = b"host: localhost\r\nhost: evil.example\r\n"
        answer = await _spoken(url, _request(b"content-length: 2\r\n", host=both) + b"{}")

    assert answer.startswith(b"HTTP/1.1 400")


@pytest.mark.fault("F19", "K12")
@pytest.mark.parametrize("framing", [b"content-length: 100000000\r\n", b"transfer-encoding: chunked\r\n"])
@pytest.mark.parametrize(
    ("line", "status"),
    [(b"", b"401"), (b"authorization: Bearer wrong\r\n", b"401"), (b"origin: https://e\r\n", b"403")],
)
async def test_the_body_of_whoever_may_not_come_in_is_not_waited_for(framing, line, status):
    service = FakeService()

    async with serving(service, tokens=TOKENS) as url:
        answer = await _spoken(url, _request(framing, line, b"accept: */*\r\n"))

    assert answer.split(b" ")[1] == status
    assert b"connection: close" in answer.lower()
    assert service.requests == []


@pytest.mark.fault("F19")
async def test_of_the_body_of_whoever_may_not_come_in_no_more_is_dropped_than_others_may_send():
    front = HttpFront(FakeService(), settings=HttpFrontSettings(tokens=TOKENS, max_body=1000))
    link = Link(None, transfer_encoding="chunked")
    taken = 0

    async def flood() -> dict[str, object]:
        nonlocal taken
        taken += 100
        return {"type": "http.request", "body": b"x" * 100, "more_body": True}

    async with asyncio.timeout(30):
        await front(link.scope, flood, link.send)
        await front.aclose()

    assert link.sent[0]["status"] == 401
    assert taken <= 1200


async def test_a_client_whose_small_request_is_refused_keeps_its_connection():
    async with serving(FakeService(), tokens=TOKENS) as url, raw(url) as client:
        refused = await client.modern("tools/list")
        served = await client.modern("tools/list", authorization=ANN)

    assert (refused.status_code, served.status_code) == (401, 200)
    assert "connection" not in refused.headers


async def test_a_large_request_that_came_whole_and_is_refused_then_keeps_its_connection():
    async with asyncio.timeout(30), serving(FakeService()) as url, raw(url) as client:
        await client.initialize()
        response = await client.handshake("tools/call", call("echo", nonce="x" * 200_000), mcp_session_id="unknown")

    assert response.status_code == 404
    assert "connection" not in response.headers


@pytest.mark.fault("F19")
@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
async def test_a_body_beyond_the_configured_size_is_refused(chunked):
    service = FakeService()
    body = b"x" * 300_000

    async def parts():
        yield body

    async with asyncio.timeout(30), serving(service, max_body=200_000) as url, raw(url) as client:
        response = await client.client.post(url, content=parts() if chunked else body, headers=ACCEPT)

    assert (response.status_code, service.requests) == (413, [])
