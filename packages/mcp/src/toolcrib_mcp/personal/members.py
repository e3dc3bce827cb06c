"""Principals that are here: for each the servers of their own, opened when needed, and anew when they change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from toolcrib_core.json_values import FrozenDict
from toolcrib_mcp.config import GatewayConfig, ServerSettings
from toolcrib_mcp.config.loading import namespace_of
from toolcrib_mcp.gateway.gateway import Gateway
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.personal.joined_hub import JoinedHub
from toolcrib_runtime.kept_open import KeptOpen, Wanted

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


@dataclass(frozen=True, kw_only=True)
class _Member:
    hub: Hub
    gateway: Gateway

    async def aclose(self) -> None:
        await self.gateway.aclose()
        await self.hub.aclose(drain=0)


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
        self._members: KeptOpen[Identity, _Member] = KeptOpen(_Member.aclose, most=most)

    @asynccontextmanager
    async def gateway_of(self, who: Identity) -> AsyncIterator[Gateway]:
        """The gateway of a principal as their servers are now, until the end of the block.

        Raises:
            ToolError: It cannot be told which servers they have.
        """
        async with self._members.using(who, lambda: self._wanted(who)) as member:
            yield member.gateway

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
        await self._members.aclose()

    async def _wanted(self, who: Identity) -> Wanted[_Member]:
        servers = {each.name: each for each in await self._servers.of(who)}
        versions = {name: each.version for name, each in servers.items()}
        # Their names depend on those of the servers that everybody has.
        taken = frozenset(self._shared.servers)
        return Wanted(version=(versions, taken), open=lambda: self._open(who, servers))

    async def _open(self, who: Identity, servers: Mapping[str, PersonalServer]) -> _Member:
        named = self._named(servers)
        safeguards = None if self._safeguards is None else self._safeguards.of(who.name)
        pins = None if safeguards is None else safeguards.pins
        upstreams = {name: server.connect for name, server in named.items()}
        own = Hub(self._config_of(named), environ={}, upstreams=upstreams, pins=pins)
        try:
            await own.start(timeout=START_SECONDS)
        except BaseException:
            # Whoever asked has gone: what was started for them must not stay.
            self._members.close_later(own.aclose(drain=0))
            raise
        gateway = Gateway(
            JoinedHub(self._shared, own),
            artifacts=self._artifacts,
            embedder=self._embedder,
            checkpoint=None if safeguards is None else safeguards.checkpoint,
            shared=None if safeguards is None else safeguards.shared,
        )
        return _Member(hub=own, gateway=gateway)

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
        # First those that can keep their names: of `Search` and `search`, the latter is a namespace as it is.
        for name in sorted(servers, key=lambda each: (namespace_of(each) in shared, namespace_of(each) != each)):
            free = name
            while namespace_of(free) in taken or free in self._shared.servers:
                free = f"{_OWN}{free}"
            taken.add(namespace_of(free))
            named[free] = servers[name]
        return named
