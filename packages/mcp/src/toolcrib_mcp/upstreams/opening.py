"""From a configured server to one that can be asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from toolcrib_mcp.config import GatewaySettings, ServerConfig, ServerSettings, network_for, reveal
from toolcrib_mcp.config.nesting import NESTING_VARIABLE, nested_chain
from toolcrib_mcp.config.settings import ServerSandbox
from toolcrib_mcp.config.transports import HttpTransport, StdioTransport
from toolcrib_mcp.rpc import Wire, open_stdio_wire
from toolcrib_mcp.upstreams.environment import SessionEnvironment, session_environment
from toolcrib_mcp.upstreams.eras import ClientFace, Era
from toolcrib_mcp.upstreams.links import Connect
from toolcrib_mcp.upstreams.settings import RestartRules, UpstreamSettings
from toolcrib_mcp.upstreams.supervisor import Upstream, UpstreamHooks
from toolcrib_mcp.upstreams.walls import limits_of, restricts_files, wishes_of
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.guards.process import ProcessSpec
from toolcrib_runtime.guards.process.spec import DEFAULT_PATH
from toolcrib_runtime.guards.secrets import Scrubber, Secret

_LEAST_SECRET: Final = 8
"""Of what `inheritEnv` adds, shorter values are no secrets: `vi` would be taken out of every other word."""

KnownTools = Callable[[], Iterable[Mapping[str, Any]]]
"""The tools that a server is known to have when it is reached, as it listed them."""


def upstream_of(
    server: ServerConfig,
    *,
    gateway: GatewaySettings | None = None,
    hooks: UpstreamHooks | None = None,
    face: ClientFace | None = None,
    settings: UpstreamSettings | None = None,
    known_tools: KnownTools = tuple,
    environ: Mapping[str, str] = os.environ,
    clock: Clock = SYSTEM_CLOCK,
) -> Upstream:
    """A server as its configuration describes it; nothing is started yet.

    `settings` take the place of those that the configuration makes (`settings_of`). `known_tools` is asked whenever
    the server is reached over HTTP: a modern one wants some arguments of some tools in headers, too.

    Raises:
        ConfigError: A variable has no value.
    """
    gateway = gateway or GatewaySettings()
    transport = server.transport()
    secrets = [text for _, text in transport.texts() if isinstance(text, Secret)]
    session = environment_of(server, gateway, environ=environ)
    secrets += [hidden for name in session.added if (hidden := _hidden(session.values[name]))]
    scrubber = Scrubber(secrets)
    max_message = gateway.limits.max_message_bytes
    if isinstance(transport, StdioTransport):
        plain = transport.map(lambda _, text: reveal(text))
        sandbox = server.settings.sandbox
        connect = _by_process(
            plain,
            session.values,
            chain=nested_chain(environ, server.file),
            sandbox=sandbox,
            max_line=max_message,
            scrubber=scrubber,
        )
        address = f"stdio:{scrubber.scrub_line(plain.command, max_length=200)}"
    else:
        if transport.protocol == "sse":
            settings = replace(settings or settings_of(server.settings, gateway), era=Era.HANDSHAKE)
        connect = _over_http(transport, server, max_message=max_message, scrubber=scrubber, known_tools=known_tools)
        address = scrubber.scrub_line(reveal(transport.url).partition("?")[0], max_length=200)
    return Upstream(
        server.name,
        connect,
        settings=settings or settings_of(server.settings, gateway),
        face=face or ClientFace(),
        hooks=hooks,
        address=address,
        clock=clock,
        scrubber=scrubber,
    )


def environment_of(
    server: ServerConfig, gateway: GatewaySettings, *, environ: Mapping[str, str] = os.environ
) -> SessionEnvironment:
    """What a server that is started here gets of our environment, beside its own `env`."""
    sandbox = server.settings.sandbox
    return session_environment(
        environ,
        (*gateway.inherit_env, *server.settings.inherit_env),
        confined=sandbox is not None and (restricts_files(sandbox) or not sandbox.network),
    )


def settings_of(own: ServerSettings, gateway: GatewaySettings) -> UpstreamSettings:
    """How a server with these settings is kept."""
    return UpstreamSettings(
        start_timeout=own.start_timeout,
        call_timeout=gateway.call_timeout if own.timeout is None else own.timeout,
        idle_after=own.idle_seconds(gateway),
        restarts=RestartRules(
            when=own.restart.when,
            first_delay=own.restart.initial_delay,
            max_delay=own.restart.max_delay,
            max_failures=own.restart.max_failures,
            rest=own.restart.rest,
        ),
    )


def _hidden(value: str) -> Secret | None:
    try:
        return Secret(value) if len(value) >= _LEAST_SECRET else None
    except ValueError:
        return None  # it is not text that UTF-8 can carry


def _by_process(
    transport: StdioTransport[str],
    session: Mapping[str, str],
    *,
    chain: str,
    sandbox: ServerSandbox | None,
    max_line: int,
    scrubber: Scrubber,
) -> Connect:
    inherited = dict(session)
    if restricts_files(sandbox):
        # Behind a list of files only its private directory is there for temporary ones.
        inherited.pop("TMPDIR", None)
    env = inherited | dict(transport.env) | {NESTING_VARIABLE: chain}
    argv = (transport.command, *transport.args)

    async def connect() -> Wire:
        spec = ProcessSpec(
            argv=argv,
            # As every MCP client does it: relative paths in the arguments are the user's own.
            cwd=transport.cwd or str(Path.cwd()),
            env=env,
            limits=limits_of(sandbox),
            sandbox=wishes_of(sandbox, argv, path=env.get("PATH", DEFAULT_PATH)),
            # Servers need `PYTHONPATH` and the like, and who wrote the file chose the program already.
            trusted_env=True,
        )
        return await open_stdio_wire(spec, max_line=max_line, scrubber=scrubber)

    return connect


def _over_http(
    transport: HttpTransport[str | Secret],
    server: ServerConfig,
    *,
    max_message: int,
    scrubber: Scrubber,
    known_tools: KnownTools,
) -> Connect:
    # Not at the top: an HTTP client takes a while to import, and most servers are programs.
    from toolcrib_mcp.upstreams.http_wire import open_http_wire
    from toolcrib_mcp.upstreams.sse_wire import DetectingWire, open_sse_wire

    url = reveal(transport.url)
    # An empty value is no secret, and no header.
    headers = {name: text for name, text in transport.headers.items() if isinstance(text, Secret)}
    grant = network_for(url, server.settings.network)

    async def over_sse() -> Wire:
        return await open_sse_wire(url, headers=headers, grant=grant, max_message=max_message, scrubber=scrubber)

    async def over_http() -> Wire:
        return await open_http_wire(
            url, headers=headers, grant=grant, tools=known_tools(), max_message=max_message, scrubber=scrubber
        )

    async def detected() -> Wire:
        return DetectingWire(await over_http(), over_sse)

    match transport.protocol:
        case "sse":
            return over_sse
        case "streamable-http":
            return over_http
    return detected
