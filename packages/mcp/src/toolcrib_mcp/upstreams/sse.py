"""Server-sent events, from bytes to the messages in them: in linear time, and with a cap on what is kept of one."""

from __future__ import annotations

from typing import Final

MAX_RETRY_SECONDS: Final = 30.0
"""The longest wait before a stream is asked for again that a server may name; more is cut to this."""

_MARK: Final = b"\xef\xbb\xbf"
_MAX_ID: Final = 1024
_MESSAGE_TYPES: Final = (b"", b"message")


class EventReader:
    """Takes bytes as they come and gives the data of each `message` event as one line.

    Of an event over the cap, the beginning is given at once, and the rest is skipped. `last_id` and `retry` are what
    the server said last about taking up the stream again: after which event, and after how many seconds. `endpoint` is
    the data of the first event of that type, by which the transport of 2024-11-05 names where to write to.
    """

    def __init__(self, max_event: int) -> None:
        self.last_id: bytes | None = None
        self.retry: float | None = None
        self.endpoint: bytes | None = None
        self._max_event = max_event
        self.restart()

    def restart(self) -> None:
        """Begin another stream, and forget the event that the one before broke off in."""
        self._line = bytearray()
        self._after_return = False
        self._start_event()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that end in this chunk, and the beginning of one that has become too long in it."""
        events: list[bytes] = []
        # Lines end with CR, LF or both; a pair of them may come in two chunks.
        rest = chunk[1:] if self._after_return and chunk.startswith(b"\n") else chunk
        for line in rest.splitlines(keepends=True):
            text = line.rstrip(b"\r\n")
            self._add(text, events)
            if len(text) < len(line):
                self._end_line(events)
        self._after_return = chunk.endswith(b"\r") if chunk else self._after_return
        return events

    def _start_event(self) -> None:
        # One array that grows: a list would cost many times the bytes of a server that writes empty lines of data.
        self._data = bytearray()
        self._type = b""
        self._id = self.last_id
        self._skipping = False

    def _add(self, text: bytes, events: list[bytes]) -> None:
        self._line += text
        if self._skipping:
            # Whether the line is empty is all that matters: an empty one ends the event.
            del self._line[1:]
        elif len(self._data) + len(self._line) > self._max_event + len(b"data: "):
            events.append(bytes(self._data + self._line.removeprefix(b"data:")))
            self._skipping = True
            self._data.clear()
            del self._line[1:]

    def _end_line(self, events: list[bytes]) -> None:
        line = bytes(self._line)
        self._line.clear()
        if not line:
            self._end_event(events)
        elif not self._skipping:
            name, _, value = line.removeprefix(_MARK).partition(b":")
            self._take(name, value.removeprefix(b" "))

    def _take(self, name: bytes, value: bytes) -> None:
        match name:
            case b"data":
                # The standard joins lines by newlines. In JSON a space means the same, and a message stays one line.
                self._data += b" " + value if self._data else value
            case b"event":
                self._type = value
            case b"id" if len(value) <= _MAX_ID and b"\x00" not in value:
                self._id = value or None
            case b"retry" if value.isdigit():
                self.retry = min(float(value[:20]) / 1000, MAX_RETRY_SECONDS)

    def _end_event(self, events: list[bytes]) -> None:
        if self._data and self._type in _MESSAGE_TYPES:
            events.append(bytes(self._data))
        elif self._type == b"endpoint" and self.endpoint is None:
            self.endpoint = bytes(self._data)
        self.last_id = self._id
        self._start_event()
