"""One exchange: requests and redirects under one deadline, until there is an answer or an honest failure."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, cast

import httpx2

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import DeadlineExceeded, FetchFailed
from toolcrib_runtime.guards.net.body import read_body
from toolcrib_runtime.guards.net.grant import NetGrant
from toolcrib_runtime.guards.net.headers import retry_after
from toolcrib_runtime.guards.net.redirects import Hop, check_origin, is_redirect, next_hop
from toolcrib_runtime.guards.net.transport import causes
from toolcrib_runtime.guards.net.urls import shown_url

_SENDING: Final = "http11.send_request_headers.started"


@dataclass(frozen=True, kw_only=True)
class FetchResponse:
    """An answer, whatever its status.

    Names of headers are in lower case. `url` is where the answer came from, `redirects` are the URLs before it. The
    representation shows the status alone, because all the rest may hold secrets.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    url: str = field(repr=False)
    redirects: tuple[str, ...] = field(default=(), repr=False)
    retry_after: float | None = field(default=None, repr=False)


@dataclass(kw_only=True)
class Exchange:
    """The requests and answers of one fetch; `max_redirects` is nothing where redirects are answers like any other."""

    transport: httpx2.AsyncBaseTransport
    grant: NetGrant
    max_redirects: int | None
    max_bytes: int
    same_origin: bool
    sent: bool = False
    visited: list[str] = field(default_factory=list)

    async def run(self, hop: Hop, *, deadline: float) -> FetchResponse:
        """Ask until there is an answer, but not past the deadline, a moment of `time.monotonic()`.

        Raises:
            ToolError: As `GuardedClient.fetch` lists them.
        """
        seconds = max(0.0, deadline - time.monotonic())
        try:
            async with asyncio.timeout(seconds):
                if not seconds:
                    # The timeout comes only at the first wait, and by then a name would have been asked for.
                    await asyncio.sleep(0)
                return await self._follow(hop)
        except TimeoutError:
            raise DeadlineExceeded(
                f"`{shown_url(hop.url)}` did not answer completely within {seconds:.3g} s.",
                hint="Ask for less, or allow more time.",
                details={"sent": self.sent, "redirects": len(self.visited)},
            ) from None

    async def _follow(self, hop: Hop) -> FetchResponse:
        while True:
            answer = await self._ask(hop)
            if isinstance(answer, FetchResponse):
                return answer
            self.visited.append(str(hop.url))
            hop = answer

    async def _ask(self, hop: Hop) -> FetchResponse | Hop:
        try:
            async with aclosing(await self.transport.handle_async_request(self._request(hop))) as response:
                if self.max_redirects is not None and is_redirect(response.status_code):
                    return self._redirected(hop, response)
                return await self._read(hop, response)
        except httpx2.TransportError as error:
            raise _failed(error, hop.url, sent=self.sent) from error

    def _request(self, hop: Hop) -> httpx2.Request:
        headers = [("User-Agent", "toolcrib"), ("Accept", "*/*"), *hop.headers]
        return httpx2.Request(
            hop.method,
            hop.url,
            headers=list({name.lower(): (name, value) for name, value in headers}.values()),
            content=hop.content or None,
            extensions={"trace": self._note},
        )

    async def _note(self, event: str, _info: Mapping[str, object]) -> None:
        self.sent = self.sent or event == _SENDING

    def _redirected(self, hop: Hop, response: httpx2.Response) -> Hop:
        if len(self.visited) >= (self.max_redirects or 0):
            raise FetchFailed(
                f"`{shown_url(hop.url)}` redirects once more after {len(self.visited)} redirects.",
                category=ToolErrorCategory.UNAVAILABLE,
                hint="Ask for the final URL itself.",
                retryable=False,
                details={"sent": True, "redirects": len(self.visited)},
            )
        location = response.headers.get("Location")
        following = next_hop(hop, status=response.status_code, location=location, grant=self.grant)
        if self.same_origin:
            check_origin(following, hop)
        return following

    async def _read(self, hop: Hop, response: httpx2.Response) -> FetchResponse:
        body = await read_body(cast("AsyncIterable[bytes]", response.stream), max_bytes=self.max_bytes)
        return FetchResponse(
            status=response.status_code,
            headers=MappingProxyType({name.lower(): value for name, value in response.headers.items()}),
            body=body,
            url=str(hop.url),
            redirects=tuple(self.visited),
            retry_after=retry_after(response.headers.get("Retry-After")),
        )


def _failed(error: httpx2.TransportError, url: httpx2.URL, *, sent: bool) -> FetchFailed:
    """The failure in our own words: those of the libraries may quote what a server sent."""
    every = tuple(causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in every):
        return _lasting(url, "has a certificate that is not valid for it", sent=sent)
    if any(isinstance(cause, ssl.SSLError) for cause in every):
        return _lasting(url, "does not speak TLS as this client does", sent=sent)
    if any(isinstance(cause, socket.gaierror) for cause in every):
        problem = "has a host name that does not resolve"
    elif isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        problem = "does not take a connection"
    else:
        problem = "broke off or gave an answer that is not HTTP"
    return FetchFailed(
        f"`{shown_url(url)}` {problem}.", hint="Check the host, or try again later.", details={"sent": sent}
    )


def _lasting(url: httpx2.URL, problem: str, *, sent: bool) -> FetchFailed:
    return FetchFailed(
        f"`{shown_url(url)}` {problem}.",
        category=ToolErrorCategory.UNAVAILABLE,
        hint="Check the host and the port; TLS is always verified.",
        retryable=False,
        details={"sent": sent},
    )
