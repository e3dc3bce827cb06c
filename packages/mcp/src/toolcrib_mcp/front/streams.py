"""Reading and writing whatever standard input and output are: pipes, sockets, terminals or files."""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from toolcrib_runtime.guards.process.pipes import PipeWriter

_CHUNK: Final = 64 * 1024
_READ_AHEAD: Final = 4 * _CHUNK


class Input:
    """What comes in, for one reader. The descriptor stays the caller's, and is left blocking: others may share it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._chunks = bytearray()
        self._news = asyncio.Event()
        self._ended = False
        self._reading = False
        self._pollable = self._resume()

    async def read(self) -> bytes:
        """What has come; empty at the end."""
        if not self._pollable:
            # A file is always ready, and what polls cannot say so. A read of it ends by itself.
            return b"" if self._ended else await asyncio.to_thread(os.read, self._fd, _CHUNK)
        while not self._chunks and not self._ended:
            self._news.clear()
            await self._news.wait()
        taken = bytes(self._chunks)
        self._chunks.clear()
        self._resume()
        return taken

    def close(self) -> None:
        """Let the reader come to the end, after what has come already."""
        self._ended = True
        self._pause()
        self._news.set()

    def _readable(self) -> None:
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # a terminal that was hung up, or a connection that was reset
            chunk = b""
        if not chunk:
            self.close()
            return
        self._chunks += chunk
        if len(self._chunks) >= _READ_AHEAD:
            self._pause()
        self._news.set()

    def _resume(self) -> bool:
        if not self._reading and not self._ended:
            try:
                self._loop.add_reader(self._fd, self._readable)
            except PermissionError:
                return False
            self._reading = True
        return True

    def _pause(self) -> None:
        if self._reading:
            self._loop.remove_reader(self._fd)
            self._reading = False


class Output(Protocol):
    """Where lines go; at most one waits there to be taken."""

    async def write(self, line: bytes) -> None:
        """Write all of it, after all that was written before; being cancelled, it goes out whole or not at all.

        Raises:
            BrokenPipeError: Nobody takes it any more.
        """

    def close(self) -> None:
        """Drop what was not taken."""


def open_output(fd: int) -> Output:
    """Whatever suits this descriptor, which belongs to the output from now on."""
    kind = os.fstat(fd).st_mode
    return _PipeOutput(fd) if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) else _FileOutput(fd)


class _PipeOutput:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._writer = PipeWriter(os.fdopen(fd, "wb", buffering=0))
        self._turn = asyncio.Lock()
        self._queued = 0
        self._unsent = False

    async def write(self, line: bytes) -> None:
        if not self._queued and not self._unsent:
            line = self._take(line)
        if line:
            self._queued += 1
            try:
                # Begun above, it is the only one here, and has its turn at once.
                async with self._turn:
                    await self._finish(line)
            finally:
                self._queued -= 1

    def close(self) -> None:
        self._writer.close()

    def _take(self, line: bytes) -> bytes:
        """Write what fits, which most often is all, and give the rest."""
        if self._writer.closed:
            raise BrokenPipeError("It was closed.")
        try:
            return line[os.write(self._fd, line) :]
        except BlockingIOError:
            return line
        except OSError as failure:
            raise BrokenPipeError(str(failure)) from None

    async def _finish(self, rest: bytes) -> None:
        if self._unsent:
            # One that was cancelled left the rest of its line, and it goes out first.
            await self._writer.write(b"")
        self._unsent = True
        await self._writer.write(rest)
        self._unsent = False


class _FileOutput:
    """Writes in a thread: neither a terminal that is held nor a slow disk holds up the loop."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._writing: asyncio.Future[OSError | None] | None = None

    async def write(self, line: bytes) -> None:
        async with self._turn:
            if self._writing is not None and not self._writing.done():
                # One that was cancelled left it to the thread.
                await asyncio.wait([self._writing])
            self._writing = self._loop.run_in_executor(None, self._write_all, line)
            await asyncio.wait([self._writing])
            if (failure := self._writing.result()) is not None:
                raise BrokenPipeError(str(failure))

    def close(self) -> None:
        if self._writing is None or self._writing.done():
            os.close(self._fd)
        else:
            self._writing.add_done_callback(lambda _: os.close(self._fd))

    def _write_all(self, line: bytes) -> OSError | None:
        try:
            while line:
                line = line[os.write(self._fd, line) :]
        except OSError as failure:
            return failure
        return None


class ReaderWatch:
    """Calls back as soon as nobody can read what is written to a descriptor, also if nothing is written.

    Where the system has no way to tell, a write that fails does.
    """

    def __init__(self, fd: int, on_gone: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_gone = on_gone
        self._poll = select.epoll() if hasattr(select, "epoll") else None
        if self._poll is not None:
            # Asked for nothing, it still reports an error or a hang-up, and never that there is something to read.
            with suppress(PermissionError):  # a file
                self._poll.register(fd, 0)
            self._loop.add_reader(self._poll.fileno(), self._left)

    def close(self) -> None:
        """Watch no longer."""
        if self._poll is not None and not self._poll.closed:
            self._loop.remove_reader(self._poll.fileno())
            self._poll.close()

    def _left(self) -> None:
        self.close()
        self._on_gone()
