"""The servers of a hub: those of the configuration that are enabled, and those that a program brings itself."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import orjson

from toolcrib_core import ToolRisk, upstream_identity
from toolcrib_core.wording import listed
from toolcrib_mcp.catalog import Declared, HydrationResult, UpstreamTerms
from toolcrib_mcp.config import GatewayConfig, GatewaySettings, ServerConfig, ServerSettings, reveal
from toolcrib_mcp.config.loading import namespace_of
from toolcrib_mcp.config.templates import Template, Variable
from toolcrib_mcp.config.transports import HttpTransport
from toolcrib_mcp.front.in_process import ServiceConnection
from toolcrib_mcp.upstreams import ClientFace, Connect, Upstream, UpstreamHooks, UpstreamSettings
from toolcrib_mcp.upstreams.opening import KnownTools, settings_of, upstream_of
from toolcrib_runtime.clock import Clock

# What counts for a server that is running, too. Everything else is for its start: another value is another server.
_LIVE: Final = frozenset(
    {
        "enabled",
        "namespace",
        "timeout",
        "start_timeout",
        "concurrency",
        "allow",
        "deny",
        "pins",
        "trusted",
        "risk",
        "restart",
        "start",
        "idle_stop",
    }
)


LIVE_SETTINGS: Final = ("call_timeout", "limits", "start", "idle_stop", "servers")
"""The gateway's own settings that count as soon as they are changed; the others are for its start."""


@dataclass(frozen=True, kw_only=True)
class ConfigChange:
    """What another configuration changed, by the names of the servers."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    """Reached otherwise now, and so started anew."""
    adjusted: tuple[str, ...] = ()
    """Treated otherwise now, in the session that they have."""

    def __str__(self) -> str:
        said = [f"{word} {listed(names)}" for word, names in vars(self).items() if names]
        return "; ".join(said) or "no server changed"


@dataclass(frozen=True, kw_only=True)
class HubServer:
    """One server of a hub: what it is called, how it is treated, and how to reach it any number of times."""

    name: str
    namespace: str
    """What its tools' ids begin with."""
    settings: ServerSettings
    gateway: GatewaySettings
    terms: UpstreamTerms
    """On which its tools are catalogued."""
    fingerprint: str | None
    """Tells whether it is still the same server, without a secret in it; `None` for one that is no configured one."""
    source: ServerConfig | Connect

    @cached_property
    def upstream_settings(self) -> UpstreamSettings:
        """How it is kept; one of this process itself is never stopped for being idle."""
        kept = settings_of(self.settings, self.gateway)
        return kept if isinstance(self.source, ServerConfig) else replace(kept, idle_after=None)

    @property
    def hears_callers(self) -> bool:
        """Whether it is a service of this process that is told whose each request is."""
        return isinstance(self.source, ServiceConnection) and self.source.hears_callers

    @property
    def max_calls(self) -> int:
        """How many calls may be under way at once."""
        return self.settings.concurrency or self.gateway.limits.max_concurrent_calls

    @property
    def starts_lazily(self) -> bool:
        """Whether it waits for its first call, where its tools are known from an earlier start."""
        return self.fingerprint is not None and (self.settings.start or self.gateway.start) == "lazy"

    def is_reached_like(self, other: HubServer) -> bool:
        """Whether a session with the other is one with this: they differ in nothing but settings of ours."""
        return _reached(self) == _reached(other)

    def admits_like(self, other: HubServer) -> bool:
        """Whether what the other lists is served from this in the same way."""
        return _admitted(self) == _admitted(other)

    def admits(self, tool: str) -> bool:
        """Whether a tool, by the name that the server gives it, is served."""
        return self.settings.admits(*self._names_of(tool))

    def risk_of(self, tool: HydrationResult) -> ToolRisk:
        """What one of its tools may do, as the operator sees it."""
        override = self.settings.risk_of(*self._names_of(tool.upstream_name))
        return tool.definition.risk if override is None else override.applied_to(tool.definition.risk)

    def declared_by(self, tool: HydrationResult) -> Declared:
        """What one of its tools declares that it does; nothing where the configuration says what its effects are."""
        override = self.settings.risk_of(*self._names_of(tool.upstream_name))
        return tool.declared if override is None or override.effects is None else "nothing"

    def _names_of(self, tool: str) -> tuple[str, ...]:
        # The one in its id is what people are shown, and may be another.
        return tool, upstream_identity(tool, server=self.terms.server).name

    def upstream(
        self,
        *,
        environ: Mapping[str, str],
        clock: Clock,
        hooks: UpstreamHooks,
        face: ClientFace | None = None,
        settings: UpstreamSettings | None = None,
        known_tools: KnownTools = tuple,
    ) -> Upstream:
        """One more connection to it; nothing is started yet.

        Raises:
            ConfigError: A variable has no value.
        """
        settings = settings or self.upstream_settings
        if isinstance(self.source, ServerConfig):
            return upstream_of(
                self.source,
                gateway=self.gateway,
                hooks=hooks,
                face=face,
                settings=settings,
                known_tools=known_tools,
                environ=environ,
                clock=clock,
            )
        return Upstream(self.name, self.source, settings=settings, face=face or ClientFace(), hooks=hooks, clock=clock)


