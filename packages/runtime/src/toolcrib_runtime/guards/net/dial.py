"""Connections to checked addresses only: the address that was judged is the one that is dialled."""

# ruff: noqa: ASYNC109  # the signatures are those of httpcore2

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Final, Protocol, TypeAlias

import httpcore2

from toolcrib_runtime.guards.net.addresses import IpAddress, check_address
from toolcrib_runtime.guards.net.grant import NetGrant, is_localhost

# Who names no time for connecting gets this much for all of it: names, addresses, no matter how many.
DEFAULT_CONNECT_SECONDS: Final = 10.0
_MAX_DIALLED: Final = 4
_LOCALHOST: Final = ("127.0.0.1", "::1")

SocketOption: TypeAlias = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class Resolver(Protocol):
    """Turns a host name into IP addresses, the preferred ones first."""

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """The addresses of the host.

        Raises:
            OSError: The name does not resolve.
        """
        ...


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """The addresses that the machine's own resolver knows.

    A caller that stops waiting leaves a thread behind until the resolver gives up; asyncio bounds their number.
    """
    answers = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answers))


async def checked_addresses(host: str, port: int, *, grant: NetGrant, resolver: Resolver) -> tuple[IpAddress, ...]:
    """Every address of the host, once each of them is granted.

    One bad answer spoils all: who controls a name and mixes public with private answers waits for the right one to be
    picked. An address stands for itself, and names under `localhost` never leave the machine.

    Raises:
        BlockedAddress: An answer is an address that is not granted.
        OSError: The name does not resolve.
    """
    answers = await _answers(host, port, resolver)
    if not answers:
        raise socket.gaierror(socket.EAI_NONAME, "no addresses")
    return tuple(check_address(answer, grant) for answer in answers)


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """The network as httpcore2 sees it: names are resolved and judged here, and nothing else is dialled.

    TLS still verifies the name, because httpcore2 starts it with the host of the URL.
    """

    def __init__(self, grant: NetGrant, *, resolver: Resolver = system_resolver) -> None:
        self._grant = grant
        self._resolver = resolver
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a checked address of the host.

        Raises:
            BlockedAddress: The host leads to an address that is not granted.
            httpcore2.ConnectError: The name does not resolve, or no address answers.
            httpcore2.ConnectTimeout: It took too long.
        """
        until = time.monotonic() + (DEFAULT_CONNECT_SECONDS if timeout is None else timeout)
        addresses = (await self._resolve(host, port, until))[:_MAX_DIALLED]
        failure: Exception = httpcore2.ConnectError("no address")
        for tried, address in enumerate(addresses):
            # A fair share of the time each, so that one silent address does not hide a good one.
            share = max(0.0, until - time.monotonic()) / (len(addresses) - tried)
            try:
                return _Stream(
                    await self._network.connect_tcp(
                        str(address), port, timeout=share, local_address=local_address, socket_options=socket_options
                    )
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def _resolve(self, host: str, port: int, until: float) -> tuple[IpAddress, ...]:
        try:
            async with asyncio.timeout(until - time.monotonic()) as patience:
                return await checked_addresses(host, port, grant=self._grant, resolver=self._resolver)
        except OSError as error:
            if patience.expired():
                raise httpcore2.ConnectTimeout("resolving the host name took too long") from error
            raise httpcore2.ConnectError("the host name does not resolve") from error


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that is closed when TLS is not reached, also by cancellation: httpcore2 1.0 leaves it open then."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            return await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            await self._stream.aclose()
            raise


async def _answers(host: str, port: int, resolver: Resolver) -> Sequence[str]:
    try:
        return (str(ip_address(host)),)
    except ValueError:
        return _LOCALHOST if is_localhost(host) else await resolver(host, port)
