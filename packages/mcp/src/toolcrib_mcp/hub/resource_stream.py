"""The stream on which a modern server tells of resources: opened anew, with all of them, whenever their set changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import UpstreamError, UpstreamFailed
from toolcrib_mcp.upstreams.changes import LISTEN
from toolcrib_mcp.upstreams.session import Session
from toolcrib_mcp.upstreams.waiting import Waiters
from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.clock import Clock
from toolcrib_runtime.errors import DeadlineExceeded

_ACKNOWLEDGED_WITHIN: Final = 5.0
_FIRST_PAUSE: Final = 1.0
_MAX_PAUSE: Final = 60.0


@dataclass(frozen=True, kw_only=True)
class _Stream:
    """One request that stays open; the task gives why it ended."""

    uris: frozenset[str]
    task: asyncio.Task[UpstreamError | None]

    @property
    def refusal(self) -> UpstreamFailed | None:
        """The error that the server answered with in place of telling."""
        outcome = self.task.result() if self.task.done() and not self.task.cancelled() else None
        return outcome if isinstance(outcome, UpstreamFailed) else None

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


class ResourceStream:
    """Keeps a stream open on whichever session is up, for the resources that are wanted.

    The next stream is open before the last one is closed, so that no change falls between them. It has one resource
    more than the server has agreed to: so a refusal is about that one, and harms no other.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._wanted: dict[str, Waiters[None]] = {}
        self._agreed: set[str] = set()
        self._refused: set[str] = set()
        self._told: frozenset[str] = frozenset()
        self._news = asyncio.Event()
        self._answered = asyncio.Event()

    async def add(self, uri: str, *, deadline: float) -> None:
        """Want to be told of a resource, and wait until the server has said that it tells.

        Raises:
            UpstreamError: It does not, or has not said so in time.
        """
        waiters = self._wanted.setdefault(uri, Waiters(clock=self._clock))
        self._refused.discard(uri)
        self._news.set()
        if uri in self._told:
            self._agreed.add(uri)
        else:
            await waiters.wait(deadline, too_late=lambda: _not_told(uri))

    def discard(self, uri: str) -> None:
        """Want it no longer."""
        self._agreed.discard(uri)
        if self._wanted.pop(uri, None) is not None:
            self._news.set()

    def acknowledged(self, honoured: Mapping[str, Any]) -> None:
        """Take in what the server says that it will tell of."""
        uris = honoured.get("resourceSubscriptions")
        self._told = frozenset(uri for uri in uris if isinstance(uri, str)) if isinstance(uris, list) else frozenset()
        self._answered.set()

    async def run(self, session: Session) -> None:
        """Keep the stream open on a session, until cancelled."""
        stream: _Stream | None = None
        pause = _FIRST_PAUSE
        self._refused.clear()
        try:
            while True:
                self._news.clear()
                following = self._following()
                if stream is not None and stream.task.done():
                    # The server has closed it, and what changes now is not told.
                    pause = _FIRST_PAUSE if stream.task.result() is None else min(2 * pause, _MAX_PAUSE)
                    stream, self._told = None, frozenset()
                    await self._pause(pause)
                elif following == (frozenset() if stream is None else stream.uris):
                    await self._news.wait()
                else:
                    stream = await self._renewed(session, stream, following)
        finally:
            self._told = frozenset()
            if stream is not None:
                await stream.stop()

    def _following(self) -> frozenset[str]:
        """What the next stream is for."""
        new = next((uri for uri in self._wanted if uri not in self._agreed and uri not in self._refused), None)
        return frozenset(self._agreed if new is None else {*self._agreed, new})

    async def _renewed(self, session: Session, before: _Stream | None, uris: frozenset[str]) -> _Stream | None:
        """The stream for these; the one before if the server does not open it."""
        stream = await self._opened(session, uris) if uris else None
        if stream is not None and stream.task.done():
            if stream.refusal is None:
                await self._pause(_FIRST_PAUSE)
            return before
        if before is not None:
            await before.stop()
        return stream

    async def _opened(self, session: Session, uris: frozenset[str]) -> _Stream:
        self._answered.clear()
        stream = _Stream(uris=uris, task=asyncio.create_task(_listen(session, uris)))
        stream.task.add_done_callback(self._ended)
        deadline = self._clock.monotonic() + _ACKNOWLEDGED_WITHIN
        try:
            with suppress(DeadlineExceeded):
                await CallScope(clock=self._clock, deadline=deadline, cancellation=None).run(self._answered.wait())
        except BaseException:
            await stream.stop()
            raise
        # One that ended with its session has said nothing: who waits, waits for the next.
        if stream.refusal is not None or not stream.task.done():
            self._settle(stream)
        return stream

    def _settle(self, stream: _Stream) -> None:
        """Take in what the server has said about a stream, and tell who waits for it."""
        told = self._told if stream.refusal is None else frozenset()
        for uri in (stream.uris - self._agreed) & self._wanted.keys():
            if uri in told:
                self._agreed.add(uri)
                self._wanted[uri].release(None)
            else:
                self._refused.add(uri)
                self._wanted[uri].fail(stream.refusal or _not_told(uri))
        if stream.refusal is not None and stream.uris <= self._agreed:
            # The server has changed its mind; each of them has to be asked for again.
            self._agreed.clear()

    async def _pause(self, seconds: float) -> None:
        """Leave the server alone for a while, unless something else is wanted of it."""
        deadline = self._clock.monotonic() + seconds
        with suppress(DeadlineExceeded):
            await CallScope(clock=self._clock, deadline=deadline, cancellation=None).run(self._news.wait())

    def _ended(self, _: asyncio.Task[UpstreamError | None]) -> None:
        self._news.set()
        self._answered.set()


async def _listen(session: Session, uris: frozenset[str]) -> UpstreamError | None:
    try:
        # The answer comes when the stream ends.
        await session.request(LISTEN, {"notifications": {"resourceSubscriptions": sorted(uris)}}, timeout=None)
    except UpstreamError as failure:
        return failure
    return None


def _not_told(uri: str) -> UpstreamError:
    return UpstreamError(
        f"The server does not tell of changes of {quoted(uri)}.",
        hint="Read the resource again when its content matters.",
        details={"uri": uri[:200]},
    )
