"""Reading the configuration of a gateway: the file that clients already have, and our settings beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolcrib_core import upstream_identity
from toolcrib_core.json_values import FrozenDict
from toolcrib_mcp.config.checking import check_namespaces, check_presence, check_server, check_settings
from toolcrib_mcp.config.entries import SETTINGS_KEY, ServerEntry, Surroundings, read_entries, server_names
from toolcrib_mcp.config.files import CONFIG_LIMITS, TOML_LIMITS, Document, read_json_file, read_toml_file
from toolcrib_mcp.config.findings import Findings, refuse_problems
from toolcrib_mcp.config.model import GatewayConfig, ServerConfig
from toolcrib_mcp.config.settings import GatewaySettings, ServerSettings
from toolcrib_mcp.config.settings_reading import merge_settings, read_settings
from toolcrib_mcp.config.templates import ConfigText, Template, TemplateFault, hide
from toolcrib_mcp.config.transports import StdioTransport, Transport

SETTINGS_FILE: Final = "toolcrib.toml"
"""The file beside a client's one that may hold our settings instead of it."""


def load_config(
    path: str | os.PathLike[str], *, environ: Mapping[str, str] = os.environ, needs_servers: bool = True
) -> GatewayConfig:
    """Read the configuration of a gateway.

    The file is the JSON that clients already use: servers under `mcpServers`, `servers` or `context_servers`. Our own
    settings stand in it under `toolcrib`, or in a `toolcrib.toml` beside it. Variables in the servers' entries are
    looked up in `environ`. A server that cannot be used is left out with its reason, which is one of the `warnings`,
    and the others are served. A relative `cwd` or `envFile` begins at the directory of the file. Without
    `needs_servers` the file may hold no server, for a gateway that has tools of another kind.

    Raises:
        ConfigError: The file cannot be read, has no servers, none of them can be used, or our own settings are wrong.
            It has every problem, each with its place and line in `details["problems"]`, and repeats no value.
    """
    document = read_json_file(Path(path))
    findings, beside = Findings(document.path, text=document.text), Findings(document.path.with_name(SETTINGS_FILE))
    settings = _settings(document, findings, beside)
    off = {name for name, own in settings.servers.items() if not own.enabled}
    file = document.path.absolute()
    surroundings = Surroundings.of(file, environ)
    entries = read_entries(document.value, findings, surroundings, switched_off=off)
    servers = [make_server(entry, settings, environ=environ, file=file) for entry in entries]
    names = server_names(document.value)
    check_settings(settings, names or [], findings, beside)
    if needs_servers or names != []:
        check_presence(names, servers, findings)
    check_namespaces(servers, findings)
    for entry, server in zip(entries, servers, strict=True):
        check_server(server, findings, place=entry.place, environ=environ, settings=settings)
    unusable = {each.left_out for each in findings.problems}
    if any(server.enabled and server.name not in unusable for server in servers):
        findings.leave_out()
    warnings = refuse_problems(findings, beside)
    return GatewayConfig(servers=servers_by_name(servers), settings=settings, warnings=warnings, path=file)


def make_server(
    entry: ServerEntry, settings: GatewaySettings, *, environ: Mapping[str, str], file: Path
) -> ServerConfig:
    """The server of an entry in this file, with its settings and the values of its variables."""
    own = settings.servers.get(entry.name, ServerSettings())
    return ServerConfig(
        name=entry.name,
        namespace=namespace_of(own.namespace or entry.name),
        enabled=entry.enabled,
        written=_anchored(entry.transport, file.parent),
        variables=_values(entry.transport, environ),
        settings=own,
        file=file,
    )


def namespace_of(name: str) -> str:
    """The legal namespace for a server of this name."""
    return upstream_identity("tool", server=name).namespace


def servers_by_name(servers: Iterable[ServerConfig]) -> Mapping[str, ServerConfig]:
    """The servers as a configuration holds them."""
    return FrozenDict({server.name: server for server in servers})


def _settings(document: Document, findings: Findings, beside: Findings) -> GatewaySettings:
    value = document.value.get(SETTINGS_KEY, {}) if isinstance(document.value, dict) else {}
    settings = read_settings(value, findings, place=f"/{SETTINGS_KEY}", limits=CONFIG_LIMITS)
    if not os.path.lexists(beside.path):
        return settings
    toml = read_toml_file(beside.path)
    more = read_settings(toml.value, beside, place="", limits=TOML_LIMITS)
    return merge_settings(settings, more, beside)


def _anchored(transport: Transport[Template], directory: Path) -> Transport[Template]:
    """The same with a working directory that does not depend on where the gateway was started."""
    match transport:
        case StdioTransport(cwd=Template(parts=(str(first), *rest), hidden=hidden)) if not Path(first).is_absolute():
            # Joined as text: what follows may be a variable.
            anchored = Template(parts=(f"{directory}{os.sep}{first}", *rest), hidden=hidden)
            return replace(transport, cwd=anchored)
    return transport


def _values(transport: Transport[Template], environ: Mapping[str, str]) -> Mapping[str, ConfigText]:
    names = {variable.name for _, template in transport.texts() for variable in template.variables}
    values: dict[str, ConfigText] = {}
    for name in sorted(names & environ.keys()):
        try:
            values[name] = hide(environ[name])
        except TemplateFault:
            continue  # a value that cannot be used is as good as none; `check_server` says so
    return FrozenDict(values)
