"""What a command works on: a configuration with whatever was added to it, or the demo where there is none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolcrib_cli.config_choice import choose_config, current_directory
from toolcrib_cli.screen import tell
from toolcrib_cli.shared_database import shared_target
from toolcrib_cli.state_directory import remember_config, state_of, state_root
from toolcrib_cli.toolpack.grants import Grants
from toolcrib_cli.wiring import Asked
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.state_files import Untrusted, private_directory

DEMO_NOTE: Final = "demo: there is no configuration here. For your own servers: toolcrib init"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What the options of a command say about the catalogue it is about."""

    config: Path | None = None
    state_dir: Path | None = None
    shared: str | None = None
    toolpacks: tuple[Path, ...] = ()
    python_tools: tuple[str, ...] = ()
    context_packs: bool = False
    demo: bool = False
    toolsets: bool = False
    """Whether toolsets of users, or the API that manages them, are served beside the catalogue."""
    grants: Grants = field(default_factory=Grants)

    @property
    def has_tools(self) -> bool:
        """Whether there are tools without any MCP server."""
        return bool(self.toolpacks or self.python_tools) or self.context_packs or self.toolsets


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a catalogue is found, before anything of it is read."""

    folder: Path
    """The folder the command was started in."""
    path: Path | None
    """The file of the configuration."""
    is_demo: bool
    state_dir: Path
    """Where the state of this configuration is kept."""


def place_of(choice: Choice, *, environ: Mapping[str, str] = os.environ, directory: Path | None = None) -> Place:
    """Find out which configuration a command is about.

    Raises:
        ConfigError: There is none that could be meant, or nowhere to keep its state.
    """
    here = current_directory() if directory is None else directory
    # Python tools are served alone unless a configuration is named: the one that is found here may be a client's.
    looked_in = None if choice.python_tools else here
    path = None if choice.demo else choose_config(choice.config, environ=environ, directory=looked_in)
    is_demo = choice.demo or (path is None and not choice.has_tools)
    root = state_root(choice.state_dir, environ=environ)
    state_dir = state_of(path, root) if path is not None else root / ("demo" if is_demo else "no-config")
    return Place(folder=here, path=path, is_demo=is_demo, state_dir=state_dir)


def asked_for(
    choice: Choice,
    *,
    environ: Mapping[str, str] = os.environ,
    directory: Path | None = None,
    quietly: bool = False,
    unread: bool = False,
) -> Asked:
    """Read the configuration; a demo that was not asked for is announced on standard error, unless `quietly`.

    With `unread` the file of the configuration is only found.

    Raises:
        ConfigError: The configuration cannot be used.
    """
    from toolcrib_mcp.config import GatewayConfig, load_config

    place = place_of(choice, environ=environ, directory=directory)
    found = None if unread else place.path
    config = (
        GatewayConfig(servers={})
        if found is None
        else load_config(found, environ=environ, needs_servers=not choice.has_tools)
    )
    if place.is_demo and not choice.demo and not quietly:
        tell(DEMO_NOTE)
    return Asked(
        config=config,
        path=place.path,
        state_dir=place.state_dir,
        state_root=choice.state_dir,
        shared=shared_target(choice.shared, environ=environ),
        toolpacks=choice.toolpacks,
        grants=choice.grants,
        python_tools=choice.python_tools,
        context_packs=choice.context_packs,
        toolsets=choice.toolsets,
        demo=place.is_demo,
        folder=place.folder,
    )


def tell_warnings(asked: Asked) -> None:
    """Write what the author of the configuration may not expect."""
    for warning in asked.config.warnings:
        tell(f"warning: {warning}")


def usable_state(asked: Asked | Place, *, named: bool) -> Path | None:
    """The directory for what is kept; without one that can be written, nothing is, unless it was `named`.

    Raises:
        ConfigError: It was named and cannot be used, or another user decides what is in it.
    """
    directory = asked.state_dir
    if directory is None:
        return None
    try:
        private_directory(directory)
    except Untrusted as failure:
        # Without it there would be no pins and no audit: whoever spoils the directory must not switch those off.
        raise ConfigError(
            f"The state directory {quoted(str(directory))} cannot be trusted: {failure.strerror}. Nothing is served.",
            hint=failure.advice,
        ) from None
    except OSError as failure:
        reason = f"The state directory {quoted(str(directory))} cannot be used: {failure.strerror}."
        if named:
            raise ConfigError(reason, hint="Name another with `--state-dir`.") from None
        tell(f"warning: {reason} Known tools, live health and large results are not kept, nor pins and the audit.")
        return None
    if asked.path is not None:
        remember_config(directory, asked.path)
    return directory
