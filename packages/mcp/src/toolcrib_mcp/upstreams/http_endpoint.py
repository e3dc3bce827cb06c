"""The one URL of a server, and the only way to it: guarded, and with exactly the headers that were configured."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Final

import httpx2

from toolcrib_mcp.upstreams.http_failures import broken_off, guarded, not_reached
from toolcrib_runtime.errors import GuardError, NetworkError, OutputTooLarge
from toolcrib_runtime.guards.net import NetGrant, Resolver, guarded_transport
from toolcrib_runtime.guards.net.dial import DEFAULT_CONNECT_SECONDS
from toolcrib_runtime.guards.net.headers import check_own_headers, check_sendable
from toolcrib_runtime.guards.net.redirects import MAX_REDIRECTS, Hop, is_redirect, next_hop
from toolcrib_runtime.guards.net.urls import origin_of, parse_url
from toolcrib_runtime.guards.secrets import Secret

_BY_DEFAULT: Final = {"user-agent": "toolcrib"}
_ALWAYS: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}


class Endpoint:
    """Sends requests to one URL. What the protocol says in headers goes before what is configured.

    Raises:
        InvalidUrl: The URL is not one that is ever requested, or its scheme or port are not granted.
        BlockedAddress: Its host is not granted.
        InvalidRequest: A configured header is not one that is sent.
        FileUnusable: The grant's `ca_file` cannot be used.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, Secret], grant: NetGrant, resolver: Resolver | None = None
    ) -> None:
        check_own_headers({name: value.reveal() for name, value in headers.items()})
        check_sendable([(name.encode(), value.reveal().encode()) for name, value in headers.items()])
        self.url = parse_url(url, grant)
        self.has_credentials = bool(headers)
        self._configured = {name.lower(): value for name, value in headers.items()}
        self._grant = grant
        self._transport = guarded_transport(grant, resolver=resolver)

    @asynccontextmanager
    async def ask(
        self, method: str, *, headers: Mapping[str, str], content: bytes = b"", silence: float | None = None
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request, and give its answer while the body is still to come.

        `silence` is how many seconds nothing may come. Otherwise time is for the caller to bound, and so is the size
        of the body.

        Raises:
            UpstreamUnavailable: There is no answer, or it breaks off; `details["sent"]` tells whether the server may
                have seen the request.
            UpstreamMalformed: The answer is not packed as was agreed.
            ResultTooLarge: The headers of the answer are too long.
        """
        hop = Hop(method=method, url=self.url, headers=self._headers(headers), content=content)
        try:
            response = await self._follow(hop, silence)
        except httpx2.TransportError as error:
            raise not_reached(error, self.url) from error
        except (GuardError, OutputTooLarge) as error:
            raise guarded(error, self.url) from error
        async with aclosing(response):
            try:
                yield response
            except httpx2.TransportError as error:
                raise broken_off(self.url) from error
            except (GuardError, OutputTooLarge) as error:
                raise guarded(error, self.url) from error

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()

    def _headers(self, headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        configured = {name: value.reveal() for name, value in self._configured.items()}
        return tuple({**_BY_DEFAULT, **configured, **_ALWAYS, **headers}.items())

    async def _follow(self, hop: Hop, silence: float | None) -> httpx2.Response:
        for _ in range(MAX_REDIRECTS):
            response = await self._transport.handle_async_request(_request(hop, silence))
            following = self._redirected(hop, response)
            if following is None:
                return response
            await response.aclose()
            hop = following
        return await self._transport.handle_async_request(_request(hop, silence))

    def _redirected(self, hop: Hop, response: httpx2.Response) -> Hop | None:
        """The same request at another path of the same server; nothing where the redirect leads elsewhere."""
        if not is_redirect(response.status_code):
            return None
        location = response.headers.get("Location")
        try:
            following = next_hop(hop, status=response.status_code, location=location, grant=self._grant)
        except NetworkError:
            return None
        stays = origin_of(following.url) == origin_of(hop.url) and following.method == hop.method
        return following if stays else None


def _request(hop: Hop, silence: float | None) -> httpx2.Request:
    # Waiting for a free connection and for the answer is the caller's time. A server that greets nobody is not.
    timeouts = {"connect": DEFAULT_CONNECT_SECONDS, "read": silence}
    return httpx2.Request(
        hop.method, hop.url, headers=list(hop.headers), content=hop.content, extensions={"timeout": timeouts}
    )
