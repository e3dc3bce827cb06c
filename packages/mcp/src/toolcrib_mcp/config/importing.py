"""Making one configuration of what several clients have."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from toolcrib_core.schema.pointers import split_pointer
from toolcrib_core.wording import listed
from toolcrib_mcp.config.clients import FoundConfig
from toolcrib_mcp.config.entries import ServerEntry, Surroundings, read_entries
from toolcrib_mcp.config.files import CLIENT_LIMITS, read_json_file
from toolcrib_mcp.config.findings import Finding, Findings
from toolcrib_mcp.config.loading import make_server, namespace_of, servers_by_name
from toolcrib_mcp.config.model import GatewayConfig, ServerConfig
from toolcrib_mcp.config.nesting import is_gateway
from toolcrib_mcp.config.settings import GatewaySettings
from toolcrib_mcp.config.templates import reveal
from toolcrib_mcp.config.transports import StdioTransport
from toolcrib_mcp.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ImportNote:
    """What became of one server of a client, or of a whole file."""

    outcome: Literal["added", "merged", "renamed", "left-out", "unreadable"]
    found: FoundConfig
    server: str | None = None
    """As the client calls it."""
    name: str | None = None
    """As the configuration calls it."""
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class ImportedConfig:
    """One configuration, and how it came about."""

    config: GatewayConfig
    notes: tuple[ImportNote, ...]


def import_client_configs(found: Iterable[FoundConfig], *, environ: Mapping[str, str] = os.environ) -> ImportedConfig:
    """Put the servers of these files into one configuration.

    A server that is there already, however it is called, is not added again. One whose name is taken by a different
    server gets the client's name behind its own. A file or a server that cannot be used is left out; so is toolcrib
    itself, which would start itself without end. The notes have all of it, in order. Variables need not be set.
    """
    notes: list[ImportNote] = []
    servers: list[ServerConfig] = []
    for each in found:
        for entry in _entries(each, notes, environ):
            server = make_server(entry, GatewaySettings(), environ=environ, file=each.path.absolute())
            _add(server, each, servers, notes)
    return ImportedConfig(config=GatewayConfig(servers=servers_by_name(servers)), notes=tuple(notes))


def _entries(found: FoundConfig, notes: list[ImportNote], environ: Mapping[str, str]) -> list[ServerEntry]:
    try:
        document = read_json_file(found.path, limits=CLIENT_LIMITS, ours=False)
    except ConfigError as error:
        notes.append(ImportNote(outcome="unreadable", found=found, reason=str(error)))
        return []
    findings = Findings(found.path)
    entries = read_entries(document.value, findings, Surroundings.of(found.path.absolute(), environ))
    notes += [_left_out(found, problem) for problem in findings.problems]
    return entries


def _left_out(found: FoundConfig, problem: Finding) -> ImportNote:
    # `/mcpServers/name/…`
    _, server, *_ = [*split_pointer(problem.place), None, None]
    reason = f"{problem.message} {problem.hint or ''}".rstrip()
    return ImportNote(outcome="left-out", found=found, server=server, reason=reason)


def _add(server: ServerConfig, found: FoundConfig, servers: list[ServerConfig], notes: list[ImportNote]) -> None:
    if _is_toolcrib(server):
        reason = "It is toolcrib itself."
        notes.append(ImportNote(outcome="left-out", found=found, server=server.name, reason=reason))
        return
    same = next((each for each in servers if each.written == server.written), None)
    if same is not None:
        servers[servers.index(same)] = replace(same, enabled=same.enabled or server.enabled)
        notes.append(ImportNote(outcome="merged", found=found, server=server.name, name=same.name))
        return
    taken = [each.name for each in servers if each.namespace == server.namespace]
    if not taken:
        servers.append(server)
        notes.append(ImportNote(outcome="added", found=found, server=server.name, name=server.name))
        return
    name = _free_name(f"{server.name}-{found.client}", servers)
    servers.append(replace(server, name=name, namespace=namespace_of(name)))
    reason = f"A different server has the name {listed(taken)}."
    notes.append(ImportNote(outcome="renamed", found=found, server=server.name, name=name, reason=reason))


def _is_toolcrib(server: ServerConfig) -> bool:
    if server.missing or not isinstance(transport := server.transport(), StdioTransport):
        return False
    return is_gateway([reveal(transport.command), *map(reveal, transport.args)])


def _free_name(stem: str, servers: list[ServerConfig]) -> str:
    taken = {server.namespace for server in servers}
    numbered = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(name for name in numbered if namespace_of(name) not in taken)
