"""One request of a client under way: its answer goes out as JSON, or on a stream if something is said before it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import Any, Final

from toolcrib_mcp.front.asking import CONNECTION_CLOSED
from toolcrib_mcp.front.http.asks import Asks
from toolcrib_mcp.front.http.rechecking import UNWELCOME
from toolcrib_mcp.front.http.replies import (
    PING,
    HeaderLines,
    Receive,
    Send,
    begin_stream,
    event_of,
    event_with,
    failed,
    modern_status,
    send_event,
    send_json,
)
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND, error_message, notification_message, result_message

CANCELLED: Final = -32800
"""The code that a request ends with which its client took back; on a stream of the handshake era, something must."""

_MINDED_AFTER = 0.1
_ENDS = frozenset({"http.disconnect", UNWELCOME})
_logger = logging.getLogger("toolcrib.mcp")


class Stop(Enum):
    """Why a request is not worked on any more."""

    GONE = auto()
    TAKEN_BACK = auto()
    ENDED = auto()


class Exchange:
    """The way back to the client of one request. The work runs in the task of the HTTP request itself.

    Most requests are over at once, so nobody looks after one before it has taken a while: whether its client is still
    there, and whether a silent stream has to say that it is. A modern client that goes takes its request back by that;
    one of the handshake era does not, and its request may go on for a while.
    """

    def __init__(
        self,
        request_id: str | int,
        *,
        receive: Receive,
        send: Send,
        settings: HttpFrontSettings,
        asks: Asks | None,
        headers: HeaderLines = (),
    ) -> None:
        self.request_id = request_id
        self._receive = receive
        self._send = send
        self._settings = settings
        self._asks = asks
        self._headers = headers
        self._lock = asyncio.Lock()
        self._streaming = False
        self._over = False
        self._gone = asyncio.Event()
        self._stop: Stop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._minder: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.farewell: Mapping[str, Any] | None = None
        """The result with which the server ends the request, where it has one for that."""

    async def run(self, work: Callable[[], Awaitable[Mapping[str, Any]]]) -> bool:
        """Work on the request and answer it; whether it had a result."""
        self._task = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(_MINDED_AFTER, self._begin_minding)
        try:
            answer = await self._outcome(work)
        finally:
            self._over = True
            self._timer.cancel()
            if self._minder is not None:
                self._minder.cancel()
        if answer is not None:
            await self._finish(answer)
        return answer is not None and "result" in answer

    def stop(self, why: Stop) -> None:
        """Stop the work, if it still goes on."""
        if self._over or self._stop is not None or self._task is None:
            return
        self._stop = why
        self._task.cancel()

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the client something; one that has gone is no error."""
        await self._say(event_of(notification_message(method, params)))

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ASYNC109  # the client is told when time is over
        """Ask the client, on the stream of its request.

        Raises:
            RpcError: It answered with an error, has gone, took too long, or is of the modern era.
        """
        if self._asks is None:
            raise RpcError(METHOD_NOT_FOUND, "A client of this version of the protocol cannot be asked.")
        return await self._asks.ask(method, params, timeout=timeout, say=self._say, gone=self._gone)

    async def _outcome(self, work: Callable[[], Awaitable[Mapping[str, Any]]]) -> dict[str, Any] | None:
        try:
            return result_message(self.request_id, await work())
        except RpcError as error:
            return error_message(self.request_id, error)
        except asyncio.CancelledError:
            if self._stop is None or self._task is None:
                raise
            self._task.uncancel()
            return self._stopped(self._stop)
        except Exception:
            # The edge between clients and us: the text of our failure is not for them.
            _logger.exception("a request over HTTP could not be answered")
            return error_message(self.request_id, failed())

    def _stopped(self, why: Stop) -> dict[str, Any] | None:
        if why is Stop.GONE:
            return None
        if why is Stop.TAKEN_BACK:
            return error_message(self.request_id, RpcError(CANCELLED, "Request cancelled"))
        if self.farewell is not None:
            return result_message(self.request_id, self.farewell)
        return error_message(self.request_id, RpcError(CONNECTION_CLOSED, "The server ended the request."))

    async def _finish(self, answer: dict[str, Any]) -> None:
        try:
            line = encode_message(answer)
        except TypeError:
            _logger.exception("a result is not JSON")
            answer = error_message(self.request_id, failed())
            line = encode_message(answer)
        modern = self._asks is None
        status = modern_status(answer["error"]["code"]) if modern and "error" in answer else 200
        async with self._lock:
            if not self._gone.is_set():
                await self._bounded(self._answer(line, status))

    async def _answer(self, line: bytes, status: int) -> None:
        if self._asks is not None and not self._streaming:
            # As the official servers of the handshake era do it; there are clients that have met nothing else.
            await begin_stream(self._send, headers=self._headers)
            self._streaming = True
        if self._streaming:
            await send_event(self._send, event_with(line), last=True)
        else:
            await send_json(self._send, line, status=status, headers=self._headers)

    async def _say(self, event: bytes) -> None:
        async with self._lock:
            if not self._over and not self._gone.is_set():
                await self._bounded(self._stream(event))

    async def _stream(self, event: bytes) -> None:
        if not self._streaming:
            await begin_stream(self._send, headers=self._headers)
            self._streaming = True
        await send_event(self._send, event)

    async def _bounded(self, sending: Awaitable[None]) -> None:
        """A client that does not read what is sent has gone as well."""
        try:
            async with asyncio.timeout(self._settings.write_timeout):
                await sending
        except TimeoutError:
            self._leave()

    def _begin_minding(self) -> None:
        self._minder = asyncio.create_task(self._mind())

    async def _mind(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._settings.ping_interval):
                    while (event := await self._receive())["type"] not in _ENDS:
                        pass
            except TimeoutError:
                await self._say(PING)
            else:
                if event["type"] == UNWELCOME:
                    self.stop(Stop.ENDED)
                else:
                    self._leave()
                return

    def _leave(self) -> None:
        self._gone.set()
        if self._asks is None:
            self.stop(Stop.GONE)
        elif not self._over:
            wait = self._settings.abandoned_timeout
            self._timer = asyncio.get_running_loop().call_later(wait, self.stop, Stop.GONE)
