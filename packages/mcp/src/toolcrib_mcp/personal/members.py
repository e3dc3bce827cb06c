"""Principals that are here: for each the servers of their own, opened when needed, and anew when they change."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from toolcrib_core.json_values import FrozenDict
from toolcrib_mcp.config import GatewayConfig, ServerSettings
from toolcrib_mcp.config.loading import namespace_of
from toolcrib_mcp.gateway.gateway import Gateway
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.personal.joined_hub import JoinedHub

if TYPE_CHECKING:
    from toolcrib_core import Embedder
    from toolcrib_mcp.front import Identity
    from toolcrib_mcp.safeguards import Safeguards
    from toolcrib_mcp.upstreams import Connect
    from toolcrib_store import Artifacts

MOST_MEMBERS: Final = 200
"""How many principals are kept at once; who came least recently is let go first."""

START_SECONDS: Final = 10.0
"""How long the servers of a principal have to list their tools before they are done without."""

_OWN: Final = "my-"


@dataclass(frozen=True, kw_only=True)
class PersonalServer:
    """A server that one principal has: what it is called, how it is reached, and what changes when it does."""

    name: str
    version: str
    """The same as long as it offers the same in the same way."""
    connect: Connect
    trusted: bool = False
    """Whether what it says of its tools may lower their risk: where we made them of something ourselves."""


class PersonalServers(Protocol):
    """Knows which servers a principal has right now; it is asked before every answer."""

    async def of(self, who: Identity) -> Sequence[PersonalServer]:
        """All of them that their token reaches.

        Raises:
            ToolError: It cannot be told.
        """


@dataclass(eq=False)
class _Member:
    versions: Mapping[str, str]
    hub: Hub
    gateway: Gateway
    users: int = 0
    old: bool = field(default=False)


@dataclass(eq=False)
class _Turn:
    """One opens what a principal has at a time; `takers` are those who do or wait, the last of them puts it away."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    takers: int = 0


class Members:
    """The gateways of principals. Close it before the hub that everybody shares."""

    def __init__(
        self,
        shared: Hub,
        servers: PersonalServers,
        *,
        artifacts: Artifacts | None = None,
        most: int = MOST_MEMBERS,
        safeguards: Safeguards | None = None,
    ) -> None:
        self._embedder: Embedder | None = None
        self._shared = shared
        self._servers = servers
        self._artifacts = artifacts
        self._safeguards = safeguards
        self._most = most
        self._members: OrderedDict[Identity, _Member] = OrderedDict()
        self._entering: dict[Identity, _Turn] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    async def enter(self, who: Identity) -> _Member:
        """The gateway of a principal as their servers are now; `leave` it when the request is answered.

        Raises:
            ToolError: It cannot be told which servers they have.
        """
        turn = self._entering.setdefault(who, _Turn())
        turn.takers += 1
        try:
            async with turn.lock:
                member = await self._current(who)
                self._members.move_to_end(who)
                member.users += 1
        finally:
            turn.takers -= 1
            if not turn.takers:
                del self._entering[who]
        self._make_room()
        return member

    def leave(self, member: _Member) -> None:
        """A request is answered."""
        member.users -= 1
        if member.old and not member.users:
            self._close(member)

    def search_with(self, embedder: Embedder) -> None:
        """Find tools by meaning, too, from now on, for those who are here and those who come."""
        self._embedder = embedder
        for member in self._members.values():
            member.gateway.search_with(embedder)

    def forget(self, conversation: str) -> None:
        """A client has gone."""
        for member in self._members.values():
            member.gateway.forget(conversation)

    async def aclose(self) -> None:
        """Let all of them go."""
        while self._members:
            self._close(self._members.popitem()[1])
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def _current(self, who: Identity) -> _Member:
        servers = {each.name: each for each in await self._servers.of(who)}
        versions = {name: each.version for name, each in servers.items()}
        member = self._members.get(who)
        if member is not None and member.versions == versions:
            return member
        if member is not None:
            self._retire(self._members.pop(who))
        member = self._members[who] = await self._open(who, servers, versions)
        return member

    async def _open(self, who: Identity, servers: Mapping[str, PersonalServer], versions: Mapping[str, str]) -> _Member:
        named = self._named(servers)
        safeguards = None if self._safeguards is None else self._safeguards.of(who.name)
        pins = None if safeguards is None else safeguards.pins
        upstreams = {name: server.connect for name, server in named.items()}
        own = Hub(self._config_of(named), environ={}, upstreams=upstreams, pins=pins)
        try:
            await own.start(timeout=START_SECONDS)
        except BaseException:
            # Whoever asked has gone: what was started for them must not stay.
            self._close_later(own.aclose(drain=0))
            raise
        gateway = Gateway(
            JoinedHub(self._shared, own),
            artifacts=self._artifacts,
            embedder=self._embedder,
            checkpoint=None if safeguards is None else safeguards.checkpoint,
        )
        return _Member(versions=versions, hub=own, gateway=gateway)

    def _config_of(self, named: Mapping[str, PersonalServer]) -> GatewayConfig:
        """The operator's words about a server are not about an instance that happens to be called like it."""
        servers = FrozenDict({name: ServerSettings(trusted=server.trusted) for name, server in named.items()})
        settings = self._shared.config.settings.model_copy(update={"servers": servers})
        return replace(self._shared.config, servers={}, settings=settings)

    def _named(self, servers: Mapping[str, PersonalServer]) -> dict[str, PersonalServer]:
        """By names that are nobody else's: an instance may be called like a server that everybody has."""
        shared = {each.namespace for each in self._shared.servers.values()}
        taken = set(shared)
        named: dict[str, PersonalServer] = {}
        # First those that can keep their names.
        for name in sorted(servers, key=lambda each: namespace_of(each) in shared):
            free = name
            while namespace_of(free) in taken or free in self._shared.servers:
                free = f"{_OWN}{free}"
            taken.add(namespace_of(free))
            named[free] = servers[name]
        return named

    def _make_room(self) -> None:
        idle = [who for who, member in self._members.items() if not member.users]
        for who in idle[: max(0, len(self._members) - self._most)]:
            self._close(self._members.pop(who))

    def _retire(self, member: _Member) -> None:
        member.old = True
        if not member.users:
            self._close(member)

    def _close(self, member: _Member) -> None:
        self._close_later(_closed(member))

    def _close_later(self, closing: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(closing, name="a member leaves")
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


async def _closed(member: _Member) -> None:
    await member.gateway.aclose()
    await member.hub.aclose(drain=0)
