"""Our ends of a child's standard streams: bounded, without threads, never blocking the event loop."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import IO

_CHUNK = 64 * 1024
_READ_AHEAD = 4 * _CHUNK
# Enough for the largest pipe a user may ask the kernel for (1 MiB), and an end if somebody keeps writing into it.
_MAX_LEFT_CHUNKS = 64
_HEAD = 16 * 1024


class PipeWriter:
    """The child's standard input. A child that closes it early is no error for `feed`, and one for `write`."""

    def __init__(self, pipe: IO[bytes]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._pending = bytearray()
        self._idle = asyncio.Event()
        self._idle.set()
        self._last = False

    @property
    def closed(self) -> bool:
        """Whether nothing can be written any more."""
        return self._pipe.closed

    def feed(self, data: bytes, *, close: bool = False) -> None:
        """Send the data as fast as the child takes it, without waiting; then close, if asked to."""
        if self.closed:
            return
        self._last = self._last or close
        waiting = bool(self._pending)
        self._idle.clear()
        self._pending += data
        if not waiting:
            # Most of what is sent fits into the pipe, and then no turn of the loop is needed for it.
            self._send()
            if self._pending:
                self._loop.add_writer(self._pipe.fileno(), self._send)

    async def write(self, data: bytes) -> None:
        """Send the data and wait until the pipe has taken all of it.

        Raises:
            BrokenPipeError: The child closed its standard input, or is gone.
        """
        self.feed(data)
        await self._idle.wait()
        if self.closed:
            raise BrokenPipeError("The child no longer reads its standard input.")

    def close(self) -> None:
        """Close the pipe; what was not sent is dropped."""
        if not self.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()
            self._pending.clear()
            self._idle.set()

    def _send(self) -> None:
        try:
            with suppress(BlockingIOError):
                # One chunk a turn, so that a child that reads fast does not keep the loop to itself.
                del self._pending[: os.write(self._pipe.fileno(), self._pending[:_CHUNK])]
        except OSError:
            self.close()
        if not self._pending and not self.closed:
            self._sent()

    def _sent(self) -> None:
        self._loop.remove_writer(self._pipe.fileno())
        self._idle.set()
        if self._last:
            self.close()


class _ReadEnd(ABC):
    """Takes bytes out of a pipe as they come; subclasses say what happens to them."""

    def __init__(self, pipe: IO[bytes]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._reading = False
        self._resume()

    def finish(self) -> None:
        """Take what is still in the pipe, without waiting for whoever may hold it open, and close it."""
        self._take_rest()
        self.close()

    def close(self) -> None:
        """Close the pipe; the child is told by SIGPIPE when it writes on."""
        if not self._pipe.closed:
            self._pause()
            self._pipe.close()
            self._ended()

    def _readable(self) -> None:
        with suppress(BlockingIOError):
            self._take()

    def _take_rest(self) -> None:
        for _ in range(_MAX_LEFT_CHUNKS):
            if self._pipe.closed:
                return
            try:
                self._take()
            except BlockingIOError:
                return

    def _take(self) -> None:
        chunk = os.read(self._pipe.fileno(), _CHUNK)
        if chunk:
            self._received(chunk)
        else:
            self.close()

    def _resume(self) -> None:
        if not self._reading and not self._pipe.closed:
            self._loop.add_reader(self._pipe.fileno(), self._readable)
            self._reading = True

    def _pause(self) -> None:
        if self._reading:
            self._loop.remove_reader(self._pipe.fileno())
            self._reading = False

    @abstractmethod
    def _received(self, chunk: bytes) -> None:
        """Keep, drop or count what came."""

    @abstractmethod
    def _ended(self) -> None:
        """Nothing more comes."""


class PipeReader(_ReadEnd):
    """The child's standard output, for one reader: what is not read yet waits in the pipe, and the child with it.

    With a `cap` everything is taken up to that many bytes; at the first byte more `on_full` is called, once.
    """

    def __init__(self, pipe: IO[bytes], *, cap: int | None, on_full: Callable[[], None]) -> None:
        self._buffer = bytearray()
        self._cap = cap
        self._on_full = on_full
        self._wanted = 0
        self._news = asyncio.Event()
        super().__init__(pipe)

    async def read(self, max_bytes: int = _CHUNK) -> bytes:
        """What has come, at most so many bytes; empty at the end of the stream."""
        while not self._buffer and not self._pipe.closed:
            await self._more(max_bytes)
        return self._cut(max_bytes)

    def head(self, max_bytes: int) -> bytes:
        """The first bytes of what has come and was not read, which stays there."""
        return bytes(self._buffer[:max_bytes])

    def take_all(self) -> bytes:
        """All that has come and was not read."""
        return self._cut(len(self._buffer))

    async def _more(self, wanted: int) -> None:
        self._wanted = wanted
        self._news.clear()
        self._resume()
        await self._news.wait()
        self._wanted = 0

    def _cut(self, length: int) -> bytes:
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken

    def _received(self, chunk: bytes) -> None:
        self._buffer += chunk
        self._news.set()
        if self._cap is None:
            if len(self._buffer) >= max(_READ_AHEAD, self._wanted):
                self._pause()
        elif len(self._buffer) > self._cap:
            del self._buffer[self._cap :]
            # In this order: a child whose pipe is closed first may die of that, and not be seen to be killed.
            self._on_full()
            self.close()

    def _ended(self) -> None:
        self._news.set()


class PipeTail(_ReadEnd):
    """The child's standard error: always drained; only its beginning and its end are kept, and the rest is dropped."""

    def __init__(self, pipe: IO[bytes], *, keep: int) -> None:
        self._head = bytearray()
        self._kept = bytearray()
        self._keep = keep
        super().__init__(pipe)

    @property
    def head(self) -> bytes:
        """The first bytes of all that came."""
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        """The last bytes that came."""
        return bytes(self._kept[-self._keep :])

    def forget(self) -> None:
        """Drop what was kept and what waits in the pipe: who comes next is not to see it."""
        self._take_rest()
        self._head.clear()
        self._kept.clear()

    def _received(self, chunk: bytes) -> None:
        self._head += chunk[: _HEAD - len(self._head)]
        self._kept += chunk
        # Cut at double the size: each byte is then moved once at most.
        if len(self._kept) > 2 * self._keep:
            del self._kept[: -self._keep]

    def _ended(self) -> None:
        """What is kept stays as it is."""
