"""What goes out: answers, refusals, and the events of a stream, as ASGI sends them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, TypeAlias

from toolcrib_mcp.front.asking import CONNECTION_CLOSED
from toolcrib_mcp.front.envelope import INVALID_PARAMS, INVALID_REQUEST, UNSUPPORTED_VERSION
from toolcrib_mcp.front.reading import PARSE_ERROR
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_mcp.rpc.messages import INTERNAL_ERROR, METHOD_NOT_FOUND, error_message

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]
HeaderLines: TypeAlias = tuple[tuple[bytes, bytes], ...]

HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
PING: Final = b": ping\n\n"
"""A line that clients skip; it keeps whatever stands between from closing a silent stream."""

CLOSE: Final = (b"connection", b"close")
SESSION: Final = b"mcp-session-id"
RETRY_SOON: Final = (b"retry-after", b"5")

_JSON = (b"content-type", b"application/json")
_STREAM: HeaderLines = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
_STATUS: Final[Mapping[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}


class Refusal(Exception):
    """Ends a request with an HTTP status before anybody has worked on it."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: int = INVALID_REQUEST,
        data: object = None,
        headers: HeaderLines = (),
        request_id: str | int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.request_id = request_id
        self.error = RpcError(code, message, data)


def modern_status(code: int) -> int:
    """The HTTP status that goes with an error of the modern era."""
    return _STATUS.get(code, 200)


def refused(error: RpcError, request_id: str | int | None) -> Refusal:
    """The refusal of a modern request that says this error."""
    return Refusal(modern_status(error.code), error.message, code=error.code, data=error.data, request_id=request_id)


def no_room(message: str, request_id: str | int | None = None) -> Refusal:
    """The refusal for want of room; a client may come again."""
    return Refusal(503, message, code=CONNECTION_CLOSED, headers=(RETRY_SOON,), request_id=request_id)


def failed() -> RpcError:
    """What a client is told of a failure of ours, whose text is not for it."""
    return RpcError(INTERNAL_ERROR, "Internal error")


def event_of(message: Mapping[str, Any]) -> bytes:
    """The message as one event of a stream."""
    return event_with(encode_message(message))


def event_with(line: bytes) -> bytes:
    """A message that is written already, with its newline, as one event of a stream."""
    return b"event: message\ndata: %b\n" % line


async def send_json(send: Send, body: bytes, *, status: int = 200, headers: HeaderLines = ()) -> None:
    """Answer with JSON, all at once."""
    lines = [_JSON, (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


async def send_empty(send: Send, status: int, *, headers: HeaderLines = ()) -> None:
    """Answer with a status alone."""
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0"), *headers]})
    await send({"type": "http.response.body", "body": b""})


async def send_refusal(send: Send, refusal: Refusal) -> None:
    """Answer with the status and an error that no request, or the one it names, is answered with."""
    message = error_message(refusal.request_id, refusal.error)
    await send_json(send, encode_message(message), status=refusal.status, headers=refusal.headers)


async def begin_stream(send: Send, *, headers: HeaderLines = ()) -> None:
    """Begin to answer with a stream of events."""
    await send({"type": "http.response.start", "status": 200, "headers": [*_STREAM, *headers]})


async def send_event(send: Send, event: bytes, *, last: bool = False) -> None:
    """Send an event of a stream that has begun."""
    await send({"type": "http.response.body", "body": event, "more_body": not last})
