"""Which connection speaks for which client, where a server was granted to ask or to tell its client something."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import orjson

from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.front.feed import Feed, Notice
from toolcrib_mcp.front.service import Caller
from toolcrib_mcp.hub.limits import HubLimits
from toolcrib_mcp.hub.lines import Hear, Line, Lines
from toolcrib_mcp.hub.places import Places
from toolcrib_mcp.hub.servers import HubServer
from toolcrib_mcp.hub.voices import Voice
from toolcrib_mcp.redaction import ResultRedactor
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams import ClientFace, Era, Upstream, UpstreamHooks, UpstreamSettings
from toolcrib_runtime.clock import Clock

ASKED: tuple[str, ...] = ("elicitation", "sampling", "roots")
"""The capabilities of a client that a server can be granted to use."""


@dataclass(frozen=True, kw_only=True)
class LineKey:
    """Who a line is for: a conversation, or whoever holds it at the time."""

    kind: Literal["conversation", "exclusive"]
    server: str
    offered: bytes
    conversation: str | None = None


class OpenUpstream(Protocol):
    """Makes one more connection to a server."""

    def __call__(
        self, server: HubServer, *, hooks: UpstreamHooks, face: ClientFace, settings: UpstreamSettings
    ) -> Upstream:
        """Nothing is started yet."""


class PrivateLines:
    """Gives every request the line of its client, and keeps clients apart.

    A modern server has no need to be kept apart: `shared` gives the connection that everybody uses. `era_of` finds out
    which era a server speaks. With `solo` all clients are one, which hears every log message.
    """

    def __init__(
        self,
        *,
        open_upstream: OpenUpstream,
        shared: Callable[[str], Upstream],
        era_of: Callable[[str], Awaitable[Era]],
        feed: Feed,
        limits: HubLimits,
        clock: Clock,
        redactor: ResultRedactor,
        solo: bool = False,
    ) -> None:
        self._redactor = redactor
        self._solo = solo
        self.lines = Lines(limit=limits.max_private)
        self._open_upstream = open_upstream
        self._shared = shared
        self._era_of = era_of
        self._feed = feed
        self._limits = limits
        self._clock = clock
        self._exclusive: dict[str, Places] = {}

    @asynccontextmanager
    async def lease(
        self, server: HubServer, caller: Caller, voice: Voice, *, seconds: float
    ) -> AsyncIterator[Upstream]:
        """The upstream for one request of a client.

        Raises:
            UpstreamBusy: Too many run for one client alone.
            UpstreamUnavailable: It could not be found out which era the server speaks.
        """
        offered = offered_to(server, caller)
        if caller.era is Era.HANDSHAKE and caller.conversation is not None:
            line = self._of_conversation(server, offered, caller.conversation)
            with line.voices.heard(voice):
                yield line.upstream
        elif not wants_logs(server, caller) and await self._era_of(server.name) is Era.MODERN:
            # It asks in its result, and each request says what its client can do.
            yield self._shared(server.name)
        else:
            async with (
                self._places(server.name).one(caller.principal, seconds=seconds),
                self._exclusively(server, offered, voice) as upstream,
            ):
                yield upstream

    async def end(self, conversation: str) -> None:
        """Close what runs for a conversation."""
        await self.lines.drop_all(lambda line: isinstance(line.key, LineKey) and line.key.conversation == conversation)

    def take_out(self, server: str) -> list[Line]:
        """The lines of a server that is no longer served as it was; no request that comes now gets one of them."""
        return self.lines.take_out(lambda line: isinstance(line.key, LineKey) and line.key.server == server)

    def _places(self, server: str) -> Places:
        found = self._exclusive.get(server)
        if found is None:
            limits = self._limits
            found = Places(server, limit=limits.max_exclusive, max_waiting=limits.max_waiting, clock=self._clock)
            self._exclusive[server] = found
        return found

    def _of_conversation(self, server: HubServer, offered: Mapping[str, Any], conversation: str) -> Line:
        key = _key("conversation", server, offered, conversation)

        def hear(method: str, params: dict[str, Any]) -> None:
            params = self._redactor.redact(params, server=server.name).result
            self._feed.publish(Notice(method=method, params=params, to=frozenset({conversation})))

        return self.lines.find(key) or self._open(key, server, offered, era=Era.HANDSHAKE, hear=hear)

    @asynccontextmanager
    async def _exclusively(
        self, server: HubServer, offered: Mapping[str, Any], voice: Voice
    ) -> AsyncIterator[Upstream]:
        key = _key("exclusive", server, offered)
        line = self.lines.find(key, free=True) or self._open(key, server, offered)
        try:
            with line.voices.heard(voice):
                yield line.upstream
        except (UpstreamFailed, RpcError):
            raise
        except BaseException:
            # What the server still does for this request must not reach the client of the next one.
            self.lines.drop(line)
            raise

    def _open(
        self,
        key: LineKey,
        server: HubServer,
        offered: Mapping[str, Any],
        *,
        era: Era | None = None,
        hear: Hear | None = None,
    ) -> Line:
        kept = server.upstream_settings
        settings = replace(
            kept,
            era=era,
            idle_after=self._limits.idle_after,
            watch=False,
            restarts=replace(kept.restarts, when="never"),
        )
        face = ClientFace(capabilities=offered)
        line = Line(
            key,
            lambda hooks: self._open_upstream(server, hooks=hooks, face=face, settings=settings),
            hear=hear,
            logs=self._solo or "logging" in server.settings.grants,
        )
        return self.lines.add(line, spare=_is_nobodys)


def is_private(server: HubServer, caller: Caller, *, solo: bool) -> bool:
    """Whether the server speaks with this client over a line that others have no part in."""
    if not server.settings.grants:
        return False
    if offered_to(server, caller):
        return True
    converses = caller.era is Era.HANDSHAKE and caller.conversation is not None
    return not solo and (wants_logs(server, caller) or (converses and "logging" in server.settings.grants))


def offered_to(server: HubServer, caller: Caller) -> dict[str, Any]:
    """What a client can do for a server that the server was granted: the client's own capabilities."""
    granted = server.settings.grants
    return {name: caller.capabilities[name] for name in ASKED if name in granted and name in caller.capabilities}


def wants_logs(server: HubServer, caller: Caller) -> bool:
    """Whether a request is to bring its client log messages."""
    return "logging" in server.settings.grants and caller.log_level is not None


def _is_nobodys(line: Line) -> bool:
    """Whether a line that is not used now keeps nothing for anybody."""
    return isinstance(line.key, LineKey) and line.key.kind == "exclusive"


def _key(
    kind: Literal["conversation", "exclusive"],
    server: HubServer,
    offered: Mapping[str, Any],
    conversation: str | None = None,
) -> LineKey:
    text = orjson.dumps(offered, option=orjson.OPT_SORT_KEYS)
    return LineKey(kind=kind, server=server.name, offered=text, conversation=conversation)
