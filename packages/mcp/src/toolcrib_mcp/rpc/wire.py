"""What a connection asks of a transport: messages out, messages in, and an end that says why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from toolcrib_mcp.errors import UpstreamError


class Wire(Protocol):
    """Carries JSON-RPC messages to one server and back: raw JSON objects, nothing typed, nothing dropped."""

    async def send(self, message: Mapping[str, Any]) -> None:
        """Hand the message to the transport, whole and after all that were sent before.

        Being cancelled is safe: the message then goes out whole or not at all.

        Raises:
            WireClosed: Nothing can be sent any more.
            TypeError: The message is not JSON.
        """

    async def receive(self) -> dict[str, Any] | Unreadable:
        """The next message, or what came in place of one; for one reader. Being cancelled loses nothing.

        Raises:
            WireClosed: Nothing comes any more.
        """

    async def aclose(self) -> None:
        """End the transport and what it started; a second time does nothing."""

    @property
    def noise(self) -> WireNoise:
        """What has come so far that was no message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """Something that begins like a message and cannot be read.

    `id` is that of the answered request, where it could be made out; `is_answer` tells whether it can be an answer
    at all. `limit` is set when it is too long: the number of bytes that are taken. A wire that knows better why no
    answer comes says so in `error`.
    """

    reason: str
    excerpt: str
    id: object | None = None
    is_answer: bool = True
    limit: int | None = None
    error: UpstreamError | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WireNoise:
    """Counts of what came that was no message, and the beginning of the latest such line."""

    lines: int = 0
    """Lines of text, and JSON that is no object."""
    blank_lines: int = 0
    repaired: int = 0
    """Messages that could be read after characters that are not Unicode were replaced."""
    too_long: int = 0
    """Lines over the cap."""
    dropped_bytes: int = 0
    """The bytes of all lines that were not handed on."""
    excerpt: str = ""


class WireClosed(Exception):
    """The transport has ended; `reason` is a sentence.

    `status` is the exit status of a process, negative for a signal, where there was one and it has ended. `stderr` is
    the end of what it wrote there.
    """

    def __init__(self, reason: str, *, status: int | None = None, stderr: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.stderr = stderr
