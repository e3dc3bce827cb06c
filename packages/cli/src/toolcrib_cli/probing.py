"""Trying the servers of a catalogue: each is started, asked for its tools, and closed again."""

from __future__ import annotations

from typing import Any

from toolcrib_cli.screen import working
from toolcrib_cli.session import open_hub, run
from toolcrib_cli.wiring import Asked
from toolcrib_core.wording import count


def probe(asked: Asked, *, timeout: float) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The status of the servers once each has had so many seconds, and by name why a server is not ready.

    Raises:
        KeyboardInterrupt: It was asked to stop; nothing of the servers is left.
    """
    return run(_probe(asked, timeout))


async def _probe(asked: Asked, seconds: float) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    async with open_hub(asked, state=None) as hub:
        with working(f"Starting {count(len(hub.servers), 'server')} …"):
            reports = await hub.start(timeout=seconds)
        failures = {each.name: each.error.to_dict() for each in reports if each.error is not None}
        return hub.status().to_json(), failures
