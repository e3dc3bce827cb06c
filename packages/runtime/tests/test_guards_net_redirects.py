"""Redirects: every hop is judged anew, and credentials stay with the origin they were meant for."""

from __future__ import annotations

import httpx2
import pytest
from loopback import FakeResolver, answer, header_of, serving

from toolcrib_runtime.errors import BlockedAddress, FetchFailed, InvalidUrl
from toolcrib_runtime.guards.net.client import FetchLimits, GuardedClient
from toolcrib_runtime.guards.net.grant import NetGrant
from toolcrib_runtime.guards.net.redirects import Hop, next_hop

LOCAL = NetGrant(allow_loopback=True)
CREDENTIALS = {
    "Authorization": "Bearer hunter2",
    "Cookie": "session=hunter2",
    "Proxy-Authorization": "Basic hunter2",
    "X-Api-Key": "hunter2",
    "Accept": "application/json",
}


def redirect(location: str, status: str = "302 Found") -> bytes:
    return answer(status, f"Location: {location}")


@pytest.mark.enable_socket
async def test_a_redirect_is_followed_and_told():
    async with serving(redirect("/next?page=2"), answer(body=b"there")) as server, GuardedClient(LOCAL) as client:
        response = await client.fetch("GET", server.url("/first"), headers=CREDENTIALS)

    assert (response.body, response.url) == (b"there", server.url("/next?page=2"))
    assert response.redirects == (server.url("/first"),)
    assert header_of(server.requests[1], "Authorization") == "Bearer hunter2"


@pytest.mark.fault("E5")
@pytest.mark.enable_socket
async def test_credentials_are_dropped_when_a_redirect_leads_to_another_origin():
    async with serving(answer()) as other, serving(redirect(other.url())) as first, GuardedClient(LOCAL) as client:
        await client.fetch("GET", first.url(), headers=CREDENTIALS)

    assert b"hunter2" in first.requests[0]
    assert b"hunter2" not in other.requests[0]
    assert header_of(other.requests[0], "Accept") == "application/json"


@pytest.mark.fault("E5")
@pytest.mark.enable_socket
async def test_credentials_do_not_come_back_when_a_redirect_returns_to_the_first_origin():
    async def send_back(writer):
        writer.write(redirect(home.url("/back")))

    async with (
        serving(send_back) as away,
        serving(redirect(away.url()), answer()) as home,
        GuardedClient(LOCAL) as client,
    ):
        response = await client.fetch("GET", home.url(), headers=CREDENTIALS)

    assert response.url == home.url("/back")
    assert b"hunter2" not in home.requests[1]


@pytest.mark.fault("E5", "E3")
@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("http://10.0.0.1/", BlockedAddress),
        ("http://169.254.169.254/latest/meta-data/", BlockedAddress),
        ("//192.168.0.1/", BlockedAddress),
        ("http://private.example/", BlockedAddress),
        ("file:///etc/passwd", InvalidUrl),
        ("gopher://127.0.0.1/", InvalidUrl),
        ("http://user:hunter2@127.0.0.1/", InvalidUrl),
        ("http://2130706433/", InvalidUrl),
        ("http://[/", InvalidUrl),
        ("/back\\slash", InvalidUrl),
    ],
)
async def test_a_redirect_to_a_forbidden_place_is_not_followed(location, error):
    resolver = FakeResolver({"private.example": [["10.0.0.1"]]})
    grant = NetGrant(allow_loopback=True, allow_http=True)

    async with serving(redirect(location), answer()) as server, GuardedClient(grant, resolver=resolver) as client:
        with pytest.raises(error) as raised:
            await client.fetch("GET", server.url())

        assert "hunter2" not in str(raised.value.to_dict())
        assert (await client.fetch("GET", server.url())).status == 200


