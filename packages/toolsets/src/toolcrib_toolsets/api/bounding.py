"""No request is larger, or takes longer to arrive, than it may: before anything of it is read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

import orjson

from toolcrib_toolsets.errors import ApiRequestInvalid

MAX_BODY: Final = 4 * 1024 * 1024
"""Bytes of one request: an OpenAPI document of a large service fits."""

BODY_SECONDS: Final = 30.0

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class Bounded:
    """An application in front of which the body of every request is read whole, or refused."""

    def __init__(self, app: App, *, max_body: int = MAX_BODY, seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._max = max_body
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._body(receive)
        except TimeoutError:
            await _refuse(send, 408, "it did not arrive in time")
            return
        if body is None:
            await _refuse(send, 413, f"it has more than {self._max:,} bytes")
            return
        await self._app(scope, _given(body, receive), send)

    async def _body(self, receive: Receive) -> bytes | None:
        parts, size = [], 0
        while True:
            event = await receive()
            part: bytes = event.get("body", b"")
            size += len(part)
            if size > self._max:
                return None
            parts.append(part)
            if event["type"] == "http.disconnect" or not event.get("more_body"):
                return b"".join(parts)


def _given(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(send: Send, status: int, reason: str) -> None:
    error = ApiRequestInvalid.because(reason)
    told: dict[str, object] = {
        "error": error.key,
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "details": {},
    }
    body = orjson.dumps(told)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
