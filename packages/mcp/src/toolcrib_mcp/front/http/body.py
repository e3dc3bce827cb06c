"""Reading the body of a request: no further than it may be long, and no longer than it may take."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.replies import CLOSE, Receive, Refusal
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.reading import PARSE_ERROR
from toolcrib_mcp.rpc.codec import decode

_LINGER_SECONDS = 10.0


class ClientGone(Exception):
    """The client left before it had sent its request."""


async def read_message(headers: Headers, receive: Receive, *, settings: HttpFrontSettings) -> object:
    """The JSON value of the body.

    Raises:
        Refusal: It is too large, comes too slowly, or is no JSON.
        ClientGone: It never came.
    """
    body = await _read(headers, receive, settings)
    try:
        return decode(body)
    except ValueError:
        raise Refusal(400, "The body is not JSON.", code=PARSE_ERROR) from None


async def _read(headers: Headers, receive: Receive, settings: HttpFrontSettings) -> bytes:
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
                body += event.get("body", b"")
                if len(body) > settings.max_body:
                    raise _too_large(settings.max_body)
                more = event.get("more_body", False)
    except TimeoutError:
        raise Refusal(408, "The body did not come in time.", headers=(CLOSE,)) from None
    return bytes(body)


async def skim(receive: Receive) -> None:
    """Drop what still comes of a body, for a moment: one who is cut off while sending may not read the refusal."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            while True:
                event = await receive()
                if event["type"] != "http.request" or not event.get("more_body", False):
                    return


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"The body is larger than the {limit} bytes that are taken.", headers=(CLOSE,))
