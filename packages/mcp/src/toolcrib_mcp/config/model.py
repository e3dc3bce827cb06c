"""A configuration that was read: the servers, how to reach them, and how they are treated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from toolcrib_core.json_values import FrozenDict
from toolcrib_core.wording import quoted
from toolcrib_mcp.config.findings import Finding
from toolcrib_mcp.config.settings import GatewaySettings, ServerSettings
from toolcrib_mcp.config.templates import ConfigText, Template, TemplateFault
from toolcrib_mcp.config.transports import Transport
from toolcrib_mcp.config.writing import PlaceholderNames, written_server
from toolcrib_mcp.errors import ConfigError
from toolcrib_runtime.guards.secrets import Secret


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """One server behind the gateway."""

    name: str
    """As the file has it: any text."""
    namespace: str
    """What its tools' ids begin with: legal, and its own among the servers that are enabled."""
    enabled: bool
    written: Transport[Template]
    """How to reach it, as the file has it."""
    variables: Mapping[str, ConfigText] = field(default_factory=FrozenDict)
    """The values that the variables in `written` had when the file was read."""
    settings: ServerSettings = field(default_factory=ServerSettings)
    file: Path | None = field(default=None, compare=False)
    """The configuration that has it, absolute; `None` where that is no file."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The variables that it needs, and that have neither a value nor a default."""
        names = (name for _, template in self.written.texts() for name in template.missing(self.variables))
        return tuple(dict.fromkeys(names))

    def transport(self) -> Transport[ConfigText]:
        """How to reach it, with variables replaced.

        Environment variables and headers are secrets, and so is every text with a variable in it: `reveal` them where
        they are used. `load_config` has made sure that this works for every server that is to be served.

        Raises:
            ConfigError: A variable has no value.
        """
        return self.written.map(self._fill)

    def _fill(self, place: str, template: Template) -> ConfigText:
        try:
            return template.filled(self.variables)
        except TemplateFault as fault:
            message = f"The server {quoted(self.name)} cannot be reached by what is in {quoted(place[1:])}: {fault}"
            raise ConfigError(message, hint=fault.hint, details={"server": self.name, "place": place}) from None


@dataclass(frozen=True, kw_only=True)
class GatewayConfig:
    """The whole configuration of a gateway."""

    servers: Mapping[str, ServerConfig]
    """By name, in the order of the file; those that are switched off as well."""
    settings: GatewaySettings = field(default_factory=GatewaySettings)
    warnings: tuple[Finding, ...] = ()
    """What its author may not expect: keys that are not read, faults of servers that are switched off, and servers that
    are left out because they cannot be used."""
    path: Path | None = field(default=None, compare=False)
    """The file it was read from, absolute; policy and lock file lie beside it."""

    @property
    def enabled(self) -> tuple[ServerConfig, ...]:
        """The servers that are to be served: switched on, and not left out because they cannot be used."""
        return tuple(
            server
            for server in self.servers.values()
            if server.enabled and not server.missing and server.name not in self.left_out
        )

    @cached_property
    def left_out(self) -> Mapping[str, str]:
        """By name: why a server that is switched on cannot be used; its first reason, with what to do about it."""
        reasons: dict[str, str] = {}
        for each in self.warnings:
            if each.left_out is not None:
                reasons.setdefault(each.left_out, f"{each.message} {each.hint or ''}".rstrip())
        return FrozenDict(reasons)

    def to_json(self) -> str:
        """The configuration as a file that `load_config` reads, without a secret in it.

        Where one was written out, a variable stands in its place; `placeholders` has their values.
        """
        document: dict[str, object] = {"mcpServers": self._written()[0]}
        settings = self.settings.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return json.dumps(document | ({"toolcrib": settings} if settings else {}), indent=2, ensure_ascii=False) + "\n"

    def placeholders(self) -> Mapping[str, Secret]:
        """The variables that `to_json` puts in place of secrets, with the secrets."""
        return self._written()[1]

    def _written(self) -> tuple[dict[str, object], Mapping[str, Secret]]:
        names = PlaceholderNames(
            variable.name
            for server in self.servers.values()
            for _, template in server.written.texts()
            for variable in template.variables
        )
        entries: dict[str, object] = {server.name: _entry(server, names) for server in self.servers.values()}
        return entries, names.secrets


def _entry(server: ServerConfig, names: PlaceholderNames) -> dict[str, object]:
    entry = written_server(server.written, server.variables, names.within(server.namespace))
    return entry if server.enabled else {**entry, "disabled": True}
