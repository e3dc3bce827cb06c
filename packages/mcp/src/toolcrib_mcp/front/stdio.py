"""One client on our own standard input and output: one message a line."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final, Protocol

from toolcrib_mcp.front.dialogue import MAX_REQUESTS, serve_wire
from toolcrib_mcp.front.reading import Incoming, RequestReader
from toolcrib_mcp.front.service import Identity, Service
from toolcrib_mcp.front.streams import Input, ReaderWatch, open_output
from toolcrib_mcp.rpc import MAX_LINE, WireClosed
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

STDIO_KEY: Final = "stdio"
"""What names the one client towards the service."""

DRAIN: Final = 5.0
"""Seconds that requests under way have to end when the input has ended."""

_STDIN, _STDOUT, _STDERR = 0, 1, 2


class HasDescriptor(Protocol):
    """A file or a socket of the operating system."""

    def fileno(self) -> int:
        """Its number."""


async def serve_stdio(
    service: Service,
    *,
    stdin: HasDescriptor | None = None,
    stdout: HasDescriptor | None = None,
    drain: float = DRAIN,
    max_message: int = MAX_LINE,
    max_requests: int = MAX_REQUESTS,
    stop: asyncio.Event | None = None,
    principal: str | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> None:
    """Serve one client until the input ends; what is under way then has `drain` seconds to be answered.

    Once `stop` is set, it is as if the input had ended. A client that no longer reads has left: all work for it stops
    at once. Without `stdin` and `stdout`, those of the process are taken: while they are served, whatever else prints
    does so to standard error, and whatever else reads finds nothing. `principal` is who the client is, where whoever
    started this knows. Being cancelled ends it: the client is told which requests are not answered.

    Raises:
        OSError: Standard input or output is closed.
    """
    with ExitStack() as stack:
        source = stack.enter_context(_taken(_STDIN) if stdin is None else _borrowed(stdin.fileno()))
        target = stack.enter_context(_taken(_STDOUT) if stdout is None else _borrowed(stdout.fileno()))
        wire = _StdioWire(source, target, max_message=max_message)
        stack.callback(wire.close)
        if stop is not None:
            stack.callback(asyncio.create_task(wire.end_at(stop)).cancel)
        await serve_wire(
            service,
            wire,
            key=STDIO_KEY,
            principal=None if principal is None else Identity(name=principal),
            drain=drain,
            gone=wire.gone,
            max_requests=max_requests,
            clock=clock,
        )


class _StdioWire:
    """Lines from one descriptor and to another."""

    def __init__(self, source: int, target: int, *, max_message: int) -> None:
        self.gone = asyncio.Event()
        self._reader = RequestReader(max_line=max_message)
        self._input = Input(source)
        self._output = open_output(_duplicate(target))
        self._watch = ReaderWatch(target, self._lost)
        self._ended = False

    async def send(self, message: Mapping[str, Any]) -> None:
        line = encode_message(message)
        try:
            await self._output.write(line)
        except BrokenPipeError:
            self._lost()
            raise WireClosed("The client no longer reads.") from None

    async def receive(self) -> Incoming:
        ready = self._reader.ready
        while not ready:
            if self._ended:
                raise WireClosed("The client has said all that it has to say.")
            if chunk := await self._input.read():
                self._reader.feed(chunk)
            else:
                self._ended = True
                self._reader.end()
        return ready.popleft()

    async def end_at(self, stop: asyncio.Event) -> None:
        """Read no further once the event is set."""
        await stop.wait()
        self._input.close()

    def close(self) -> None:
        """Stop reading and writing."""
        self._watch.close()
        self._input.close()
        self._output.close()

    def _lost(self) -> None:
        self.gone.set()
        self._input.close()


@contextmanager
def _borrowed(fd: int) -> Iterator[int]:
    """A descriptor of our own for the same thing; whether it blocks, which they share, is put back at the end."""
    blocking = os.get_blocking(fd)
    private = _duplicate(fd)
    try:
        yield private
    finally:
        os.set_blocking(private, blocking)
        os.close(private)


@contextmanager
def _taken(fd: int) -> Iterator[int]:
    """A standard stream for ourselves: until it is given back, its number leads elsewhere."""
    if (sys.__stdin__, sys.__stdout__)[fd] is None:
        # Python saw that at its start. By now, the number may be that of something else.
        raise OSError(errno.EBADF, f"Standard {('input', 'output')[fd]} is closed")
    with _borrowed(fd) as private:
        elsewhere = _elsewhere(fd)
        os.dup2(elsewhere, fd)
        os.close(elsewhere)
        try:
            # What was printed and is not written yet is not for the client, at the beginning as at the end.
            _flush(fd)
            yield private
        finally:
            _flush(fd)
            os.dup2(private, fd)


def _elsewhere(fd: int) -> int:
    # As above; a gateway may well be started without a standard error.
    if fd == _STDOUT and sys.__stderr__ is not None:
        return os.dup(_STDERR)
    return os.open(os.devnull, os.O_RDWR)


def _duplicate(fd: int) -> int:
    # Above the standard ones, which may be closed, and not for the servers that we start.
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)


def _flush(fd: int) -> None:
    if fd == _STDOUT:
        with suppress(AttributeError, OSError, ValueError):  # it is not there, or closed
            sys.stdout.flush()
