"""Dialling: names are resolved once, every answer is judged, and only judged addresses see a packet."""

from __future__ import annotations

import asyncio
import socket
import time

import httpcore2
import pytest
from loopback import FakeResolver, answer, header_of, serving

from toolcrib_runtime.errors import BlockedAddress, FetchFailed, InvalidUrl
from toolcrib_runtime.guards.net.client import GuardedClient
from toolcrib_runtime.guards.net.dial import GuardedBackend, checked_addresses, system_resolver
from toolcrib_runtime.guards.net.grant import NetGrant

LOCAL = NetGrant(allow_loopback=True, allow_http=True)
NO_GRANT = NetGrant(allow_http=True)


@pytest.mark.fault("E1", "E2")
@pytest.mark.enable_socket
@pytest.mark.parametrize(
    "host",
    "127.0.0.1 0.0.0.0 [::] [::1] localhost a.localhost 0x7f000001 2130706433 127.1 0 0177.0.0.1 127.0.0.1. "
    "[::ffff:127.0.0.1] [::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::] [2600::5efe:127.0.0.1] "
    "[::1%25lo] 127。0。0。1 ①②⑦.0.0.1".split(),
)
async def test_no_spelling_of_loopback_sends_a_packet_without_a_grant(host):
    async with serving(answer()) as server, GuardedClient(NO_GRANT) as client:
        with pytest.raises((BlockedAddress, InvalidUrl)):
            await client.fetch("GET", server.url(host=host))

    assert server.connections == 0


@pytest.mark.fault("E1", "E2", "E3")
@pytest.mark.parametrize(
    "address",
    "10.0.0.1 192.168.0.1 169.254.169.254 100.64.0.1 224.0.0.1 240.0.0.1 0.0.0.0 fd00:ec2::254 fe80::1 fe80::1%eth0 "
    "64:ff9b::a00:1 ::ffff:10.0.0.1 2002:a00:1:: 168.63.129.16 100.100.100.200 192.0.0.192 nonsense".split(),
)
async def test_a_name_that_leads_to_a_forbidden_address_opens_no_socket(address):
    # Without `enable_socket`, opening one would be an error of its own.
    resolver = FakeResolver({"evil.example": [[address]]})

    async with GuardedClient(LOCAL, resolver=resolver) as client:
        with pytest.raises(BlockedAddress):
            await client.fetch("GET", "https://evil.example/")


@pytest.mark.fault("E4")
@pytest.mark.parametrize("answers", [["1.1.1.1", "10.0.0.1"], ["10.0.0.1", "1.1.1.1"], ["2606:4700::1", "fd00::1"]])
async def test_one_private_answer_among_public_ones_blocks_the_name(answers):
    async with GuardedClient(NO_GRANT, resolver=FakeResolver({"mixed.example": [answers]})) as client:
        with pytest.raises(BlockedAddress, match="private"):
            await client.fetch("GET", "https://mixed.example/")


@pytest.mark.fault("E4")
@pytest.mark.enable_socket
async def test_an_answer_that_changes_after_the_check_changes_nothing():
    resolver = FakeResolver({"rebind.example": [["127.0.0.1"], ["10.0.0.1"]]})

    async with serving(answer(body=b"checked")) as server, GuardedClient(LOCAL, resolver=resolver) as client:
        url = server.url(host="rebind.example")
        first = await client.fetch("GET", url)
        asked_before = list(resolver.asked)
        with pytest.raises(BlockedAddress):
            await client.fetch("GET", url)

    assert (first.body, asked_before) == (b"checked", ["rebind.example"])
    assert header_of(server.requests[0], "Host") == f"rebind.example:{server.port}"
    assert server.connections == 1


@pytest.mark.enable_socket
async def test_an_address_that_does_not_answer_is_followed_by_the_next_one():
    resolver = FakeResolver({"twice.example": [["127.0.0.2", "::1", "127.0.0.1"]]})

    async with serving(answer(body=b"here")) as server, GuardedClient(LOCAL, resolver=resolver) as client:
        response = await client.fetch("GET", server.url(host="twice.example"))

    assert response.body == b"here"


class SilentNetwork(httpcore2.AsyncNetworkBackend):
    """A network in which no address answers; it notes how long each was waited for."""

    def __init__(self):
        self.waited = []

    async def connect_tcp(self, host, port, **options):
        self.waited.append((host, options["timeout"]))
        raise httpcore2.ConnectTimeout


async def test_a_few_addresses_share_the_time_for_connecting():
    addresses = [f"1.1.1.{number}" for number in range(1, 9)]
    backend = GuardedBackend(NO_GRANT, resolver=FakeResolver({"many.example": [addresses]}))
    backend._network = network = SilentNetwork()

    with pytest.raises(httpcore2.ConnectTimeout):
        await backend.connect_tcp("many.example", 443, timeout=12)

    hosts, seconds = zip(*network.waited, strict=True)
    assert hosts == ("1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4")
    assert seconds == pytest.approx((3, 4, 6, 12), abs=1)


async def test_a_name_that_does_not_resolve_is_a_failure_without_effect():
    async def resolver(host, port):
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    async with GuardedClient(LOCAL, resolver=resolver) as client:
        with pytest.raises(FetchFailed, match="does not resolve") as raised:
            await client.fetch("GET", "https://nowhere.example/?key=hunter2")

    assert raised.value.details == {"sent": False}
    assert "hunter2" not in str(raised.value.to_dict())


async def test_a_name_without_addresses_does_not_resolve():
    async with GuardedClient(LOCAL, resolver=FakeResolver({"empty.example": [[]]})) as client:
        with pytest.raises(FetchFailed, match="does not resolve"):
            await client.fetch("GET", "https://empty.example/")


async def test_a_resolver_that_hangs_is_given_up():
    cancelled = asyncio.Event()

    async def resolver(host, port):
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    backend = GuardedBackend(LOCAL, resolver=resolver)
    started = time.monotonic()

    with pytest.raises(httpcore2.ConnectTimeout, match="took too long"):
        await backend.connect_tcp("slow.example", 443, timeout=0.05)

    assert cancelled.is_set()
    assert time.monotonic() - started < 5


async def test_localhost_and_addresses_are_known_without_a_resolver():
    resolver = FakeResolver({})

    addresses = [
        *await checked_addresses("localhost", 80, grant=LOCAL, resolver=resolver),
        *await checked_addresses("1.1.1.1", 80, grant=LOCAL, resolver=resolver),
    ]

    assert [str(address) for address in addresses] == ["127.0.0.1", "::1", "1.1.1.1"]
    assert resolver.asked == []


async def test_the_system_resolver_gives_each_address_once(monkeypatch):
    def getaddrinfo(*args, **options):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in ("1.1.1.1", "1.1.1.1")]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    assert await system_resolver("example.com", 443) == ("1.1.1.1",)
