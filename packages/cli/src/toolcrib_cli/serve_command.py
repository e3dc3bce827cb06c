"""`toolcrib serve`: a configuration's servers as one server, over standard input and output or over HTTP."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from toolcrib_cli.config_choice import choose_config
from toolcrib_cli.edge import told
from toolcrib_cli.semantic_search import open_vectors
from toolcrib_cli.state_directory import state_of, state_root
from toolcrib_core.wording import count, quoted
from toolcrib_mcp import ConfigError, GatewayConfig, load_config

if TYPE_CHECKING:
    from toolcrib_mcp.config import HttpFront
    from toolcrib_mcp.serving import Mode

_ADDRESS: Final = re.compile(r"(?:(?P<host>\[[^\]]+\]|[^:]*):)?(?P<port>\d{1,5})")
_LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def run_serve(
    *, config: Path | None, mode: Mode | None, http: str | None, state_dir: Path | None, log_level: str
) -> None:
    """Serve until the client leaves or the process is asked to stop.

    Raises:
        ToolError: The configuration or the address cannot be used, or large results cannot be kept.
    """
    logging.basicConfig(level=log_level.upper(), format=_LOG_FORMAT, stream=sys.stderr)
    path = choose_config(config, environ=os.environ, directory=Path.cwd())
    front = None if http is None else read_address(http)
    loaded = load_config(path)
    tell_warnings(loaded)
    chosen = mode or loaded.settings.mode
    state = _usable_state(path, state_dir)

    from toolcrib_mcp.serving import serve

    front = front or loaded.settings.http
    asyncio.run(
        serve(
            loaded,
            mode=chosen,
            http=front,
            state_dir=state,
            on_ready=_announce(loaded, chosen),
            open_vectors=open_vectors,
        )
    )


def read_address(text: str) -> HttpFront:
    """An address to listen at: `HOST:PORT`, `[IPv6]:PORT`, or a port alone, which is then on this machine only.

    Raises:
        BadParameter: It is none of these.
    """
    from toolcrib_mcp.config import HttpFront

    parts = _ADDRESS.fullmatch(text)
    host, port = (parts["host"], int(parts["port"])) if parts else (None, -1)
    try:
        return HttpFront(host=host.strip("[]"), port=port) if host else HttpFront(port=port)
    except ValueError:  # as pydantic's own error is
        problem = f"{quoted(text)} is no address. Write `HOST:PORT`, as in `127.0.0.1:8765`."
        raise typer.BadParameter(problem, param_hint="--http") from None


def tell_warnings(config: GatewayConfig) -> None:
    """Write what the author of a configuration may not expect."""
    for warning in config.warnings:
        told(f"warning: {warning}")


def _usable_state(config: Path, given: Path | None) -> Path | None:
    """The directory for what is kept; without one that can be written, nothing is, unless it was asked for."""
    directory = state_of(config, state_root(given, environ=os.environ))

    from toolcrib_mcp.serving import private_directory

    try:
        private_directory(directory)
    except OSError as failure:
        reason = f"The state directory {quoted(str(directory))} cannot be used: {failure.strerror}."
        if given is not None:
            raise ConfigError(reason, hint="Name another with `--state-dir`.") from None
        told(f"warning: {reason} Known tools and live health are not kept.")
        return None
    return directory


def _announce(config: GatewayConfig, mode: str) -> Callable[[str | None], None]:
    servers = count(len(config.enabled), "server")

    def announce(url: str | None) -> None:
        if url is not None:
            told(f"toolcrib serves {servers} in {mode} mode at {url}")
        elif sys.stderr.isatty():
            told(f"toolcrib serves {servers} in {mode} mode over standard input and output; Ctrl-C ends it.")

    return announce
