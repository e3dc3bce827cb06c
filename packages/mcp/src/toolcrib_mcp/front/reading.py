"""From bytes to the messages of a client; what is none is refused, so that whoever sent it does not wait in vain."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_core.wording import count
from toolcrib_mcp.front.envelope import INVALID_REQUEST
from toolcrib_mcp.rpc import RpcError, Unreadable
from toolcrib_mcp.rpc.codec import decode, outline, request_id_in
from toolcrib_mcp.rpc.lines import HEAD_BYTES, TAIL_BYTES, LineSplitter, LongLine

PARSE_ERROR: Final = -32700
"""The code for what is not JSON."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """What to answer to something that is no message; `id` is that of the request it was meant to be, if it shows."""

    error: RpcError
    id: object | None = None


Incoming = dict[str, Any] | Refusal | Unreadable
"""A JSON object; what is to be refused; or an answer of the client that cannot be read."""


class RequestReader:
    """Takes bytes as they come and holds ready what is in them, in order.

    Nothing is repaired: a request with a character replaced is another request.
    """

    def __init__(self, *, max_line: int) -> None:
        self.ready: deque[Incoming] = deque()
        self._max_line = max_line
        self._lines = LineSplitter(max_line)

    def feed(self, chunk: bytes) -> None:
        """Read what this chunk completes."""
        for line in self._lines.feed(chunk):
            self._take(line)

    def end(self) -> None:
        """Read what stands after the last newline: there is no more."""
        for line in self._lines.end():
            self._take(line)

    def _take(self, line: bytes | LongLine) -> None:
        if isinstance(line, LongLine):
            # Its end may be what says whose it is, so it is refused when it has ended.
            if line.tail is not None:
                self._refuse(line.head, line.tail, _too_long(self._max_line))
            return
        try:
            value = decode(line)
        except ValueError as failure:
            self._take_damaged(line, failure)
            return
        if isinstance(value, dict):
            self.ready.append(value)
        else:
            what = "a batch, which no version served here has" if isinstance(value, list) else "no object"
            self.ready.append(Refusal(error=RpcError(INVALID_REQUEST, f"Invalid request: it is {what}.")))

    def _take_damaged(self, line: bytes, failure: ValueError) -> None:
        if line.startswith(_BYTE_ORDER_MARK):
            self._take(line.removeprefix(_BYTE_ORDER_MARK))
        elif line.strip():
            error = RpcError(PARSE_ERROR, f"Parse error: {failure}")
            self._refuse(line[:HEAD_BYTES], line[-TAIL_BYTES:], error)

    def _refuse(self, head: bytes, tail: bytes, error: RpcError) -> None:
        meant = outline(head, tail)
        if meant.is_answer:
            self.ready.append(Unreadable(reason=error.message, excerpt="", id=meant.id))
        else:
            self.ready.append(Refusal(error=error, id=request_id_in(head, tail) if meant.is_message else None))


def _too_long(limit: int) -> RpcError:
    return RpcError(INVALID_REQUEST, f"Invalid request: it is longer than {count(limit, 'byte')}.", {"limit": limit})
