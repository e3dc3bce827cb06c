"""Toolset types that the operator makes of MCP servers and toolpacks: users give a key, and choose no program."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_toolsets import Credentials, NoSettings, ToolsetDefinition, ToolsetKind

if TYPE_CHECKING:
    from toolcrib_mcp.config import GatewaySettings, ServerConfig
    from toolcrib_runtime import Toolbox
    from toolcrib_runtime.guards.net import NetGrant
    from toolcrib_toolpacks import Toolpack

KEY: Final = "TOOLSET_KEY"
"""The variable in a server's entry, as in `"Authorization": "Bearer ${TOOLSET_KEY}"`, where a user's key goes."""

CREDENTIAL: Final = "credential"
"""The word in a pack's `metadata` that names the variable of `env.passthrough` where a user's key goes."""

_STAND_IN: Final = "a-key-that-opens-nothing"


def server_types(file: str | None, *, environ: Mapping[str, str]) -> list[ToolsetKind]:
    """A type for every server of a configuration that has a place for a key: `mcp-server-<name>`.

    Raises:
        ConfigError: The file cannot be used, or a server has no place for a key.
    """
    if not file:
        return []
    from toolcrib_mcp import load_config

    config = load_config(Path(file).expanduser(), environ={**environ, KEY: _STAND_IN})
    for server in config.enabled:
        if KEY not in server.variables:
            raise ConfigError(
                f"The server {quoted(server.name)} has no place for a key.",
                hint=f"Write `${{{KEY}}}` into a header or a variable of its entry.",
            )
        _refuse_elsewhere(server)
    return [McpServerType(server, config.settings) for server in config.enabled]


def pack_types(folder: str | None, *, network: NetGrant) -> list[ToolsetKind]:
    """A type for every pack of a folder that names a credential: `toolpack-<id>`.

    Raises:
        ToolpackValidationError: The folder cannot be used.
        ConfigError: A pack names a credential that it does not pass on.
    """
    if not folder:
        return []
    from toolcrib_cli.toolpack.loading import telling_violations
    from toolcrib_toolpacks import ToolpackLoader

    loader = ToolpackLoader()
    with telling_violations():
        loader.load_dir(Path(folder).expanduser())
    found = [(each, each.metadata.get(CREDENTIAL)) for each in loader.list()]
    return [ToolpackType(pack, _slot(pack, name), network) for pack, name in found if name is not None]


class McpServerType(NoSettings):
    """An MCP server that every user has a connection of their own to, with their own key."""

    def __init__(self, server: ServerConfig, gateway: GatewaySettings) -> None:
        self._server = server
        self._gateway = gateway

    @property
    def definition(self) -> ToolsetDefinition:
        """What it is, without an instance."""
        return ToolsetDefinition(
            toolset_id=f"mcp-server-{self._server.namespace}",
            name=self._server.name,
            description=f"The MCP server {self._server.name}, with a connection of one's own.",
        )

    @asynccontextmanager
    async def open(self, credentials: Credentials) -> AsyncIterator[Toolbox]:
        """The tools of the server, over a connection that carries this key and is nobody else's.

        Raises:
            UpstreamError: It cannot be reached.
        """
        from toolcrib_mcp import import_tools, upstream_of
        from toolcrib_mcp.upstreams import close_all
        from toolcrib_runtime import create_toolbox

        key: dict[str, Any] = {} if credentials.api_key is None else {KEY: credentials.api_key}
        server = replace(self._server, variables={**self._server.variables, **key})
        upstream = upstream_of(server, gateway=self._gateway)
        try:
            tools = await import_tools(upstream, namespace=credentials.namespace, trusted=server.settings.trusted)
            yield create_toolbox(tools)
        finally:
            await close_all([upstream])


class ToolpackType(NoSettings):
    """A toolpack that gets the key of whoever calls it in a variable."""

    def __init__(self, pack: Toolpack, variable: str, network: NetGrant) -> None:
        self._pack = pack
        self._variable = variable
        self._network = network

    @property
    def definition(self) -> ToolsetDefinition:
        """What it is, without an instance."""
        tool = self._pack.definition
        return ToolsetDefinition(
            toolset_id=f"toolpack-{self._pack.id.replace('.', '-')}",
            name=tool.title or self._pack.id,
            description=tool.description or f"The toolpack {self._pack.id}.",
            tools=(tool,),
        )

    @asynccontextmanager
    async def open(self, credentials: Credentials) -> AsyncIterator[Toolbox]:
        """The tool of the pack, with this key in its environment.

        Raises:
            ToolError: This machine cannot run it.
        """
        from toolcrib_toolpacks import RunSettings, open_toolbox

        key = {} if credentials.api_key is None else {self._variable: credentials.api_key.reveal()}
        settings = RunSettings(
            granted_env=frozenset({self._variable}), environment=key, network=self._network, workers=2, processes=2
        )
        async with open_toolbox([self._pack], settings=settings) as toolbox:
            yield toolbox


def _refuse_elsewhere(server: ServerConfig) -> None:
    """A key among the arguments is seen by all who list processes, and as a command it would be the user's choice."""
    for place, template in server.written.texts():
        if not place.startswith(("/env/", "/headers/")) and any(each.name == KEY for each in template.variables):
            raise ConfigError(
                f"The server {quoted(server.name)} has a key in {quoted(place[1:])}, where others would see it.",
                hint=f"Write `${{{KEY}}}` into a header or a variable of its entry only.",
            )


def _slot(pack: Toolpack, name: object) -> str:
    if not isinstance(name, str) or name not in pack.env.passthrough:
        raise ConfigError(
            f"The pack {quoted(pack.id)} names a credential that it does not pass on.",
            hint=f"`metadata.{CREDENTIAL}` must be one of its `env.passthrough`.",
        )
    return name
