"""Sessions that every replica knows: opened at one of them, gone on with at any other, ended at all."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping
from typing import Any, Final

from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.http.replies import Refusal, no_room
from toolcrib_mcp.front.http.sessions import Session, Sessions, Work, deliver, no_session
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.service import Identity, Service
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import INTERNAL_ERROR
from toolcrib_mcp.shared.notes import Note
from toolcrib_mcp.shared.session_book import DoesNotFit, SessionBook, Settled
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_store import StoreError

HEAR_EVERY: Final = 0.5
"""Seconds after which a replica that works on a request looks for messages of its client that went to another one."""

# An answer of a client names what it answers by a number, and must not fit the question of another replica.
_FIRST_ASK: Final = 2**52
_RENEWED: Final = 0.9
_logger = logging.getLogger("toolcrib.mcp")


class SharedSessions(Sessions):
    """Sessions in a database that replicas share, of which this one keeps those that came by.

    Every request asks the database whether its session still is one: what ended it may have gone to another replica.
    """

    def __init__(
        self, service: Service, *, settings: HttpFrontSettings, book: SessionBook, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        super().__init__(service, settings=settings, clock=clock)
        self._book = book

    async def take_up(self, session_id: str | None, principal: Identity | None) -> Session:
        """The session of this name, wherever it was opened, if it belongs to whoever asks.

        Raises:
            Refusal: There is none, or it is somebody else's, which looks the same; or nobody can tell.
        """
        if session_id is None:
            return self.find(session_id, principal)
        try:
            note = await self._book.find(session_id)
            session = self._known(session_id, note, principal)
            await self._renew(session, note)
        except StoreError as failure:
            _logger.warning("a session cannot be looked up: %s", failure.message)
            raise no_room("The database that sessions are kept in cannot be used.") from None
        self.touch(session)
        return session

    def minded(self, session: Session, work: Work) -> Work:
        """The work, and what it settles kept for other replicas before the client hears of it."""

        async def mind() -> Mapping[str, Any]:
            hearing = asyncio.create_task(self._hear(session, every=HEAR_EVERY))
            try:
                result = await work()
                await self._keep(session)
            finally:
                hearing.cancel()
            return result

        return mind

    def following(self, session: Session) -> asyncio.Task[None]:
        """While a stream is open: hear of what the client settles with other replicas."""
        return asyncio.create_task(self._hear(session, every=self._settings.ping_interval, follows=True))

    async def pass_on(self, session: Session, message: Mapping[str, Any]) -> None:
        """Leave a message for the replica that waits for it.

        Raises:
            Refusal: It cannot be kept until then.
        """
        try:
            await self._book.post(session.id, message)
        except DoesNotFit:
            raise Refusal(413, "Too much waits for the replica that this is for, or it is too large.") from None
        except StoreError as failure:
            _logger.warning("a message cannot be passed on: %s", failure.message)
            raise no_room("The database that messages are passed on in cannot be used.") from None

    async def end(self, session: Session) -> None:
        """End a session at every replica.

        Raises:
            Refusal: The database failed, and it was not ended.
        """
        await self._end_everywhere(session)
        await self.close(session)

    async def _give_up(self, session: Session) -> None:
        await self._end_everywhere(session)
        self._forget(session)

    async def _end_everywhere(self, session: Session) -> None:
        try:
            await self._book.end(session.id)
        except StoreError as failure:
            _logger.warning("a session cannot be ended: %s", failure.message)
            raise no_room("The database that sessions are kept in cannot be used.") from None

    def _new(self, principal: Identity | None) -> Session:
        return Session(self._service, principal=principal, first_ask=secrets.randbelow(_FIRST_ASK))

    def _known(self, session_id: str, note: Note | None, principal: Identity | None) -> Session:
        """The session as this replica keeps it, brought to what the database says of it."""
        session = self._sessions.get(session_id)
        if note is None:
            if session is not None:
                self._forget(session)
            raise no_session()
        if session is not None and session.version >= note.version:
            return self.find(session_id, principal)
        settled = self._book.settled(session_id, note)
        if settled is None or settled.identity != principal:
            raise no_session()
        if session is None:
            surplus = self._surplus(principal)
            if surplus is not None:
                # Only here: in the database it goes on, and can be taken up again.
                self._forget(surplus)
            session = self._add(
                Session(
                    self._service,
                    principal=principal,
                    name=session_id,
                    key=settled.caller.conversation,
                    first_ask=secrets.randbelow(_FIRST_ASK),
                )
            )
        _adopt(session, settled, note.version)
        return session

    async def _renew(self, session: Session, note: Note | None) -> None:
        idle = self._settings.session_idle
        if note is not None and note.expires_at is not None and note.expires_at - self._book.now() < idle * _RENEWED:
            await self._book.extend(session.id, seconds=idle)

    async def _keep(self, session: Session) -> None:
        conversation, idle = session.conversation, self._settings.session_idle
        caller, watched = conversation.caller, conversation.watched
        if caller is None or (session.kept is not None and session.kept[0] is caller and session.kept[1] == watched):
            return
        settled = Settled(caller=caller, identity=session.principal, watched=watched)
        try:
            if session.kept is None:
                version: int | None = await self._book.add(session.id, settled, seconds=idle)
            else:
                version = await self._book.change(session.id, settled, seconds=idle)
        except DoesNotFit:
            raise RpcError(INVALID_PARAMS, "The client says too much of itself to be kept.") from None
        except StoreError as failure:
            raise RpcError(INTERNAL_ERROR, f"The session cannot be kept: {failure.message}") from None
        if version is not None:
            session.version, session.kept = version, (caller, watched)

    async def _hear(self, session: Session, *, every: float, follows: bool = False) -> None:
        while not session.ended:
            if follows:
                await session.conversation.follow()
            await asyncio.sleep(every)
            try:
                await self._look(session)
            except StoreError as failure:
                _logger.warning("a session cannot be looked after: %s", failure.message)

    async def _look(self, session: Session) -> None:
        if session.kept is None:
            return  # it is being opened
        note = await self._book.find(session.id)
        settled = None if note is None else self._book.settled(session.id, note)
        if note is None or settled is None:
            self._forget(session)
            return
        if session.version < note.version:
            _adopt(session, settled, note.version)
        await self._renew(session, note)
        for key, message in (await self._book.messages(session.id)).items():
            if deliver(session, message):
                await self._book.taken(session.id, key)


def _adopt(session: Session, settled: Settled, version: int) -> None:
    session.conversation.resume(settled.caller, watched=settled.watched)
    session.version, session.kept = version, (settled.caller, settled.watched)
