"""The guarded client: what is sent, what comes back, and that it goes on working afterwards."""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from time import time

import pytest
from loopback import FakeResolver, answer, endlessly, header_of, serving, silence

from toolcrib_runtime.errors import FetchFailed, InvalidRequest, InvalidUrl, OutputTooLarge
from toolcrib_runtime.guards.net.client import FetchLimits, GuardedClient
from toolcrib_runtime.guards.net.grant import NetGrant
from toolcrib_runtime.guards.net.headers import MAX_RETRY_AFTER, retry_after

LOCAL = NetGrant(allow_loopback=True)
SECRET = "hunter2"


@pytest.mark.enable_socket
async def test_a_request_goes_out_as_written_and_its_answer_comes_back_whole():
    async with serving(answer("201 Created", "X-Id: 7", body=b"made")) as server, GuardedClient(LOCAL) as client:
        response = await client.fetch(
            "post", server.url("/things?a=b#c"), headers={"Authorization": "Bearer t"}, content=b"{}"
        )

    assert (response.status, response.body, response.headers["x-id"]) == (201, b"made", "7")
    assert (response.url, response.redirects) == (server.url("/things?a=b"), ())
    assert server.requests == [
        f"POST /things?a=b HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUser-Agent: toolcrib\r\nAccept: */*\r\n"
        "Authorization: Bearer t\r\nContent-Length: 2\r\nAccept-Encoding: gzip, identity\r\n\r\n{}".encode()
    ]


@pytest.mark.enable_socket
async def test_a_caller_may_replace_what_the_client_says_of_itself():
    async with serving(answer()) as server, GuardedClient(LOCAL) as client:
        await client.fetch("GET", server.url(), headers={"user-agent": "mine", "ACCEPT": "text/plain"})

    assert header_of(server.requests[0], "User-Agent") == "mine"
    assert header_of(server.requests[0], "Accept") == "text/plain"
    assert server.requests[0].lower().count(b"user-agent") == 1


@pytest.mark.fault("E9")
@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("reply", "status", "body"),
    [
        (answer("500 Internal Server Error", body=b"oops"), 500, b"oops"),
        (answer("200 OK", "Content-Type: text/html", body=b"<html>"), 200, b"<html>"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (answer("404 Not Found"), 404, b""),
        (answer(body=b'{"half":'), 200, b'{"half":'),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
    ],
)
async def test_every_status_and_body_is_an_answer(reply, status, body):
    async with serving(reply) as server, GuardedClient(LOCAL) as client:
        response = await client.fetch("GET", server.url())

    assert (response.status, response.body) == (status, body)


@pytest.mark.fault("E9")
@pytest.mark.enable_socket
async def test_the_wait_that_a_server_asks_for_is_bounded():
    reply = answer("429 Too Many Requests", f"Retry-After: {10**9}")

    async with serving(reply) as server, GuardedClient(LOCAL) as client:
        response = await client.fetch("GET", server.url())

    assert (response.status, response.retry_after) == (429, MAX_RETRY_AFTER)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("120", 120.0),
        ("0" * 30 + "5", 5.0),
        ("9" * 5000, MAX_RETRY_AFTER),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("٣", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_RETRY_AFTER),
    ],
)
def test_a_wait_is_read_as_seconds_or_as_a_date(value, seconds):
    assert retry_after(value) == seconds


def test_a_date_in_the_near_future_is_a_wait_until_then():
    assert retry_after(formatdate(time() + 100, usegmt=True)) == pytest.approx(100, abs=10)


@pytest.mark.fault("C8")
@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Token", f"{SECRET}\r\nHost: evil"),
        ("X-Token", f"{SECRET}\n"),
        ("X-Token", f"{SECRET}\x00"),
        ("X-Token: a\r\nX-Other", SECRET),
        ("X Token", SECRET),
        ("", SECRET),
        ("Host", SECRET),
        ("X-Name", f"é{SECRET}"),
        ("é", SECRET),
        ("content-length", SECRET),
        ("Transfer-Encoding", SECRET),
        ("Accept-Encoding", SECRET),
    ],
)
async def test_a_header_that_could_pass_for_something_else_is_refused_before_anything_is_sent(name, value):
    async with serving(answer()) as server, GuardedClient(LOCAL) as client:
        with pytest.raises(InvalidRequest) as raised:
            await client.fetch("GET", server.url(), headers={name: value})

    assert server.connections == 0
    assert SECRET not in str(raised.value.to_dict())


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "", "GET /\r\n", "PRI"])
async def test_a_method_that_tools_have_no_use_for_is_refused(method):
    async with GuardedClient(LOCAL) as client:
        with pytest.raises(InvalidRequest, match="Use one of GET"):
            await client.fetch(method, "https://example.com/")


