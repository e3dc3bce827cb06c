"""What clients of the handshake era are asked: sent on the stream of a request, answered by a request of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, Final

from toolcrib_mcp.front.asking import CANCELLED, CONNECTION_CLOSED, REQUEST_TIMEOUT
from toolcrib_mcp.front.http.replies import event_of
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import INTERNAL_ERROR, notification_message, own_id, request_message

MAX_ASKED: Final = 64
"""How many questions one client may be asked at once."""

Say = Callable[[bytes], Awaitable[None]]
"""Sends an event to the client."""


class Asks:
    """The questions of one session that are not answered yet."""

    def __init__(self, *, first: int = 1) -> None:
        self._ids = count(first)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout: float | None,  # noqa: ASYNC109  # the client is told when time is over
        say: Say,
        gone: asyncio.Event,
    ) -> dict[str, Any]:
        """The result that the client answers with.

        Raises:
            RpcError: It answered with an error, has gone, took too long, or is asked too much already.
        """
        if len(self._waiting) >= MAX_ASKED:
            raise RpcError(CONNECTION_CLOSED, "The client is asked too much at once.")
        asked = next(self._ids)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[asked] = answer
        leaving = asyncio.ensure_future(gone.wait())
        try:
            await say(event_of(request_message(asked, method, params)))
            either: list[asyncio.Future[Any]] = [answer, leaving]
            await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            if leaving.done():
                raise RpcError(CONNECTION_CLOSED, "The client has gone.")
            raise RpcError(REQUEST_TIMEOUT, "The client did not answer in time.")
        finally:
            leaving.cancel()
            del self._waiting[asked]
            if answer.done():
                answer.exception()  # seen, also where the asker was stopped at the same moment
            else:
                await say(event_of(notification_message(CANCELLED, {"requestId": asked})))

    def answered(self, message: Mapping[str, Any]) -> bool:
        """Hand an answer to whoever waits for it; whether anybody does."""
        asked = own_id(message.get("id"))
        waiting = None if asked is None else self._waiting.get(asked)
        if waiting is None or waiting.done():
            return False
        error, result = message.get("error"), message.get("result")
        if isinstance(error, Mapping):
            code, text = error.get("code"), error.get("message")
            if type(code) is int and isinstance(text, str):
                waiting.set_exception(RpcError(code, text, error.get("data")))
                return True
        elif isinstance(result, dict):
            waiting.set_result(result)
            return True
        waiting.set_exception(RpcError(INTERNAL_ERROR, "The client's answer cannot be used."))
        return True
