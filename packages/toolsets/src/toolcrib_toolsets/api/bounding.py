"""A body is read only from a known caller, within a size and a time, and only if all readers understand it alike."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, Final, TypeAlias

import orjson

from toolcrib_core import ToolError
from toolcrib_toolsets.api.entering import PRINCIPAL, Authenticate, Principal
from toolcrib_toolsets.errors import ApiRequestInvalid, ToolsetError, Unauthenticated

MAX_BODY: Final = 4 * 1024 * 1024
"""Bytes of one request: an OpenAPI document of a large service fits."""

BODY_SECONDS: Final = 30.0

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class Bounded:
    """An application in front of which the body of every request is read whole, or refused."""

    def __init__(
        self, app: App, *, authenticate: Authenticate, max_body: int = MAX_BODY, seconds: float = BODY_SECONDS
    ) -> None:
        self._app = app
        self._authenticate = authenticate
        self._max = max_body
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        try:
            scope[PRINCIPAL] = await self._principal(scope)
            async with asyncio.timeout(self._seconds):
                body = await self._body(receive)
        except TimeoutError:
            await _refuse(send, 408, ApiRequestInvalid.because("it did not arrive in time"))
        except ToolsetError as refusal:
            await _refuse(send, refusal.status, refusal)
        except ToolError as failure:
            await _refuse(send, 503, failure)
        else:
            if body is None:
                await _refuse(send, 413, ApiRequestInvalid.because(f"it has more than {self._max:,} bytes"))
            elif (ambiguity := _ambiguity(body)) is not None:
                await _refuse(send, 400, ApiRequestInvalid.because(ambiguity))
            else:
                await self._app(scope, _given(body, receive), send)

    async def _principal(self, scope: Scope) -> Principal:
        """Who sends the body.

        Raises:
            Unauthenticated: They do not say, or no caller is known by that token.
        """
        sent = [value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, token = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
        found = await self._authenticate(token.strip(" ")) if scheme.lower() == "bearer" else None
        if found is None:
            raise Unauthenticated.of()
        return found

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


def _has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


def _ambiguity(body: bytes) -> str | None:
    """What two readers of the text would understand differently, if anything."""
    twice = False

    def look(pairs: Sequence[tuple[str, object]]) -> None:
        nonlocal twice
        twice = twice or len({key for key, _ in pairs}) < len(pairs)

    try:
        json.loads(body, object_pairs_hook=look)
        if _SURROGATE.search(body):
            json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "a text has half of a surrogate pair"
    except (ValueError, RecursionError):
        return None  # the application says what is wrong with it
    return "an object has a key twice" if twice else None


async def _refuse(send: Send, status: int, error: ToolError) -> None:
    told: dict[str, object] = {
        "error": error.key if isinstance(error, ToolsetError) else error.category.value,
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "details": {},
    }
    body = orjson.dumps(told)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if isinstance(error, Unauthenticated):
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
