"""Reading the body of a request: no further than it may be long, and no longer than it may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.replies import CLOSE, Event, Receive, Refusal, Scope
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.reading import PARSE_ERROR
from toolcrib_mcp.rpc.codec import decode_strictly

SMALL: Final = 64 * 1024
"""Bytes of a body that is dropped without much ado when its request is refused."""

_LINGER_SECONDS = 10.0


class ClientGone(Exception):
    """The client left before it had sent its request."""


class Arriving:
    """What a client sends, and how much of it is still to come."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._lines: list[tuple[bytes, bytes]] = scope["headers"]
        self._receive = receive
        self._came = False

    async def __call__(self) -> Event:
        """The next event."""
        event = await self._receive()
        if event["type"] != "http.request" or not event.get("more_body", False):
            self._came = True
        return event

    @property
    def has_much_to_come(self) -> bool:
        """Whether the rest of the request may be longer than is worth taking for nothing."""
        return not self._came and any(
            name == b"transfer-encoding" or (name == b"content-length" and not _is_small(value))
            for name, value in self._lines
        )


async def read_message(
    headers: Headers, receive: Receive, *, settings: HttpFrontSettings, weigh: Callable[[int], None]
) -> object:
    """The JSON value of the body; `weigh` is given the size of each part, and refuses what there is no room for.

    Raises:
        Refusal: It is too large, comes too slowly, finds no room, or is no JSON.
        ClientGone: It never came.
    """
    body = await _read(headers, receive, settings, weigh)
    try:
        return decode_strictly(body)
    except ValueError:
        raise Refusal(400, "The body is not JSON, or has a key twice.", code=PARSE_ERROR) from None


async def _read(headers: Headers, receive: Receive, settings: HttpFrontSettings, weigh: Callable[[int], None]) -> bytes:
    declared = headers.get(b"content-length")
    if declared is not None and declared.isdecimal() and int(declared[:20]) > settings.max_body:
        raise _too_large(settings.max_body)
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(settings.body_timeout):
            while more:
                event = await receive()
                if event["type"] != "http.request":
                    raise ClientGone
                part = event.get("body", b"")
                if len(body) + len(part) > settings.max_body:
                    raise _too_large(settings.max_body)
                weigh(len(part))
                body += part
                more = event.get("more_body", False)
    except TimeoutError:
        raise Refusal(408, "The body did not come in time.", headers=(CLOSE,)) from None
    return bytes(body)


async def skim(receive: Receive, *, most: int | None = None) -> None:
    """Drop what still comes of a body, for a moment: one who is cut off while sending may not read the refusal."""
    dropped = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            while most is None or dropped <= most:
                event = await receive()
                if event["type"] != "http.request" or not event.get("more_body", False):
                    return
                dropped += len(event.get("body", b""))


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"The body is larger than the {limit} bytes that are taken.", headers=(CLOSE,))


def _is_small(length: bytes) -> bool:
    return length.isdigit() and int(length[:20]) <= SMALL
