"""Clients of the handshake era over HTTP: each has a session, from `initialize` until it is ended or left unused."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

from toolcrib_mcp.front.conversation import Conversation
from toolcrib_mcp.front.feed import LOG_MESSAGE
from toolcrib_mcp.front.http.asks import Asks
from toolcrib_mcp.front.http.exchange import Exchange, Stop
from toolcrib_mcp.front.http.replies import Refusal, no_room
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.service import Caller, Identity, Service
from toolcrib_mcp.rpc.backlog import Backlog
from toolcrib_mcp.rpc.messages import params_of
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock, Timer

MAX_NOTICES: Final = 256
"""How many notices wait for a client that does not listen; the oldest go first, and log messages take half."""

MAX_NOTICE_BYTES: Final = 256 * 1024
"""How large they may be together."""

Work: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]

_ENDING_SECONDS = 10.0
_LOG_SHARE = 0.5


class Session:
    """What is kept of one client: what was agreed on, its requests under way, and what it has still to be told."""

    def __init__(
        self,
        service: Service,
        *,
        principal: Identity | None,
        name: str | None = None,
        key: str | None = None,
        first_ask: int = 1,
    ) -> None:
        self.id = name or secrets.token_urlsafe(24)
        self.principal = principal
        # Not the id: who knows that can speak for the client, and services write their keys to logs.
        self.conversation = Conversation(
            service, key=key or f"http-{secrets.token_hex(8)}", tell=self._tell, principal=principal
        )
        self.asks = Asks(first=first_ask)
        self.exchanges: dict[str | int, Exchange] = {}
        self.notices = Backlog(max_items=MAX_NOTICES, max_bytes=MAX_NOTICE_BYTES)
        self.news = asyncio.Event()
        self.listened = False
        """Whether a stream for notices is open."""
        self.ended = False
        self.used_at = 0.0
        self.version = 0
        self.kept: tuple[Caller, frozenset[str]] | None = None
        """What other replicas know of it, and how often that was changed; nothing where there are none."""

    @property
    def in_use(self) -> bool:
        """Whether a request is under way or a stream open."""
        return self.listened or bool(self.exchanges)

    async def end(self) -> None:
        """Stop what is under way, and forget the client."""
        if self.ended:
            return
        self.ended = True
        self.news.set()
        for exchange in list(self.exchanges.values()):
            exchange.stop(Stop.ENDED)
        await self.conversation.end()

    def _tell(self, method: str, params: Mapping[str, Any]) -> None:
        if method == LOG_MESSAGE:
            # A change that goes untold for talk would be missed; talk is not.
            self.notices.append(method, dict(params), share=_LOG_SHARE)
        else:
            self.notices.replace_oldest(method, dict(params))
        self.news.set()


class Sessions:
    """All sessions of a front: bounded in number, and each known only to whom it belongs."""

    def __init__(self, service: Service, *, settings: HttpFrontSettings, clock: Clock = SYSTEM_CLOCK) -> None:
        self._service = service
        self._settings = settings
        self._clock = clock
        self._sessions: dict[str, Session] = {}
        self._timers: dict[str, Timer] = {}
        self._endings: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, principal: Identity | None) -> Session:
        """A new session.

        Raises:
            Refusal: There are too many.
        """
        return self._add(self._new(principal))

    async def make_room(self, principal: Identity | None) -> None:
        """End the session of a principal that has been unused for longest, if it has as many as it may have.

        Raises:
            Refusal: All of them are in use.
        """
        while (surplus := self._surplus(principal)) is not None:
            await self._give_up(surplus)

    def find(self, session_id: str | None, principal: Identity | None) -> Session:
        """The session of this name, if it belongs to whoever asks.

        Raises:
            Refusal: There is none, or it is somebody else's, which looks the same.
        """
        if session_id is None:
            raise Refusal(400, "The header `Mcp-Session-Id` is missing.")
        session = self._sessions.get(session_id)
        if session is None or session.principal != principal:
            raise no_session()
        self.touch(session)
        return session

    async def take_up(self, session_id: str | None, principal: Identity | None) -> Session:
        """The session of this name, wherever it was opened; here it was opened here, and `find` says the rest."""
        return self.find(session_id, principal)

    def minded(self, session: Session, work: Work) -> Work:
        """The work on a request, with what has to be done around it; here nothing."""
        del session
        return work

    def following(self, session: Session) -> asyncio.Task[None] | None:
        """What goes on while a stream is open, to be cancelled at its end; here nothing."""
        del session
        return None

    async def pass_on(self, session: Session, message: Mapping[str, Any]) -> None:
        """A message came that nothing here waits for; it is dropped, for nobody else does."""

    async def end(self, session: Session) -> None:
        """End a session for good, as its client wishes."""
        await self.close(session)

    def touch(self, session: Session) -> None:
        """Note that the session was used just now."""
        session.used_at = self._clock.monotonic()

    async def close(self, session: Session) -> None:
        """End a session; what that takes beyond a bounded time goes on without the caller."""
        ending = self._forget(session)
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                await asyncio.shield(ending)

    async def aclose(self) -> None:
        """End all sessions."""
        for session in list(self._sessions.values()):
            self._forget(session)
        if self._endings:
            _, late = await asyncio.wait(self._endings, timeout=_ENDING_SECONDS)
            for ending in late:
                ending.cancel()

    def _surplus(self, principal: Identity | None) -> Session | None:
        """The session of a principal that has to give way to another one of it, if any has.

        Raises:
            Refusal: One has, but all of them are in use.
        """
        if principal is None:
            return None
        # By name: the same principal may come with tokens of different scopes.
        own = [each for each in self._sessions.values() if each.principal and each.principal.name == principal.name]
        if len(own) < self._settings.max_principal_sessions:
            return None
        unused = [each for each in own if not each.in_use]
        if not unused:
            raise no_room("You have too many sessions in use.")
        return min(unused, key=lambda each: each.used_at)

    async def _give_up(self, session: Session) -> None:
        self._forget(session)

    def _new(self, principal: Identity | None) -> Session:
        return Session(self._service, principal=principal)

    def _add(self, session: Session) -> Session:
        if len(self._sessions) >= self._settings.max_sessions:
            raise no_room("Too many sessions are open.")
        self._sessions[session.id] = session
        self.touch(session)
        self._watch(session)
        return session

    def _forget(self, session: Session) -> asyncio.Task[None]:
        self._sessions.pop(session.id, None)
        timer = self._timers.pop(session.id, None)
        if timer is not None:
            timer.cancel()
        ending = asyncio.create_task(session.end())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)
        return ending

    def _watch(self, session: Session) -> None:
        self._timers[session.id] = self._clock.call_at(
            session.used_at + self._settings.session_idle, self._expiry_of(session)
        )

    def _expiry_of(self, session: Session) -> Callable[[], None]:
        def expire() -> None:
            if session.in_use:
                self.touch(session)
            if session.used_at + self._settings.session_idle > self._clock.monotonic():
                self._watch(session)
            else:
                self._forget(session)

        return expire


def no_session() -> Refusal:
    """The refusal of a name that no session has, or one of somebody else's."""
    return Refusal(404, "There is no such session.")


def deliver(session: Session, message: Mapping[str, Any]) -> bool:
    """Give an answer or a cancellation to what it is about; whether that is here."""
    if "method" not in message:
        return session.asks.answered(message)
    taken_back = params_of(message).get("requestId")
    # `true` is no id, though it is equal to 1.
    if type(taken_back) not in {str, int} or taken_back not in session.exchanges:
        return False
    session.exchanges[taken_back].stop(Stop.TAKEN_BACK)
    return True
