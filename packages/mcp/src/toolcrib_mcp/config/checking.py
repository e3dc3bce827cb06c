"""What must hold for a whole configuration, once its parts have been read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from toolcrib_core import ToolError
from toolcrib_core.json_values import pointer_join
from toolcrib_core.wording import listed, nearest, quoted
from toolcrib_mcp.config.entries import SETTINGS_KEY
from toolcrib_mcp.config.findings import Findings
from toolcrib_mcp.config.grants import network_for
from toolcrib_mcp.config.model import ServerConfig
from toolcrib_mcp.config.nesting import leads_back
from toolcrib_mcp.config.settings import GatewaySettings, HttpFront
from toolcrib_mcp.config.templates import ConfigText, reveal
from toolcrib_mcp.config.transports import HttpTransport
from toolcrib_mcp.errors import ConfigError
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.guards.net.headers import check_own_headers, check_sendable
from toolcrib_runtime.guards.net.urls import parse_url


def check_settings(settings: GatewaySettings, names: list[str], findings: Findings, beside: Findings) -> None:
    """Note settings for servers that do not exist: a rule that never applies looks like one that does."""
    for name in settings.servers:
        if name not in names:
            meant = nearest(name, names)
            findings.problem(
                f"There are settings for {quoted(name)}, and no such server.",
                place=pointer_join(f"/{SETTINGS_KEY}/servers", name),
                hint=f"Was {quoted(meant)} meant?" if meant else f"Remove them, here or in {quoted(beside.path.name)}.",
            )


def check_presence(names: list[str] | None, servers: Iterable[ServerConfig], findings: Findings) -> None:
    """Note a file without servers; one whose servers are all switched off is only odd."""
    if not names and not findings.problems:
        what = "has none of the keys that servers stand under" if names is None else "has no servers in it"
        findings.problem(f"The file {what}.", hint='Write `{"mcpServers": {"name": {"command": "…"}}}`.')
    elif not any(server.enabled for server in servers):
        findings.warn("Every server is switched off.")


def check_namespaces(servers: Iterable[ServerConfig], findings: Findings) -> None:
    """Note servers that are enabled and whose tools would have the same ids as those of one before them."""
    by_namespace: dict[str, list[str]] = defaultdict(list)
    for server in servers:
        if server.enabled:
            by_namespace[server.namespace].append(server.name)
    for namespace, names in by_namespace.items():
        for name in names[1:]:
            before = len(findings.problems)
            findings.problem(
                f"The servers {listed([names[0], name])} have one namespace, {quoted(namespace)}.",
                hint="Rename one of them, or give it another `namespace` under `toolcrib.servers`.",
            )
            findings.blame(name, since=before)


def check_server(
    server: ServerConfig, findings: Findings, *, place: str, environ: Mapping[str, str], settings: GatewaySettings
) -> None:
    """Note why a server that is enabled could not be started or asked."""
    if not server.enabled:
        return
    before = len(findings.problems)
    _check_server(server, findings, place=place, environ=environ, http=settings.http)
    findings.blame(server.name, since=before)


def _check_server(
    server: ServerConfig, findings: Findings, *, place: str, environ: Mapping[str, str], http: HttpFront | None
) -> None:
    for where, template in server.written.texts():
        for name in template.missing(server.variables):
            state = "has a value that cannot be used" if name in environ else "is not set"
            needs = f"needs the variable {quoted(name)} in {quoted(where[1:])}, which {state}."
            hint = f"Set it, or write `${{{name}:-default}}`."
            findings.problem(f"The server {quoted(server.name)} {needs}", place=place + where, hint=hint)
    if not server.missing:
        try:
            _check_transport(server, http=http)
        except ConfigError as error:
            findings.problem(error.message, place=f"{place}{error.details['place']}", hint=error.hint)


def _check_transport(server: ServerConfig, *, http: HttpFront | None) -> None:
    transport = server.transport()
    if isinstance(transport, HttpTransport):
        if server.settings.sandbox is not None:
            message = "It has a `sandbox`, and is reached by a URL: there are walls only around what is started here."
            raise _unusable(server, "/url", message, "Remove `sandbox` under `toolcrib.servers`.")
        _check_url(server, transport)
        _check_headers(server, transport)
        if http is not None and _is_own_address(reveal(transport.url), http):
            message = "Its URL is the address that this configuration listens on: toolcrib would be its own client."
            raise _unusable(server, "/url", message, "Remove the server, or listen elsewhere.")
    elif not _is_absolute(transport.cwd):
        raise _unusable(server, "/cwd", "The directory is not absolute.", "Begin it with `/`.")
    elif server.file is not None:
        plain = transport.map(lambda _, text: reveal(text))
        folder = Path(plain.cwd) if plain.cwd is not None else Path.cwd()
        if leads_back((plain.command, *plain.args), server.file, env=plain.env, folder=folder):
            message = "It starts toolcrib with this same configuration, which would start it again without end."
            raise _unusable(server, "/command", message, "Remove the server: toolcrib is for clients, not for itself.")


def _is_own_address(url: str, http: HttpFront) -> bool:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    local = {"localhost", "127.0.0.1", "::1"}
    is_local = http.host in {*local, "0.0.0.0", "::"}  # noqa: S104  # the addresses are compared, not bound
    return port == http.port != 0 and (host == http.host or (host in local and is_local))


def _check_url(server: ServerConfig, transport: HttpTransport[ConfigText]) -> None:
    url = reveal(transport.url)
    try:
        parse_url(url, network_for(url, server.settings.network))
    except ToolError as error:
        grant = "It can be granted by `network` under `toolcrib.servers`." if _is_grantable(url) else ""
        raise _unusable(server, "/url", error.message, f"{error.hint or ''} {grant}".strip() or None) from None


def _check_headers(server: ServerConfig, transport: HttpTransport[ConfigText]) -> None:
    headers = {name: reveal(value) for name, value in transport.headers.items()}
    try:
        check_own_headers(headers)
        check_sendable([(name.encode(), value.encode()) for name, value in headers.items()])
    except ToolError as error:
        raise _unusable(server, "/headers", error.message, error.hint) from None


def _is_grantable(url: str) -> bool:
    try:
        parse_url(url, NetGrant(allow_loopback=True, allow_private=True, allow_http=True))
    except ToolError:
        return False
    return True


def _is_absolute(cwd: ConfigText | None) -> bool:
    return cwd is None or Path(reveal(cwd)).is_absolute()


def _unusable(server: ServerConfig, place: str, message: str, hint: str | None) -> ConfigError:
    return ConfigError(f"In the server {quoted(server.name)}: {message}", hint=hint, details={"place": place})
