"""The composition root: from what is asked for to the servers that this process brings.

Servers that this process brings itself come from sources, which are functions that give connections by name and close
what these hold at the end. A source is imported when it is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from toolcrib_cli.log_lines import write_plain_lines
from toolcrib_cli.toolpack.grants import Grants
from toolcrib_core.json_values import FrozenDict
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError

if TYPE_CHECKING:
    from toolcrib_mcp import GatewayConfig
    from toolcrib_mcp.config import ServerSettings
    from toolcrib_mcp.upstreams import Connect


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a command is to work on."""

    config: GatewayConfig
    """The servers of the configuration; none where there is no configuration."""
    path: Path | None = None
    """The file of the configuration."""
    state_dir: Path | None = None
    """Where this configuration's state is kept; without it, nothing outlives the process."""
    state_root: Path | None = None
    """The directory for the state of all configurations, where one was named."""
    shared: str | None = None
    """The database that the replicas of this configuration share; without it there is one process."""
    toolpacks: tuple[Path, ...] = ()
    """Directories with `*.tool.yaml` files."""
    grants: Grants = field(default_factory=Grants)
    """What the tools of these files are granted beyond what they declare."""
    python_tools: tuple[str, ...] = ()
    """Python tools, each as `MODULE:NAME`."""
    context_packs: bool = False
    """Whether the tools for context packs are served, too."""
    toolsets: bool = False
    """Whether toolsets of users, or the API that manages them, are served beside the catalogue."""
    demo: bool = False
    """Whether the catalogue that comes with the package is served."""
    folder: Path = Path()
    """The folder whose files the demo may read."""


Brought: TypeAlias = "Mapping[str, Connect]"
"""Servers of a source, by name."""

Source: TypeAlias = Callable[[Asked], AbstractAsyncContextManager[Brought]]
"""Gives servers, and closes at the end what they hold."""


def _sources(asked: Asked) -> Iterator[tuple[Source, ServerSettings]]:
    from toolcrib_mcp.config import ServerSettings

    from_files = ServerSettings(trusted=True, own_namespaces=True)
    own_code = ServerSettings(trusted=True, pins="off")
    if asked.demo:
        from toolcrib_cli.demo.bringing import bring_demo

        yield bring_demo, own_code
    if asked.toolpacks:
        from toolcrib_cli.toolpack.serving import bring_toolpacks

        yield bring_toolpacks, from_files
    if asked.python_tools:
        from toolcrib_cli.python_tools import bring_python_tools

        yield bring_python_tools, own_code
    if asked.context_packs:
        from toolcrib_cli.pack.serving import bring_context_packs

        yield bring_context_packs, own_code


@dataclass(frozen=True, kw_only=True)
class Wired:
    """Everything that a hub is made of."""

    config: GatewayConfig
    upstreams: Brought
    reload: Callable[[], GatewayConfig] | None = None
    """Reads the configuration again, where there is a file of it."""


@asynccontextmanager
async def wired(asked: Asked) -> AsyncIterator[Wired]:
    """The servers of the configuration and all that this process brings itself, which is closed at the end.

    What is brought is trusted to tell the risk of its own tools, unless the configuration has settings for it. Tools
    that are code of this process are not pinned: who can change them can change the gateway.

    Raises:
        ConfigError: Two servers have the same name.
        ToolError: A source cannot be used.
    """
    write_plain_lines()
    async with AsyncExitStack() as holding:
        every: dict[str, Connect] = {}
        settings: dict[str, ServerSettings] = {}
        taken = {each.name for each in asked.config.enabled}
        # In a thread, since the tools of a source may take long to import.
        for source, treated in await asyncio.to_thread(list, _sources(asked)):
            brought = await holding.enter_async_context(source(asked))
            _check_names(taken, brought)
            taken |= brought.keys()
            every |= brought
            settings |= dict.fromkeys(brought, treated)
        yield Wired(
            config=_with_settings(asked.config, settings), upstreams=every, reload=_reload(asked, every, settings)
        )


def _reload(
    asked: Asked, brought: Brought, settings: Mapping[str, ServerSettings]
) -> Callable[[], GatewayConfig] | None:
    path = asked.path
    if path is None:
        return None

    def load() -> GatewayConfig:
        from toolcrib_mcp import load_config

        config = load_config(path, needs_servers=not (brought or asked.toolsets))
        _check_names({each.name for each in config.enabled}, brought)
        return _with_settings(config, settings)

    return load


def free_server_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, or the first of `name-2`, `name-3` and so on that is not taken."""
    number = 1
    while (free := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return free


def _with_settings(config: GatewayConfig, added: Mapping[str, ServerSettings]) -> GatewayConfig:
    # How a source names its tools is not for the configuration to say.
    own = {
        name: each.model_copy(update={"own_namespaces": name in added and added[name].own_namespaces})
        for name, each in config.settings.servers.items()
    }
    servers = FrozenDict({**added, **config.settings.servers, **{name: own[name] for name in own if name in added}})
    return replace(config, settings=config.settings.model_copy(update={"servers": servers}))


def _check_names(taken: set[str], brought: Brought) -> None:
    twice = next((name for name in brought if name in taken), None)
    if twice is not None:
        raise ConfigError(
            f"Two servers are called {quoted(twice)}.",
            hint="Rename the one in your configuration, or leave the other out.",
            details={"server": twice},
        )
