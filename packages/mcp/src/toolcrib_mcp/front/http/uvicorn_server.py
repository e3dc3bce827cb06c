"""uvicorn without signals and logs, with bounds on what one connection and all idle connections may take up."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import ceil
from socket import socket
from typing import TYPE_CHECKING, ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from toolcrib_mcp.front.http.rates import network_of
from toolcrib_mcp.front.http.settings import HttpFrontSettings

if TYPE_CHECKING:
    from toolcrib_mcp.front.http.app import HttpFront

_MAX_OVERHEAD = 64 * 1024
_CHUNK_LINE = 20
_SPARE_CONNECTIONS = 256
_GRACE_SECONDS = 1


class QuietServer(uvicorn.Server):
    """Serves one front on sockets that are given to it."""

    def __init__(self, front: HttpFront, *, settings: HttpFrontSettings) -> None:
        max_connections = settings.max_sessions + settings.max_requests + _SPARE_CONNECTIONS
        held = _Connections(most=max_connections, most_each=settings.max_address_connections)
        limits = {"head_timeout": settings.head_timeout, "held": held}
        config = uvicorn.Config(
            front,
            # One parser on every machine, and the one that takes a third of the CPU of h11.
            http=type("Protocol", (_BoundedProtocol,), limits),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=max_connections + _SPARE_CONNECTIONS,
            timeout_keep_alive=ceil(settings.keep_alive),
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        super().__init__(config)
        self._ready = asyncio.Event()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self._ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever runs us."""
        yield

    async def until_ready(self, running: asyncio.Task[None]) -> None:
        """Wait until clients can come.

        Raises:
            OSError: They never will.
        """
        waiting = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait([waiting, running], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if running.done():
            running.result()

    async def aclose(self, running: asyncio.Task[None]) -> None:
        """Close all connections, and wait for the task in which the server runs."""
        self.should_exit = True
        try:
            await asyncio.wait([running])
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


class _Connections:
    """Open connections, in all and by address; those without a request in flight, the longest idle first."""

    def __init__(self, *, most: int, most_each: int) -> None:
        self._most = most
        self._most_each = most_each
        self._open: dict[HttpToolsProtocol, str] = {}
        self._count: Counter[str] = Counter()
        self._idle: dict[HttpToolsProtocol, None] = {}
        self._idle_of: dict[str, dict[HttpToolsProtocol, None]] = {}

    def open(self, connection: HttpToolsProtocol) -> None:
        """Take in a new connection."""
        address = network_of(connection.client)
        self._open[connection] = address
        self._count[address] += 1
        self.rest(connection)

    def rest(self, connection: HttpToolsProtocol) -> None:
        """Count a connection as idle, and close the one that has been idle longest where too many are open."""
        self.wake(connection)
        address = self._open.get(connection)
        if address is None:
            return  # it was closed for another
        self._idle[connection] = None
        self._idle_of.setdefault(address, {})[connection] = None
        if self._count[address] > self._most_each:
            self._drop(next(iter(self._idle_of[address])))
        elif len(self._open) > self._most:
            self._drop(next(iter(self._idle)))

    def wake(self, connection: HttpToolsProtocol) -> None:
        """A request came."""
        address = self._open.get(connection)
        if address is None or connection not in self._idle:
            return
        del self._idle[connection], self._idle_of[address][connection]
        if not self._idle_of[address]:
            del self._idle_of[address]

    def close(self, connection: HttpToolsProtocol) -> None:
        """The connection is closed."""
        if connection not in self._open:
            return
        self.wake(connection)
        address = self._open.pop(connection)
        self._count[address] -= 1
        if not self._count[address]:
            del self._count[address]

    def _drop(self, connection: HttpToolsProtocol) -> None:
        self.close(connection)
        # Nothing is in flight there, so nothing that waits to be sent is lost.
        connection.transport.abort()


class _Refused(Exception):
    """A message on a connection breaks a bound; the parser turns it into an error of its own."""


class _BoundedProtocol(HttpToolsProtocol):
    """Closes a connection whose message has a slow or long head, trailers, or comes before the last is answered."""

    head_timeout: ClassVar[float]
    held: ClassVar[_Connections]

    _due: float | None = None
    _head_is_over = False
    _overhead = 0
    """Bytes of the message so far that are no body: its head, the lines of its chunks, its trailers."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        super().connection_made(transport)
        self._await_head()
        self.held.open(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.held.close(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._overhead += len(data)
        super().data_received(data)
        if self._overhead > _MAX_OVERHEAD:
            self.send_400_response("The headers are too long.")
        elif self._is_answered():
            self._await_head()
        else:
            self._due = None

    def on_message_begin(self) -> None:
        if not self._is_answered():
            # The bytes of requests that wait for their turn would be kept without a bound.
            raise _Refused
        self._head_is_over = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_is_over:
            # A trailer comes after the headers were checked, and would be added to them.
            raise _Refused
        # The parser leaves the white space around a value, which is no part of it (RFC 9110, 5.5).
        super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        self._head_is_over = True
        super().on_headers_complete()
        if not self._is_answered():
            self.held.wake(self)

    def on_chunk_header(self) -> None:
        self._overhead = max(0, self._overhead - _CHUNK_LINE)

    def on_body(self, body: bytes) -> None:
        self._overhead -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._overhead = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self.held.rest(self)

    def send_400_response(self, msg: str) -> None:
        if self.transport.is_closing():
            return
        if self._is_answered():
            super().send_400_response(msg)
        else:
            # A response has begun, and the text of another would pass for a part of it.
            self.transport.abort()

    def _is_answered(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _await_head(self) -> None:
        if self._due is None:
            self._due = self.loop.time() + self.head_timeout
        # A timer of its own would cost every request; that of silent connections is free at this moment.
        self.timeout_keep_alive_task = self.loop.call_at(self._due, self.timeout_keep_alive_handler)
