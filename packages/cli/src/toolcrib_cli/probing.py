"""Trying the servers of a catalogue: each is started, asked for its tools, and closed again."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from toolcrib_cli.screen import working
from toolcrib_cli.session import open_hub, run
from toolcrib_cli.wiring import Asked
from toolcrib_core.wording import count

if TYPE_CHECKING:
    from toolcrib_mcp.pins import PinBook


def probe(asked: Asked, *, timeout: float) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The status of the servers once each has had so many seconds, and by name why a server is not ready.

    Raises:
        KeyboardInterrupt: It was asked to stop; nothing of the servers is left.
    """
    return run(_probe(asked, timeout))


async def _probe(asked: Asked, seconds: float) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    with ExitStack() as holding:
        async with open_hub(asked, pins=_pins_of(asked, holding)) as hub:
            with working(f"Starting {count(len(hub.servers), 'server')} …"):
                reports = await hub.start(timeout=seconds)
            failures = {each.name: each.error.to_dict() for each in reports if each.error is not None}
            return hub.status().to_json(), failures


def _pins_of(asked: Asked, holding: ExitStack) -> PinBook | None:
    """What was trusted before, where anything was: to look at servers leaves no database behind."""
    from toolcrib_mcp.pins import open_pins
    from toolcrib_mcp.safeguards.opening import open_database
    from toolcrib_mcp.state_files import ARTIFACTS

    if asked.state_dir is None or not (asked.state_dir / ARTIFACTS).exists():
        return None
    return open_pins(asked.config, holding.enter_context(open_database(asked.state_dir)))