def servers_of(config: GatewayConfig, brought: Mapping[str, Connect]) -> dict[str, HubServer]:
    """By name: the enabled servers of a configuration in its order, then those that were brought.

    Raises:
        ValueError: A server that was brought has the name or the namespace of another.
    """
    servers = {each.name: _configured(each, config.settings) for each in config.enabled}
    for name, connect in brought.items():
        server = _brought(name, connect, config.settings)
        if name in servers or any(each.namespace == server.namespace for each in servers.values()):
            raise ValueError(f"there is another server called {name!r}, or with its namespace")
        servers[name] = server
    return servers


def _configured(server: ServerConfig, gateway: GatewaySettings) -> HubServer:
    return HubServer(
        name=server.name,
        namespace=server.namespace,
        settings=server.settings,
        gateway=gateway,
        terms=UpstreamTerms(
            server=None if server.settings.own_namespaces else server.namespace,
            trusted=server.settings.trusted,
            withhold=tuple(filter(None, [_address(server)])),
        ),
        fingerprint=_fingerprint(server),
        source=server,
    )


def _brought(name: str, connect: Connect, gateway: GatewaySettings) -> HubServer:
    settings = gateway.servers.get(name, ServerSettings())
    namespace = namespace_of(settings.namespace or name)
    return HubServer(
        name=name,
        namespace=namespace,
        settings=settings,
        gateway=gateway,
        terms=UpstreamTerms(server=None if settings.own_namespaces else namespace, trusted=settings.trusted),
        fingerprint=None,
        source=connect,
    )


def _address(server: ServerConfig) -> str:
    """What no card may show of it: where it is. A bare `npx` is no place, and may be a word of a description."""
    transport = server.transport()
    if isinstance(transport, HttpTransport):
        return reveal(transport.url)
    command = reveal(transport.command)
    return command if os.sep in command else ""


def _reached(server: HubServer) -> tuple[object, ...]:
    """All that a session depends on."""
    source = server.source
    if isinstance(source, ServerConfig):
        source = replace(source, namespace="", enabled=True, settings=ServerSettings())
    return source, server.settings.model_dump(exclude=set(_LIVE)), server.gateway.limits.max_message_bytes


def _admitted(server: HubServer) -> tuple[object, ...]:
    """All that it depends on which of its tools are served, and as what."""
    own = server.settings
    return server.terms, own.allow, own.deny, own.pins, server.gateway.limits.max_tools


def _fingerprint(server: ServerConfig) -> str:
    """A digest of how the server is reached, as it is written; of what is secret only that it is there."""
    written = [server.written.kind, *((place, _shown(text)) for place, text in server.written.texts())]
    return hashlib.sha256(orjson.dumps(written)).hexdigest()


def _shown(template: Template) -> Any:
    if template.hidden:
        return [each.name for each in template.variables]
    return [[part.name] if isinstance(part, Variable) else reveal(part) for part in template.parts]
