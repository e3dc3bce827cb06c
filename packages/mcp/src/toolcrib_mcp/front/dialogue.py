"""One client on a wire where both sides may speak at any time: its requests are worked on at once, in a task each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from toolcrib_core.wording import count, quoted
from toolcrib_mcp.front.asking import CANCELLED, CONNECTION_CLOSED, Asking
from toolcrib_mcp.front.conversation import Conversation
from toolcrib_mcp.front.envelope import INVALID_PARAMS, INVALID_REQUEST, is_modern
from toolcrib_mcp.front.listening import LISTEN
from toolcrib_mcp.front.reading import Incoming, Refusal
from toolcrib_mcp.front.service import Identity, Service
from toolcrib_mcp.front.unasked import Unasked
from toolcrib_mcp.rpc import RpcError, Unreadable, WireClosed
from toolcrib_mcp.rpc.messages import (
    INTERNAL_ERROR,
    error_message,
    is_message,
    notification_message,
    params_of,
    result_message,
)
from toolcrib_mcp.upstreams.eras import INITIALIZE
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

MAX_REQUESTS: Final = 1024
"""How many requests of one client are worked on at once unless the caller says otherwise; one more is refused."""

# For the words to a client whose requests are stopped.
_PATIENCE = 1.0
_logger = logging.getLogger("toolcrib.mcp")


class ClientWire(Protocol):
    """Carries JSON-RPC messages to one client and back."""

    async def send(self, message: Mapping[str, Any]) -> None:
        """As that of `Wire`."""

    async def receive(self) -> Incoming:
        """As that of `Wire`."""


async def serve_wire(
    service: Service,
    wire: ClientWire,
    *,
    key: str,
    principal: Identity | None = None,
    drain: float = 0.0,
    gone: asyncio.Event | None = None,
    max_requests: int = MAX_REQUESTS,
    clock: Clock = SYSTEM_CLOCK,
) -> None:
    """Serve one client until it has nothing more to say; the wire stays the caller's, who closes it.

    What is under way then has `drain` seconds to end, but none once `gone` is set: the client no longer reads. Being
    cancelled stops all work; the client is told that its requests are not answered.
    """
    dialogue = _Dialogue(service, wire, key=key, principal=principal, max_requests=max_requests, clock=clock)
    await dialogue.run(drain=drain, gone=gone or asyncio.Event())


class _Dialogue:
    def __init__(
        self,
        service: Service,
        wire: ClientWire,
        *,
        key: str,
        principal: Identity | None,
        max_requests: int,
        clock: Clock,
    ) -> None:
        self._wire = wire
        self._max_requests = max_requests
        self._unasked = Unasked()
        self._asking = Asking(send=wire.send, post=self._unasked.add, clock=clock)
        self._conversation = Conversation(service, key=key, tell=self._unasked.add, principal=principal)
        self._work: dict[str | int, _Work] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    async def run(self, *, drain: float, gone: asyncio.Event) -> None:
        telling = asyncio.create_task(self._unasked.send_all(self._send))
        try:
            await self._read()
            self._asking.close()
            await self._drain(drain, gone)
        finally:
            self._asking.close()
            telling.cancel()
            await self._stop(tell=not gone.is_set())
            await self._conversation.end()

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """As a `Channel`, which on such a wire is the same for all requests."""
        await self._send(notification_message(method, params))

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ASYNC109  # the client is told when time is over
        """As a `Channel`."""
        if self._conversation.caller is None:
            raise RpcError(INVALID_REQUEST, "A client that has not shaken hands cannot be asked.")
        return await self._asking.ask(method, params, timeout=timeout)

    async def _read(self) -> None:
        while True:
            try:
                message = await self._wire.receive()
            except WireClosed:
                return
            # Sent from here: a client that reads no refusals is not read from either.
            if (refused := self._take(message)) is not None:
                await self._send(refused)

    def _take(self, message: Incoming) -> dict[str, Any] | None:
        """Begin what a message asks for; gives what can be answered at once."""
        if isinstance(message, Refusal):
            return self._refusal(message.id, message.error)
        if isinstance(message, Unreadable):
            self._asking.take_unreadable(message)
            return None
        method = message.get("method")
        if method is None and ("result" in message or "error" in message):
            self._asking.take_answer(message)
            return None
        if not isinstance(method, str) or not is_message(message):
            return self._refusal(
                message.get("id"), RpcError(INVALID_REQUEST, "Invalid request: it is not JSON-RPC 2.0.")
            )
        if "id" in message:
            return self._take_request(message["id"], method, message.get("params"))
        if method == CANCELLED:
            self._take_back(params_of(message).get("requestId"))
        return None

    def _take_request(self, request_id: Any, method: str, params: Any) -> dict[str, Any] | None:
        if type(request_id) not in {str, int}:
            return self._refusal(None, RpcError(INVALID_REQUEST, "Invalid request: `id` is no string and no integer."))
        if request_id in self._work:
            return self._refusal(None, RpcError(INVALID_REQUEST, "Invalid request: its `id` is that of another one."))
        params = {} if params is None else params
        if not isinstance(params, dict):
            return error_message(request_id, RpcError(INVALID_PARAMS, "`params` must be an object."))
        if method == "ping" and not is_modern(params):
            return result_message(request_id, {})
        if len(self._work) >= self._max_requests:
            return error_message(request_id, _too_many(self._max_requests))
        work = self._work[request_id] = _Work(method)
        work.task = asyncio.create_task(self._answer(work, request_id, params))
        return None

    async def _answer(self, work: _Work, request_id: str | int, params: dict[str, Any]) -> None:
        try:
            try:
                result = await self._conversation.answer(work.method, params, request_id=request_id, channel=self)
                answer = result_message(request_id, result)
            except RpcError as error:
                answer = error_message(request_id, error)
            except Exception:
                # The edge between us and a client: our failure does not end the connection, nor is its text for it.
                _logger.exception("the request %s of a client could not be answered", quoted(work.method))
                answer = error_message(request_id, RpcError(INTERNAL_ERROR, "Internal error"))
            if self._work.get(request_id) is work:
                work.answered = True
                await self._send(answer)
        finally:
            # Only now: what a client does not take counts as work under way, so that there is not too much of it.
            if self._work.get(request_id) is work:
                del self._work[request_id]

    async def _send(self, message: Mapping[str, Any]) -> None:
        try:
            await self._wire.send(message)
        except WireClosed:
            return
        except TypeError:
            _logger.exception("something for a client is not JSON")
            if "id" in message and "method" not in message:
                await self._send(error_message(message["id"], RpcError(INTERNAL_ERROR, "Internal error")))

    def _take_back(self, request_id: object) -> None:
        work = self._work.get(request_id) if isinstance(request_id, str | int) else None
        # The specification forbids to cancel `initialize`.
        if work is not None and work.method != INITIALIZE:
            del self._work[request_id]  # type: ignore[arg-type]  # it was found by it
            self._cancel(work)

    def _cancel(self, work: _Work) -> None:
        work.task.cancel()
        self._leaving.add(work.task)
        work.task.add_done_callback(self._leaving.discard)

    async def _drain(self, seconds: float, gone: asyncio.Event) -> None:
        for request_id, work in list(self._work.items()):
            if work.method == LISTEN:
                del self._work[request_id]
                self._cancel(work)
        if not self._work or seconds <= 0 or gone.is_set():
            return
        ended = asyncio.ensure_future(asyncio.wait([work.task for work in self._work.values()]))
        left = asyncio.ensure_future(gone.wait())
        try:
            await asyncio.wait([ended, left], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            left.cancel()

    async def _stop(self, *, tell: bool) -> None:
        """Cancel all work, and tell the client what it will not hear of."""
        unanswered = [request_id for request_id, work in self._work.items() if not work.answered]
        for work in self._work.values():
            self._cancel(work)
        self._work.clear()
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=_PATIENCE)
        if tell:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    for request_id in unanswered:
                        await self._send(error_message(request_id, RpcError(CONNECTION_CLOSED, "Connection closed")))

    def _refusal(self, request_id: object, error: RpcError) -> dict[str, Any]:
        """An error under an id that a client can expect it under: not that of a request which is worked on."""
        if isinstance(request_id, bool) or not isinstance(request_id, str | int) or request_id in self._work:
            request_id = None
        return error_message(request_id, error)


@dataclass(slots=True)
class _Work:
    method: str
    task: asyncio.Task[None] = field(init=False)
    answered: bool = False


def _too_many(limit: int) -> RpcError:
    return RpcError(
        INTERNAL_ERROR,
        f"{count(limit, 'request')} of this client are under way, and no more are taken.",
        {"error": "RATE_LIMITED", "retryable": True},
    )
