"""Trying the servers of a configuration: each is started, asked for its tools, and closed again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from toolcrib_core.wording import count

if TYPE_CHECKING:
    from toolcrib_mcp import GatewayConfig
    from toolcrib_mcp.hub import Hub


def probe(config: GatewayConfig, *, timeout: float) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The status of the servers once each has had so many seconds, and by name why a server is not ready.

    Raises:
        KeyboardInterrupt: It was asked to stop; nothing of the servers is left.
    """
    return asyncio.run(_probe(config, timeout))


async def _probe(config: GatewayConfig, seconds: float) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    from toolcrib_mcp.hub import Hub
    from toolcrib_mcp.serving import stop_signals, unless

    with stop_signals() as stop:
        async with Hub(config) as hub:
            with _progress(hub):
                reports = await unless(stop.asked, hub.start(timeout=seconds))
            if reports is None:
                raise KeyboardInterrupt
            failures = {each.name: each.error.to_dict() for each in reports if each.error is not None}
            return hub.status().to_json(), failures


@contextmanager
def _progress(hub: Hub) -> Iterator[None]:
    """Say on a terminal that something is under way; nowhere else."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    text = f"Starting {count(len(hub.servers), 'server')} …"
    with Console(stderr=True).status(text):
        yield