@pytest.mark.fault("E8")
@pytest.mark.enable_socket
@pytest.mark.parametrize(
    "reply",
    [
        answer("200 OK", *(f"X-{number}: 1" for number in range(200))),
        answer("200 OK", *(f"X-{number}: {'a' * 9000}" for number in range(8))),
        answer("200 OK", f"X-Long: {'a' * 200_000}"),
        endlessly(b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n"),
        endlessly(b"", b"HTTP/1.1 200 and no end "),
    ],
)
async def test_headers_are_bounded(reply):
    async with serving(reply, answer()) as server, GuardedClient(LOCAL) as client:
        with pytest.raises(OutputTooLarge, match="header"):
            await client.fetch("GET", server.url())

        assert (await client.fetch("GET", server.url())).status == 200


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    "reply", [b"", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200 OK\r\nNo colon\r\n\r\n", answer(body=b"short", length=99)]
)
async def test_an_answer_that_is_not_http_or_breaks_off_is_a_failure_that_may_have_had_an_effect(reply):
    async with serving(reply, answer()) as server, GuardedClient(LOCAL) as client:
        with pytest.raises(FetchFailed, match="broke off") as raised:
            await client.fetch("GET", server.url(f"/?key={SECRET}"))

        assert raised.value.retryable
        assert raised.value.details == {"sent": True}
        assert SECRET not in str(raised.value.to_dict())
        assert (await client.fetch("GET", server.url())).status == 200


@pytest.mark.enable_socket
async def test_a_server_that_is_not_there_is_a_failure_without_effect():
    async with serving(answer()) as server:
        gone = server.url()

    async with GuardedClient(LOCAL) as client:
        with pytest.raises(FetchFailed, match="does not take a connection") as raised:
            await client.fetch("POST", gone)

    assert raised.value.retryable
    assert raised.value.details == {"sent": False}


@pytest.mark.enable_socket
async def test_the_body_is_bounded_while_it_comes():
    endless = endlessly(answer(length=10**9), b"x" * 10_000)
    limits = FetchLimits(max_bytes=100_000)

    async with serving(endless, answer(body=b"12345")) as server, GuardedClient(LOCAL, limits=limits) as client:
        with pytest.raises(OutputTooLarge, match="100,000 bytes"):
            await client.fetch("GET", server.url())

        assert (await client.fetch("GET", server.url(), max_bytes=5)).body == b"12345"
        with pytest.raises(OutputTooLarge):
            await client.fetch("GET", server.url(), max_bytes=4)


@pytest.mark.enable_socket
async def test_cookies_are_not_kept():
    async with serving(answer("200 OK", f"Set-Cookie: session={SECRET}")) as server, GuardedClient(LOCAL) as client:
        await client.fetch("GET", server.url())
        await client.fetch("GET", server.url())

    assert header_of(server.requests[1], "Cookie") is None


@pytest.mark.enable_socket
async def test_concurrent_fetches_get_their_own_answers():
    async def echo(writer):
        writer.write(answer(body=server.requests[-1].split()[1]))

    async with serving(echo) as server, GuardedClient(LOCAL) as client:
        responses = await asyncio.gather(*(client.fetch("GET", server.url(f"/{number}")) for number in range(100)))

    assert [response.body for response in responses] == [f"/{number}".encode() for number in range(100)]


@pytest.mark.enable_socket
async def test_a_cancelled_fetch_ends_at_once_and_spoils_nothing():
    async with serving(silence, answer()) as server, GuardedClient(LOCAL) as client:
        task = asyncio.create_task(client.fetch("GET", server.url()))
        await asyncio.wait_for(server.asked.wait(), 5)

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert (await client.fetch("GET", server.url())).status == 200


@pytest.mark.enable_socket
async def test_a_response_shows_only_its_status():
    reply = answer("200 OK", f"X-Key: {SECRET}", body=SECRET.encode())

    async with serving(reply) as server, GuardedClient(LOCAL) as client:
        response = await client.fetch("GET", server.url(f"/?key={SECRET}"))

    assert repr(response) == "FetchResponse(status=200)"


async def test_a_client_that_is_not_open_says_how_to_open_it():
    client = GuardedClient(LOCAL)

    with pytest.raises(RuntimeError, match="async with"):
        await client.fetch("GET", "https://example.com/")


@pytest.mark.fault("E6")
async def test_a_bad_url_is_refused_before_its_name_is_resolved():
    resolver = FakeResolver({})

    async with GuardedClient(LOCAL, resolver=resolver) as client:
        with pytest.raises(InvalidUrl):
            await client.fetch("GET", "https://user:password@example.com/")

    assert resolver.asked == []
