"""A wire to a server over HTTP with SSE, the transport of 2024-11-05: one stream to listen to, one URL to write to.

The server names that URL in the first event of its stream; it must be of the same origin. A stream that ends takes its
session with it, so the wire ends, and the next one begins anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, cast

import httpx2

from toolcrib_core import ToolError
from toolcrib_mcp.errors import UpstreamError, UpstreamFailed, UpstreamMalformed
from toolcrib_mcp.rpc import MAX_LINE, Unreadable, Wire, WireClosed, WireNoise
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.upstreams.eras import INITIALIZE
from toolcrib_mcp.upstreams.http_endpoint import Endpoint
from toolcrib_mcp.upstreams.http_failures import broken_off, refused, session_lost, undelivered
from toolcrib_mcp.upstreams.http_inbox import Inbox
from toolcrib_mcp.upstreams.sse import EventReader
from toolcrib_runtime.guards.net import NetGrant, Resolver
from toolcrib_runtime.guards.net.transport import MAX_CONNECTIONS
from toolcrib_runtime.guards.net.urls import origin_of, shown_url
from toolcrib_runtime.guards.secrets import Scrubber, Secret

ENDPOINT_SECONDS: Final = 20.0
"""How long the first event of a stream may take."""

_MAX_ENDPOINT: Final = 4096
_POST_SECONDS: Final = 30.0
# A stream on which not even a comment comes is given up: its connection may be long dead.
_SILENCE_SECONDS: Final = 300.0
# One connection is for the stream, and some are for answers and notices of ours.
_MAX_CALLS: Final = MAX_CONNECTIONS - 8
_STREAM_HEADERS: Final = {"accept": "text/event-stream"}


class SseWire:
    """Messages to and from one URL; get one from `open_sse_wire`."""

    def __init__(self, stream: Endpoint, *, max_message: int, scrubber: Scrubber) -> None:
        self._stream = stream
        self._max_message = max_message
        self._inbox = Inbox(max_message=max_message, scrubber=scrubber)
        self._target: Endpoint | None = None
        self._slots = asyncio.Semaphore(_MAX_CALLS)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def noise(self) -> WireNoise:
        """What has come so far that was no message."""
        return self._inbox.noise

    async def open(self, target: Callable[[str], Endpoint]) -> None:
        """Listen to the stream from now on, and wait for the event that names where to write to.

        Raises:
            UpstreamError: There is no stream, it names no URL in time, or one of another origin.
        """
        named: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._start(self._listen(named))
        try:
            async with asyncio.timeout(ENDPOINT_SECONDS):
                self._target = target(await named)
        except TimeoutError:
            raise self._malformed("named no address to write to in time") from None

    async def send(self, message: Mapping[str, Any]) -> None:
        """Begin to send a message; only `notifications/initialized` is waited for, since all others come after it.

        Raises:
            WireClosed: The stream has ended, or the wire was closed.
            TypeError: The message is not JSON.
        """
        if self._inbox.end is not None:
            raise self._inbox.end
        content = encode_message(message)
        request_id = message.get("id") if "method" in message else None
        task = self._start(self._post(content, request_id))
        if message.get("method") == "notifications/initialized":
            await asyncio.wait([task])

    async def receive(self) -> dict[str, Any] | Unreadable:
        """The next message, or what came in place of one.

        Raises:
            WireClosed: The stream has ended, or the wire was closed.
        """
        return await self._inbox.take()

    async def aclose(self) -> None:
        """Close every connection; a second time does nothing."""
        self._inbox.end = self._inbox.end or WireClosed("The wire was closed.")
        try:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        finally:
            self._inbox.close()
            await self._stream.aclose()
            if self._target is not None:
                await self._target.aclose()

    def _start(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _listen(self, named: asyncio.Future[str]) -> None:
        reason = "The server ended its event stream."
        try:
            async with self._stream.ask("GET", headers=_STREAM_HEADERS, silence=_SILENCE_SECONDS) as response:
                self._check_stream(response)
                await self._read(response, named)
        except UpstreamError as error:
            reason = error.message
            if not named.done():
                named.set_exception(error)
        finally:
            if not named.done():
                named.set_exception(broken_off(self._stream.url))
            if not named.cancelled():
                named.exception()  # nobody may be waiting any more
            self._inbox.end = self._inbox.end or WireClosed(reason)
        await self._inbox.finish()

    def _check_stream(self, response: httpx2.Response) -> None:
        if not response.is_success:
            raise refused(response, self._stream.url, has_credentials=self._stream.has_credentials)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "text/event-stream":
            raise self._malformed("answered with something that is no event stream")

    async def _read(self, response: httpx2.Response, named: asyncio.Future[str]) -> None:
        events = EventReader(self._max_message)
        async for chunk in cast("AsyncIterable[bytes]", response.stream):
            messages = events.feed(chunk)
            if events.endpoint is not None and not named.done():
                named.set_result(self._checked(events.endpoint))
            if messages and not named.done():
                raise self._malformed("sent messages before it named an address to write to")
            for line in messages:
                await self._inbox.put_line(line, is_shared=True)

    def _checked(self, named: bytes) -> str:
        """The URL that an `endpoint` event names, of the same origin as the stream."""
        try:
            url = self._stream.url.join(named.decode()) if len(named) <= _MAX_ENDPOINT else None
        except (ValueError, httpx2.InvalidURL):
            url = None
        if url is None:
            raise self._malformed("named an address that is no URL")
        if origin_of(url) != origin_of(self._stream.url):
            raise self._malformed("named an address of another origin to write to, which is never used")
        return str(url)

    async def _post(self, content: bytes, request_id: object) -> None:
        try:
            async with self._slots, asyncio.timeout(_POST_SECONDS):
                await self._deliver(content)
        except TimeoutError:
            await self._failed(request_id, broken_off(self._stream.url))
        except UpstreamError as error:
            await self._failed(request_id, error)

    async def _deliver(self, content: bytes) -> None:
        if self._target is None:  # pragma: no cover  # nothing is sent before `open` has succeeded
            raise broken_off(self._stream.url)
        async with self._target.ask("POST", headers={}, content=content) as response:
            if response.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
                self._inbox.end = self._inbox.end or WireClosed("The server has forgotten the session.")
                raise session_lost(self._target.url, sent=False)
            if not response.is_success:
                raise refused(response, self._target.url, has_credentials=self._target.has_credentials)

    async def _failed(self, request_id: object, error: UpstreamError) -> None:
        # The loss of a notice or of an answer of ours is not reported: the next request meets what kept it away.
        if request_id is not None:
            await self._inbox.put(undelivered(request_id, error))
        if self._inbox.end is not None:
            await self._inbox.finish()

    def _malformed(self, problem: str) -> UpstreamMalformed:
        return UpstreamMalformed(
            f"`{shown_url(self._stream.url)}` {problem}.",
            hint="The URL may not be that of an MCP server over SSE; try the type `http`.",
        )


async def open_sse_wire(
    url: str,
    *,
    headers: Mapping[str, Secret],
    grant: NetGrant,
    max_message: int = MAX_LINE,
    resolver: Resolver | None = None,
    scrubber: Scrubber | None = None,
) -> SseWire:
    """The wire to a server behind a URL, whose stream is open; it must be closed.

    Raises:
        InvalidUrl: The URL is not one that is ever requested, or its scheme or port are not granted.
        BlockedAddress: Its host is not granted.
        InvalidRequest: A configured header is not one that is sent.
        UpstreamError: There is no stream, or it does not begin as the transport wants it.
    """

    def endpoint(at: str) -> Endpoint:
        return Endpoint(at, headers=headers, grant=grant, resolver=resolver)

    wire = SseWire(endpoint(url), max_message=max_message, scrubber=scrubber or Scrubber(headers.values()))
    try:
        await wire.open(endpoint)
    except BaseException:
        await wire.aclose()
        raise
    return wire


class DetectingWire:
    """Streamable HTTP, unless the server refuses the first request and has a stream of the older transport instead."""

    def __init__(self, wire: Wire, fall_back: Callable[[], Awaitable[Wire]]) -> None:
        self._wire = wire
        self._fall_back = fall_back
        self._first: Mapping[str, Any] | None = None
        self._is_settled = False

    @property
    def noise(self) -> WireNoise:
        """What has come so far that was no message."""
        return self._wire.noise

    async def send(self, message: Mapping[str, Any]) -> None:
        """As the wire that is used."""
        self._first = self._first or message
        await self._wire.send(message)

    async def receive(self) -> dict[str, Any] | Unreadable:
        """As the wire that is used; an `initialize` that was refused is sent again over the other."""
        message = await self._wire.receive()
        if self._is_settled:
            return message
        self._is_settled = True
        refusal = message.error if isinstance(message, Unreadable) else None
        # An error that the server wrote itself comes as a message: only a bare HTTP status is a refusal.
        if self._first is None or not isinstance(refusal, UpstreamFailed):
            return message
        try:
            other = await self._fall_back()
        except ToolError:
            return message  # the refusal says more about the URL than that it is no stream either
        refusing, self._wire = self._wire, other
        await refusing.aclose()
        if self._first.get("method") != INITIALIZE:
            # A probe for a later era: some servers of this transport end at a request before `initialize`.
            error = {"code": METHOD_NOT_FOUND, "message": refusal.rpc_message}
            return {"jsonrpc": "2.0", "id": self._first.get("id"), "error": error}
        await other.send(self._first)
        return await other.receive()

    async def aclose(self) -> None:
        """End the wire that is used."""
        await self._wire.aclose()