@pytest.mark.fault("E5")
@pytest.mark.enable_socket
async def test_a_loop_of_redirects_ends_after_five():
    async with serving(redirect("/again")) as server, GuardedClient(LOCAL) as client:
        with pytest.raises(FetchFailed, match="after 5 redirects") as raised:
            await client.fetch("GET", server.url())

    assert not raised.value.retryable
    assert len(server.requests) == 6


@pytest.mark.fault("E5")
@pytest.mark.enable_socket
async def test_five_redirects_are_followed_and_fewer_where_the_caller_says_so():
    hops = [redirect(f"/{number}") for number in range(5)]

    async with serving(*hops, answer(body=b"end")) as server, GuardedClient(LOCAL) as client:
        assert (await client.fetch("GET", server.url())).body == b"end"
    async with serving(*hops) as server, GuardedClient(LOCAL, limits=FetchLimits(max_redirects=0)) as client:
        with pytest.raises(FetchFailed, match="after 0 redirects"):
            await client.fetch("GET", server.url())


@pytest.mark.fault("E5")
@pytest.mark.enable_socket
async def test_a_redirect_to_nowhere_is_an_honest_failure():
    async with serving(answer("301 Moved Permanently")) as server, GuardedClient(LOCAL) as client:
        with pytest.raises(FetchFailed, match="does not say where to") as raised:
            await client.fetch("GET", server.url())

    assert not raised.value.retryable


@pytest.mark.enable_socket
async def test_a_redirect_is_an_answer_for_who_does_not_follow():
    async with serving(redirect("http://10.0.0.1/")) as server, GuardedClient(LOCAL) as client:
        response = await client.fetch("GET", server.url(), follow_redirects=False)

    assert (response.status, response.headers["location"]) == (302, "http://10.0.0.1/")


@pytest.mark.enable_socket
@pytest.mark.parametrize("status", ["300 Multiple Choices", "304 Not Modified"])
async def test_not_every_status_of_the_three_hundreds_is_a_redirect(status):
    async with serving(redirect("/elsewhere", status)) as server, GuardedClient(LOCAL) as client:
        response = await client.fetch("GET", server.url())

    assert str(response.status) in status


@pytest.mark.fault("E5")
def test_a_redirect_from_https_to_http_is_refused_even_where_http_is_granted():
    hop = Hop(method="GET", url=httpx2.URL("https://example.com/?key=hunter2"))

    with pytest.raises(FetchFailed, match="from https to plain http") as raised:
        next_hop(hop, status=302, location="http://example.com/", grant=NetGrant(allow_http=True))

    assert "hunter2" not in str(raised.value.to_dict())


@pytest.mark.parametrize(
    ("method", "status", "following"),
    [
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
        ("PUT", 302, "PUT"),
        ("DELETE", 303, "GET"),
        ("HEAD", 303, "HEAD"),
        ("GET", 301, "GET"),
    ],
)
def test_method_and_body_change_as_the_standard_says(method, status, following):
    headers = (("Content-Type", "text/plain"), ("X-Mine", "1"))
    hop = Hop(method=method, url=httpx2.URL("https://a.example/"), headers=headers, content=b"body")

    after = next_hop(hop, status=status, location="/b", grant=NetGrant())

    changed = following != method
    assert after.method == following
    assert after.content == (b"" if changed else b"body")
    assert after.headers == (headers[1:] if changed else headers)


def test_a_body_goes_along_to_another_origin_with_its_type_and_without_keys():
    headers = (("Content-Type", "text/plain"), ("X-Api-Key", "hunter2"))
    hop = Hop(method="POST", url=httpx2.URL("https://a.example/"), headers=headers, content=b"body")

    after = next_hop(hop, status=308, location="https://a.example:444/", grant=NetGrant())

    assert (after.headers, after.content) == (headers[:1], b"body")


def test_a_hop_shows_no_secret():
    hop = Hop(method="POST", url=httpx2.URL("https://a.example/?key=hunter2"), content=b"hunter2")

    assert repr(hop) == "Hop(method='POST')"
