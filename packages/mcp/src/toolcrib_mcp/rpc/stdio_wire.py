"""A wire to a server that is a child process: one message a line, on its standard input and output."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from toolcrib_core import ToolError
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_mcp.rpc.reader import MAX_LINE, MessageReader
from toolcrib_mcp.rpc.wire import Unreadable, WireClosed, WireNoise
from toolcrib_runtime.guards.process import ChildProcess, ProcessGate, ProcessSpec
from toolcrib_runtime.guards.process.outcome import fault_of
from toolcrib_runtime.guards.secrets import Scrubber

SHUTDOWN_GRACE: Final = 2.0
"""How long a server may take to end after its standard input was closed, and once more after SIGTERM."""

# The output of a process that dies ends a moment before the process does, and its status belongs into the error.
_STATUS_PATIENCE = 0.5


class StdioWire:
    """Messages to and from one child process; get one from `open_stdio_wire`.

    A line over `max_line` is skipped as it comes. Standard error is always drained, and its end kept.
    """

    def __init__(self, child: ChildProcess, *, max_line: int, grace: float, scrubber: Scrubber) -> None:
        self._child = child
        self._grace = grace
        self._scrubber = scrubber
        self._reader = MessageReader(max_line=max_line, scrubber=scrubber)
        self._ended = False
        self._turn = asyncio.Lock()
        self._unsent = False

    @property
    def child(self) -> ChildProcess:
        """The process, for reports about it."""
        return self._child

    @property
    def noise(self) -> WireNoise:
        """What has come so far that was no message."""
        return self._reader.noise

    async def send(self, message: Mapping[str, Any]) -> None:
        """Write one message, and wait until the pipe has all of it; at most one waits there for the server to read.

        Raises:
            WireClosed: The server no longer reads, or has ended.
            TypeError: The message is not JSON.
        """
        line = encode_message(message)
        async with self._turn:
            try:
                if self._unsent:
                    # A caller that was cancelled left the rest of its line, and it goes out first.
                    await self._child.stdin.write(b"")
                self._unsent = True
                await self._child.stdin.write(line)
                self._unsent = False
            except BrokenPipeError:
                raise await self._end("It closed its standard input.") from None

    async def receive(self) -> dict[str, Any] | Unreadable:
        """The next message, or what came in place of one.

        Raises:
            WireClosed: The server closed its standard output, or has ended.
        """
        ready = self._reader.ready
        while not ready:
            if self._ended:
                raise await self._end("It closed its standard output.")
            chunk = await self._child.stdout.read()
            if chunk:
                self._reader.feed(chunk)
            else:
                self._ended = True
                self._reader.end()
        return ready.popleft()

    async def aclose(self) -> None:
        """Close the server's standard input, wait for it to end, then terminate, then kill it: the whole tree.

        A cancellation shortens the waiting and comes through when nothing is left.
        """
        self._child.stdin.close()
        try:
            await self._until_ended(self._grace)
        finally:
            await self._child.terminate(self._grace)

    async def _end(self, otherwise: str) -> WireClosed:
        stopped = await self._until_ended(_STATUS_PATIENCE)
        return self._closed(otherwise, stopped)

    def _closed(self, otherwise: str, stopped: ToolError | None) -> WireClosed:
        stderr = self._scrubber.scrub_text(self._child.stderr_tail)
        status = self._child.returncode
        if status is None:
            return WireClosed(otherwise, stderr=stderr)
        fault = stopped or fault_of(self._child.end)
        reason = "It ended with exit status 0." if fault is None else fault.message
        return WireClosed(reason, status=status, stderr=stderr)

    async def _until_ended(self, seconds: float) -> ToolError | None:
        """Wait, but not longer; gives the limit that the server was stopped for, if it was."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._child.wait()
        except ToolError as stopped:
            return stopped
        return None


async def open_stdio_wire(
    spec: ProcessSpec,
    *,
    max_line: int = MAX_LINE,
    grace: float = SHUTDOWN_GRACE,
    gate: ProcessGate | None = None,
    scrubber: Scrubber | None = None,
) -> StdioWire:
    """Start a server and give the wire to it, which must be closed.

    A server stays, so its spec must not have the limits of a single run: `None`, or those that were configured.
    `scrubber` takes secrets out of what is shown of the server's words.

    Raises:
        ProcessNotStarted: The program is missing or cannot be executed, or a required sandbox layer is missing.
    """
    child = await ChildProcess.start(spec, gate=gate)
    return StdioWire(child, max_line=max_line, grace=grace, scrubber=scrubber or Scrubber())
