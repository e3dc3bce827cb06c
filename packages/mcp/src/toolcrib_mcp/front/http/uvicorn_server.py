"""uvicorn as we run it: no signals, hardly a word, and no connection that may stay without asking for anything."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import ceil
from socket import socket
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from toolcrib_mcp.front.http.settings import HttpFrontSettings

if TYPE_CHECKING:
    from toolcrib_mcp.front.http.app import HttpFront

_MAX_HEAD = 64 * 1024
_SPARE_CONNECTIONS = 256
_GRACE_SECONDS = 1


class QuietServer(uvicorn.Server):
    """Serves one front on sockets that are given to it."""

    def __init__(self, front: HttpFront, *, settings: HttpFrontSettings) -> None:
        config = uvicorn.Config(
            front,
            # One parser on every machine, and the one that takes a third of the CPU of h11.
            http=_protocol(settings.head_timeout),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=settings.max_sessions + settings.max_requests + _SPARE_CONNECTIONS,
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


def _protocol(head_timeout: float) -> type[HttpToolsProtocol]:
    class Protocol(HttpToolsProtocol):
        """Closes a connection on which a request does not come to the end of its headers in time, or has too many."""

        _due: float | None = None
        _head_bytes = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
            super().connection_made(transport)
            self._hurry()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            cycle: RequestResponseCycle | None = self.cycle
            if cycle is None or cycle.response_complete:
                self._head_bytes += len(data)
                if self._head_bytes > _MAX_HEAD and not self.transport.is_closing():
                    self.send_400_response("The headers are too long.")
                self._hurry()
            else:
                self._due = None
                self._head_bytes = 0

        def on_header(self, name: bytes, value: bytes) -> None:
            # The parser leaves the white space around a value, which is no part of it (RFC 9110, 5.5).
            super().on_header(name, value.strip(b" \t"))

        def _hurry(self) -> None:
            if self._due is None:
                self._due = self.loop.time() + head_timeout
            # A timer of its own would cost every request; that of silent connections is free at this moment.
            self.timeout_keep_alive_task = self.loop.call_at(self._due, self.timeout_keep_alive_handler)

    return Protocol
