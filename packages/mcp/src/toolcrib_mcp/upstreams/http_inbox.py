"""What has come from a server over HTTP and waits for the reader of the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from toolcrib_core.wording import count
from toolcrib_mcp.rpc import MessageReader, Unreadable, WireClosed, WireNoise
from toolcrib_mcp.rpc.messages import own_id
from toolcrib_mcp.rpc.reader import MAX_EXCERPT
from toolcrib_runtime.guards.secrets import Scrubber

MAX_WAITING: Final = 64
"""How many messages wait for the reader; then the server has to wait, and so do its other streams."""

_KEPT_BYTES: Final = 4 * MAX_EXCERPT


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpCall:
    """A request of ours on its way, with the headers that it goes out with."""

    id: object
    method: str
    headers: Mapping[str, str]
    content: bytes
    modern: bool


class Inbox:
    """Holds messages in the order in which they came, from however many streams.

    `end` is set as soon as no more can be said to the server; what came before is still there to be read.
    """

    def __init__(self, *, max_message: int, scrubber: Scrubber) -> None:
        self.end: WireClosed | None = None
        self._messages: asyncio.Queue[dict[str, Any] | Unreadable | None] = asyncio.Queue(MAX_WAITING)
        self._reader = MessageReader(max_line=max_message, scrubber=scrubber)
        self._max_message = max_message
        self._scrubber = scrubber
        self._is_read = False

    @property
    def noise(self) -> WireNoise:
        """What has come so far that was no message."""
        return self._reader.noise

    async def take(self) -> dict[str, Any] | Unreadable:
        """The next message.

        Raises:
            WireClosed: There is none, and none comes any more.
        """
        message = None if self._is_read else await self._messages.get()
        if message is None:
            self._is_read = True
            raise self.end or WireClosed("The wire was closed.")
        return message

    async def put(self, message: dict[str, Any] | Unreadable) -> None:
        """Add a message of our own making."""
        await self._messages.put(message)

    async def put_line(
        self, line: bytes, *, call: HttpCall | None = None, is_shared: bool = False
    ) -> dict[str, Any] | Unreadable | None:
        """Add the messages in a line that came as the answer to a call, or unasked; gives the answer, if it is there.

        An answer without an id, or one that cannot be read, can only be the answer to this call. A stream that
        `is_shared` carries the answers to all calls.
        """
        answer = None
        for message in self._messages_in(line):
            if call is not None and _answers(message, call):
                answer = _addressed(message, call)
                await self._messages.put(answer)
            else:
                await self._messages.put(message if is_shared else _unasked(message))
        return answer

    def excerpt(self, body: bytes) -> str:
        """The beginning of something that is no message, fit to be shown."""
        return self._scrubber.scrub_line(body[:_KEPT_BYTES].decode("utf-8", "replace"), max_length=MAX_EXCERPT)

    async def finish(self) -> None:
        """Let the reader come to the end, after all that is there."""
        await self._messages.put(None)

    def close(self) -> None:
        """Drop all that is there, and let the reader come to the end at once; nobody may be adding any more."""
        while not self._messages.empty():
            self._messages.get_nowait()
        self._messages.put_nowait(None)

    def _messages_in(self, line: bytes) -> list[dict[str, Any] | Unreadable]:
        # All at once: other streams use the same reader as soon as this one waits.
        self._reader.feed(line.replace(b"\n", b" ") + b"\n")
        messages = list(self._reader.ready)
        self._reader.ready.clear()
        if len(line) > self._max_message and not messages:
            # The reader takes it for noise. But what stands where an answer should is one, and no better one follows.
            reason = f"it is longer than {count(self._max_message, 'byte')}"
            messages.append(Unreadable(reason=reason, excerpt=self.excerpt(line), limit=self._max_message))
        return messages


def _answers(message: dict[str, Any] | Unreadable, call: HttpCall) -> bool:
    if isinstance(message, Unreadable):
        return message.is_answer
    if "method" in message or message.get("jsonrpc") != "2.0":
        return False
    given = message.get("id")
    return given is None or given == call.id or own_id(given) == call.id


def _unasked(message: dict[str, Any] | Unreadable) -> dict[str, Any] | Unreadable:
    # On a stream of its own the server answers nobody: a connection must not take it for the one answer it waits for.
    return replace(message, is_answer=False) if isinstance(message, Unreadable) else message


def _addressed(message: dict[str, Any] | Unreadable, call: HttpCall) -> dict[str, Any] | Unreadable:
    if isinstance(message, Unreadable):
        return replace(message, id=call.id)
    return message if message.get("id") is not None else {**message, "id": call.id}
