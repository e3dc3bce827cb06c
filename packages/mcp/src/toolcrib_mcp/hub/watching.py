"""Resources whose changes clients want to hear of: each is listened for once at its server, whoever wants to know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from toolcrib_mcp.errors import UpstreamError
from toolcrib_mcp.front.feed import RESOURCE_UPDATED, Feed, Notice
from toolcrib_mcp.hub.resource_stream import ResourceStream
from toolcrib_mcp.upstreams import Era, Upstream
from toolcrib_mcp.upstreams.changes import honoured_by
from toolcrib_mcp.upstreams.eras import ACKNOWLEDGED
from toolcrib_mcp.upstreams.session import Session
from toolcrib_runtime.clock import Clock

META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"

# A server that is told that nobody listens any more has nothing to do for it.
_UNSUBSCRIBE_SECONDS: Final = 5.0


@dataclass
class _Watched:
    """One resource: who listens, and who is about to change that."""

    listeners: set[str] = field(default_factory=set)
    is_told: bool = False
    """Whether the server has agreed to tell of it."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class ResourceWatch:
    """The resources of one server that are listened for, in whichever era it speaks, through all its lives."""

    def __init__(self, *, feed: Feed, clock: Clock, seconds: float) -> None:
        self.seconds = seconds
        """How long one request about a subscription may take."""
        self._feed = feed
        self._clock = clock
        self._watched: dict[str, _Watched] = {}
        self._stream = ResourceStream(clock=clock)

    def __len__(self) -> int:
        return len(self._watched)

    def __contains__(self, uri: object) -> bool:
        return uri in self._watched

    async def add(self, upstream: Upstream, listener: str, uri: str) -> None:
        """Tell the listener whenever the resource has changed.

        Raises:
            UpstreamError: The server is not there, or refuses, or does not tell of this resource.
        """
        async with self._changing(uri) as watched:
            if not watched.is_told:
                await self._begin(upstream, uri)
                watched.is_told = True
            watched.listeners.add(listener)

    async def remove(self, upstream: Upstream, listener: str, uri: str) -> None:
        """The listener no longer wants to know; one that never did is no error."""
        if listener not in self.listeners_of(uri):
            return
        async with self._changing(uri) as watched:
            watched.listeners.discard(listener)
            if watched.is_told and not watched.listeners:
                watched.is_told = False
                await self._end(upstream, uri)

    @property
    def is_told(self) -> bool:
        """Whether the server has agreed to tell of a resource, and so must stay up."""
        return any(watched.is_told for watched in self._watched.values())

    async def take_over(self, upstream: Upstream, before: ResourceWatch) -> None:
        """Listen at a new server for what was listened for at the one that it replaces, as far as it has that."""
        for uri, watched in list(before._watched.items()):
            for listener in list(watched.listeners):
                with suppress(UpstreamError):
                    await self.add(upstream, listener, uri)

    def listeners_of(self, uri: str) -> frozenset[str]:
        """Who listens to exactly this resource."""
        watched = self._watched.get(uri)
        return frozenset() if watched is None else frozenset(watched.listeners)

    def heard_by(self, listener: str) -> list[str]:
        """The resources that somebody listens to."""
        return [uri for uri, watched in self._watched.items() if listener in watched.listeners]

    async def attend(self, session: Session) -> None:
        """Listen for everything again on a new session."""
        if session.agreement.era is Era.MODERN:
            await self._stream.run(session)
        else:
            await self._subscribe_again(session)

    def take(self, method: str, params: Mapping[str, Any]) -> bool:
        """Take a notification in, if it is about resources that changed."""
        if method == ACKNOWLEDGED:
            self._stream.acknowledged(honoured_by(params))
            return True
        if method != RESOURCE_UPDATED:
            return False
        listeners = self._concerned(params.get("uri"))
        if listeners:
            self._feed.publish(Notice(method=method, params=_without_id(params), to=listeners))
        return True

    async def _subscribe_again(self, session: Session) -> None:
        for uri in [uri for uri, watched in self._watched.items() if watched.is_told]:
            # One resource that is gone in this life of the server keeps no other from being listened for.
            with suppress(UpstreamError):
                await session.request("resources/subscribe", {"uri": uri}, timeout=self.seconds)

    @asynccontextmanager
    async def _changing(self, uri: str) -> AsyncIterator[_Watched]:
        """Change who listens to a resource, one after the other: the server must hear the last change last."""
        watched = self._watched.setdefault(uri, _Watched())
        watched.users += 1
        try:
            async with watched.changing:
                yield watched
        finally:
            watched.users -= 1
            if not watched.users and not watched.listeners:
                del self._watched[uri]

    async def _begin(self, upstream: Upstream, uri: str) -> None:
        agreement = await upstream.agreed(timeout=self.seconds)
        if agreement.era is Era.HANDSHAKE:
            await upstream.call("resources/subscribe", {"uri": uri}, timeout=self.seconds)
            return
        try:
            await self._stream.add(uri, deadline=self._clock.monotonic() + self.seconds)
        except BaseException:
            self._stream.discard(uri)
            raise

    async def _end(self, upstream: Upstream, uri: str) -> None:
        self._stream.discard(uri)
        agreement = upstream.agreement
        if agreement is not None and agreement.era is Era.HANDSHAKE:
            with suppress(UpstreamError):
                await upstream.call("resources/unsubscribe", {"uri": uri}, timeout=_UNSUBSCRIBE_SECONDS)

    def _concerned(self, uri: object) -> frozenset[str]:
        """Who listens to a resource, or to one that it is a part of."""
        if not isinstance(uri, str):
            return frozenset()
        found = set(self.listeners_of(uri))
        end = len(uri)
        while (end := uri.rfind("/", 0, end)) > 0:
            found |= self.listeners_of(uri[:end]) | self.listeners_of(uri[: end + 1])
        return frozenset(found)


def _without_id(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The params without the id of our own stream, which means nothing to a client."""
    meta = params.get("_meta")
    if not isinstance(meta, Mapping) or META_SUBSCRIPTION not in meta:
        return params
    kept = {key: value for key, value in meta.items() if key != META_SUBSCRIPTION}
    others = {key: value for key, value in params.items() if key != "_meta"}
    return {**others, "_meta": kept} if kept else others
