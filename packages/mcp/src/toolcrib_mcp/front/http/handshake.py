"""Requests of the handshake era: a session, a stream for what was not asked for, and the messages of one client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from toolcrib_mcp.front.asking import CANCELLED
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.http.exchange import Exchange
from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.rechecking import UNWELCOME
from toolcrib_mcp.front.http.replies import (
    PING,
    SESSION,
    Receive,
    Refusal,
    Send,
    begin_stream,
    event_of,
    send_empty,
    send_event,
)
from toolcrib_mcp.front.http.sessions import Session, Sessions, deliver
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.http.under_way import UnderWay
from toolcrib_mcp.front.service import Identity
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_mcp.rpc.messages import notification_message, params_of
from toolcrib_mcp.upstreams.eras import INITIALIZE

MAX_INTRODUCTION: Final = 64 * 1024
"""Bytes of what a client says of itself in `initialize`."""

# Answers of the client, which have no method, and what takes back a request of it.
_DELIVERED = frozenset({None, CANCELLED})


class HandshakeFront:
    """Serves clients that begin with `initialize`."""

    def __init__(self, sessions: Sessions, *, settings: HttpFrontSettings, under_way: UnderWay) -> None:
        self._sessions = sessions
        self._settings = settings
        self._under_way = under_way

    async def answer(
        self, message: Mapping[str, Any], headers: Headers, principal: Identity | None, *, receive: Receive, send: Send
    ) -> None:
        """Answer a request; the first one opens a session.

        Raises:
            Refusal: It is of no session, its id is that of another request under way, or there are too many of them.
        """
        request_id, method, params = message["id"], message["method"], params_of(message)
        self._under_way.check_room(principal, request_id)
        opens = method == INITIALIZE and headers.get(SESSION) is None
        if opens:
            _check_introduction(message)
            await self._sessions.make_room(principal)
        session = self._sessions.open(principal) if opens else await self._session(headers, principal)
        if request_id in session.exchanges:
            raise Refusal(400, "Another request of this id is under way.", request_id=request_id)
        exchange = session.exchanges[request_id] = Exchange(
            request_id,
            receive=receive,
            send=send,
            settings=self._settings,
            asks=session.asks,
            headers=((SESSION, session.id.encode()),) if opens else (),
        )
        opened = False
        try:
            with self._under_way.holding(exchange, principal):
                opened = await exchange.run(
                    self._sessions.minded(
                        session,
                        lambda: session.conversation.answer(method, params, request_id=request_id, channel=exchange),
                    )
                )
        finally:
            del session.exchanges[request_id]
            self._sessions.touch(session)
            if opens and not opened:
                await self._sessions.close(session)

    async def take(self, message: Mapping[str, Any], headers: Headers, principal: Identity | None, send: Send) -> None:
        """Take in a notification, or the answer to something that the client was asked.

        Raises:
            Refusal: It is of no session.
        """
        session = await self._session(headers, principal)
        if message.get("method") in _DELIVERED and not deliver(session, message):
            await self._sessions.pass_on(session, message)
        await send_empty(send, 202)

    async def stream(self, headers: Headers, principal: Identity | None, *, receive: Receive, send: Send) -> None:
        """Tell the client what it did not ask for, until it goes or its session ends.

        Raises:
            Refusal: It is of no session, does not take streams, or has such a stream.
        """
        if not headers.accepts(b"text/event-stream"):
            raise Refusal(406, "The client must accept `text/event-stream`.")
        session = await self._session(headers, principal)
        if session.listened:
            raise Refusal(409, "This session has such a stream already.")
        session.listened = True
        watching = asyncio.create_task(_watch(receive, session))
        following = self._sessions.following(session)
        try:
            await begin_stream(send)
            await self._tell(session, watching, send)
        except TimeoutError:
            return  # it does not read what is sent
        finally:
            watching.cancel()
            if following is not None:
                following.cancel()
            session.listened = False
            self._sessions.touch(session)

    async def delete(self, headers: Headers, principal: Identity | None, send: Send) -> None:
        """End a session, as its client wishes.

        Raises:
            Refusal: It is of no session.
        """
        await self._sessions.end(await self._session(headers, principal))
        await send_empty(send, 200)

    async def _session(self, headers: Headers, principal: Identity | None) -> Session:
        return await self._sessions.take_up(headers.get(SESSION), principal)

    async def _tell(self, session: Session, watching: asyncio.Task[None], send: Send) -> None:
        while not session.ended and not watching.done():
            try:
                async with asyncio.timeout(self._settings.ping_interval):
                    await session.news.wait()
            except TimeoutError:
                await self._send(send, PING)
            session.news.clear()
            while session.notices and not watching.done():
                notice = session.notices.popleft()
                await self._send(send, event_of(notification_message(notice.method, notice.params)))
        await self._send(send, b"", last=True)

    async def _send(self, send: Send, event: bytes, *, last: bool = False) -> None:
        async with asyncio.timeout(self._settings.write_timeout):
            await send_event(send, event, last=last)


def _check_introduction(message: Mapping[str, Any]) -> None:
    """Refuse a client that says more of itself than is kept of each.

    Raises:
        Refusal: It does.
    """
    try:
        size = len(encode_message(params_of(message)))
    except TypeError:
        size = MAX_INTRODUCTION + 1
    if size > MAX_INTRODUCTION:
        raise Refusal(
            400, "The client says too much of itself to be kept.", code=INVALID_PARAMS, request_id=message["id"]
        )


async def _watch(receive: Receive, session: Session) -> None:
    """Wait until the client has gone or has to go, and wake whoever tells it something."""
    try:
        while (await receive())["type"] not in {"http.disconnect", UNWELCOME}:
            pass
    finally:
        session.news.set()
