"""The exchanges with one server over HTTP: calls and their streams, notices, and what the server says unasked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, cast

import httpx2

from toolcrib_mcp.errors import UpstreamError, UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.rpc import WireClosed
from toolcrib_mcp.rpc.codec import decode
from toolcrib_mcp.upstreams.eras import INITIALIZE
from toolcrib_mcp.upstreams.http_endpoint import Endpoint
from toolcrib_mcp.upstreams.http_failures import broken_off, no_answer, refused, session_lost, undelivered
from toolcrib_mcp.upstreams.http_headers import SESSION_HEADER, RequestHeaders
from toolcrib_mcp.upstreams.http_inbox import HttpCall, Inbox
from toolcrib_mcp.upstreams.links import SESSION_LOST
from toolcrib_mcp.upstreams.sse import MAX_RETRY_SECONDS, EventReader
from toolcrib_runtime.clock import Clock

_MAX_REFUSAL: Final = 64 * 1024
_NOTICE_SECONDS: Final = 10.0
_FAREWELL_SECONDS: Final = 2.0
# A stream ends right behind its answer. Read to its end, it leaves a connection that the next call can use.
_ENDING_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = 1.0
_MAX_RESUMPTIONS: Final = 3
# A stream on which not even a comment comes is asked for again: its connection may be long dead.
_SILENCE_SECONDS: Final = 300.0


class SessionLost(WireClosed):
    """The server does not know the session any more, as after a restart: open another wire and begin again."""

    def __init__(self) -> None:
        super().__init__(SESSION_LOST)


class Conversation:
    """Speaks with one server; all that comes goes into the inbox, also failures.

    A failed exchange fails the call that it was for, and nothing else. Only a lost session ends the conversation.
    """

    def __init__(
        self, endpoint: Endpoint, *, headers: RequestHeaders, inbox: Inbox, max_message: int, clock: Clock
    ) -> None:
        self._endpoint = endpoint
        self._headers = headers
        self._inbox = inbox
        self._max_message = max_message
        self._clock = clock

    async def call(self, call: HttpCall) -> None:
        """Send a request, and hand on what comes until it is answered or has failed."""
        try:
            await self._exchange(call)
        except UpstreamError as error:
            await self._inbox.put(undelivered(call.id, error))
            if self._inbox.end is not None:
                await self._inbox.finish()

    async def tell(self, headers: Mapping[str, str], content: bytes) -> None:
        """Send what is not answered. Its loss is not reported: the next call meets what kept it from arriving."""
        with suppress(UpstreamError, TimeoutError):
            async with (
                asyncio.timeout(_NOTICE_SECONDS),
                self._endpoint.ask("POST", headers=headers, content=content) as response,
            ):
                error = _error_in(await _body(response, _MAX_REFUSAL))
            if self._loses_session(headers, response, error):
                await self._inbox.finish()

    async def listen(self) -> None:
        """Hand on what the server says unasked, for as long as it offers a stream for that."""
        events = EventReader(self._max_message)
        wait = _RETRY_SECONDS
        while True:
            heard = events.last_id
            headers = self._stream_headers(events)
            try:
                async with self._endpoint.ask("GET", headers=headers, silence=_SILENCE_SECONDS) as response:
                    if not await self._offers_stream(headers, response):
                        return
                    wait = _RETRY_SECONDS
                    await self._read_events(response, events)
            except UpstreamError as error:
                if not error.retryable:
                    return
            await self._clock.sleep(max(wait, events.retry or 0.0))
            wait = min(2 * wait, MAX_RETRY_SECONDS) if events.last_id == heard else _RETRY_SECONDS

    async def end_session(self) -> None:
        """Tell the server that the session is over, if there is one."""
        headers = self._headers.of_stream()
        if SESSION_HEADER in headers:
            with suppress(UpstreamError, TimeoutError):
                async with (
                    asyncio.timeout(_FAREWELL_SECONDS),
                    self._endpoint.ask("DELETE", headers=headers) as response,
                ):
                    await _body(response, _MAX_REFUSAL)

    async def _exchange(self, call: HttpCall) -> None:
        """One exchange; its stream is taken up again where the server named a place to do so."""
        events = EventReader(self._max_message)
        async with self._endpoint.ask("POST", headers=call.headers, content=call.content) as response:
            if not response.is_success:
                await self._hand_on_refusal(call, response, sent=False)
                return
            if call.method == INITIALIZE:
                self._headers.note_session(response.headers.get(SESSION_HEADER))
            if _media_type(response) != "text/event-stream":
                await self._hand_on_body(call, response)
                return
            if await self._hears_answer(call, response, events):
                return
        await self._resume(call, events)

    async def _resume(self, call: HttpCall, events: EventReader) -> None:
        fruitless = 0
        # The modern era has no streams to go back to.
        while events.last_id is not None and not call.modern and fruitless < _MAX_RESUMPTIONS:
            heard = events.last_id
            await self._clock.sleep(_RETRY_SECONDS if events.retry is None else events.retry)
            try:
                async with self._endpoint.ask("GET", headers=self._stream_headers(events)) as response:
                    if not response.is_success:
                        await self._hand_on_refusal(call, response, sent=True)
                        return
                    if await self._hears_answer(call, response, events):
                        return
            except UpstreamUnavailable as error:
                if self._inbox.end is not None or not error.retryable:
                    raise
            fruitless = fruitless + 1 if events.last_id == heard else 0
        raise broken_off(self._endpoint.url)

    async def _hears_answer(self, call: HttpCall, response: httpx2.Response, events: EventReader) -> bool:
        try:
            return await self._read_events(response, events, call)
        except httpx2.TransportError:
            # As good as an end: where it can be taken up again, it is, and else the call fails.
            return False

    async def _read_events(self, response: httpx2.Response, events: EventReader, call: HttpCall | None = None) -> bool:
        """Hand on what a stream brings, to its end or to the answer; whether the answer came."""
        events.restart()
        chunks = aiter(cast("AsyncIterable[bytes]", response.stream))
        async for chunk in chunks:
            answers = [await self._hand_on(line, call) for line in events.feed(chunk)]
            if any(answers):
                with suppress(TimeoutError, httpx2.TransportError):
                    async with asyncio.timeout(_ENDING_SECONDS):
                        async for _ in chunks:
                            pass
                return True
        return False

    async def _hand_on(self, line: bytes, call: HttpCall | None) -> bool:
        answer = await self._inbox.put_line(line, call=call)
        if call is not None and isinstance(answer, dict):
            self._headers.note_answer(call.method, answer)
        return answer is not None

    async def _hand_on_body(self, call: HttpCall, response: httpx2.Response) -> None:
        body = await _body(response, self._max_message)
        is_message = _media_type(response) == "application/json" and await self._hand_on(body, call)
        if not is_message:
            raise no_answer(response, self._endpoint.url, excerpt=self._inbox.excerpt(body))

    async def _hand_on_refusal(self, call: HttpCall, response: httpx2.Response, *, sent: bool) -> None:
        error = _error_in(await _body(response, _MAX_REFUSAL))
        if self._loses_session(call.headers, response, error):
            raise session_lost(self._endpoint.url, sent=sent)
        failure = self._refused(response)
        # The status of any other failure says more: who may ask, how often, and whether anybody is there.
        if error is None or not isinstance(failure, UpstreamFailed):
            raise failure
        await self._inbox.put({"jsonrpc": "2.0", "id": call.id, "error": error})

    async def _offers_stream(self, headers: Mapping[str, str], response: httpx2.Response) -> bool:
        if response.is_success:
            return _media_type(response) == "text/event-stream"
        if self._loses_session(headers, response, _error_in(await _body(response, _MAX_REFUSAL))):
            await self._inbox.finish()
            return False
        raise self._refused(response)

    def _loses_session(
        self, headers: Mapping[str, str], response: httpx2.Response, error: Mapping[str, Any] | None
    ) -> bool:
        """Whether an answer means that the session is gone; if so, nothing more is sent in it."""
        # Some servers answer 400 where the specification wants 404, but then they say what it is about.
        lost = response.status_code == HTTPStatus.NOT_FOUND or (
            response.status_code == HTTPStatus.BAD_REQUEST
            and error is not None
            and "session" in str(error.get("message")).lower()
        )
        if lost and SESSION_HEADER in headers:
            self._inbox.end = self._inbox.end or SessionLost()
            return True
        return False

    def _refused(self, response: httpx2.Response) -> UpstreamError:
        return refused(response, self._endpoint.url, has_credentials=self._endpoint.has_credentials)

    def _stream_headers(self, events: EventReader) -> dict[str, str]:
        last_id = {} if events.last_id is None else {"last-event-id": events.last_id.decode("latin-1")}
        return {**self._headers.of_stream(), **last_id}


async def _body(response: httpx2.Response, max_bytes: int) -> bytes:
    """The body, or more of it than is taken, by which its reader knows that it is too long."""
    body = bytearray()
    async for chunk in cast("AsyncIterable[bytes]", response.stream):
        body += chunk
        if len(body) > max_bytes:
            break
    return bytes(body)


def _error_in(body: bytes) -> dict[str, Any] | None:
    """The JSON-RPC error in the body of a refusal."""
    try:
        answer = decode(body)
    except ValueError:
        return None
    error = answer.get("error") if isinstance(answer, dict) and answer.get("jsonrpc") == "2.0" else None
    return error if isinstance(error, dict) else None


def _media_type(response: httpx2.Response) -> str:
    return response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
