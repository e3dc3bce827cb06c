"""A guarded HTTP client: one request and its whole answer, bounded in time, size, number and reach."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import httpx2

from toolcrib_runtime.guards.net.dial import Resolver
from toolcrib_runtime.guards.net.exchange import Exchange, FetchResponse
from toolcrib_runtime.guards.net.grant import NetGrant
from toolcrib_runtime.guards.net.headers import check_method, check_own_headers
from toolcrib_runtime.guards.net.redirects import MAX_REDIRECTS, Hop
from toolcrib_runtime.guards.net.transport import guarded_transport
from toolcrib_runtime.guards.net.urls import parse_url


@dataclass(frozen=True, kw_only=True)
class FetchLimits:
    """What one fetch may take, unless the caller asks for something else."""

    seconds: float = 30.0
    max_bytes: int = 10 * 1024 * 1024
    max_redirects: int = MAX_REDIRECTS


class GuardedClient:
    """An HTTP client for tools, as an async context manager; the grant says what it may reach.

    Connections are kept for a few seconds and shared by concurrent fetches. Cookies are not kept.
    """

    def __init__(self, grant: NetGrant, *, resolver: Resolver | None = None, limits: FetchLimits | None = None) -> None:
        self._grant = grant
        self._resolver = resolver
        self._limits = limits or FetchLimits()
        self._transport: httpx2.AsyncBaseTransport | None = None

    async def __aenter__(self) -> Self:
        self._transport = guarded_transport(self._grant, resolver=self._resolver)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        transport, self._transport = self._opened(), None
        await transport.aclose()

    async def fetch(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        seconds: float | None = None,
        deadline: float | None = None,
        follow_redirects: bool = True,
        same_origin: bool = False,
        max_bytes: int | None = None,
    ) -> FetchResponse:
        """Send one request and read its whole answer; a status other than 2xx is an answer, too.

        `seconds` count from now, `deadline` is a moment of `time.monotonic()`. The earlier one ends everything:
        names, connections, headers, body and redirects. `details["sent"]` of `DeadlineExceeded` and `FetchFailed` says
        whether the request may have reached a server. With `same_origin`, a redirect to another host, port or scheme is
        not followed, and nothing is sent there.

        Raises:
            InvalidUrl: The URL, or that of a redirect, is not one that is requested.
            InvalidRequest: The method or a header is not one that is sent.
            BlockedAddress: The URL, or that of a redirect, leads where the grant does not.
            DeadlineExceeded: Time ran out.
            FetchFailed: No connection, bad TLS, a broken answer, or a redirect that is not followed.
            OutputTooLarge: The headers or the body are longer than is taken.
            MalformedOutput: The body is not packed as was agreed, or is damaged.
        """
        latest = time.monotonic() + (self._limits.seconds if seconds is None else seconds)
        check_own_headers(headers or {})
        hop = Hop(
            method=check_method(method),
            url=parse_url(url, self._grant),
            headers=tuple((headers or {}).items()),
            content=content,
        )
        exchange = Exchange(
            transport=self._opened(),
            grant=self._grant,
            max_redirects=self._limits.max_redirects if follow_redirects else None,
            same_origin=same_origin,
            max_bytes=self._limits.max_bytes if max_bytes is None else max_bytes,
        )
        return await exchange.run(hop, deadline=latest if deadline is None else min(latest, deadline))

    def _opened(self) -> httpx2.AsyncBaseTransport:
        if self._transport is None:
            raise RuntimeError("the client is not open: use `async with GuardedClient(…) as client`")
        return self._transport
