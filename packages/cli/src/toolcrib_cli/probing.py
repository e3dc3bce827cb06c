"""Trying the servers of a catalogue: each is started, asked for its tools, and closed again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolcrib_cli.screen import working
from toolcrib_cli.session import open_hub, run
from toolcrib_cli.shared_database import database_of, is_there
from toolcrib_cli.wiring import Asked
from toolcrib_core.wording import count

if TYPE_CHECKING:
    from toolcrib_mcp.pins import PinBook


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What was found by trying the servers."""

    status: Mapping[str, Any]
    """As the hub tells it."""
    failures: Mapping[str, Mapping[str, Any]]
    """By name, why a server is not ready."""
    asked_about: Mapping[str, int]
    """By name, how many tools of a server need an approval before they run."""
    has_rules: bool
    """Whether there are rules or remembered answers about that."""


def probe(asked: Asked, *, timeout: float) -> Probe:
    """How the servers are once each has had so many seconds.

    Raises:
        ConfigError: The policy cannot be used.
        KeyboardInterrupt: It was asked to stop; nothing of the servers is left.
    """
    return run(_probe(asked, timeout))


async def _probe(asked: Asked, seconds: float) -> Probe:
    from toolcrib_cli.policy.opening import opened_answers
    from toolcrib_cli.policy.subjects import asked_about
    from toolcrib_mcp.policy import PolicySource

    with ExitStack() as holding:
        async with open_hub(asked, pins=_pins_of(asked, holding)) as hub:
            with working(f"Starting {count(len(hub.servers), 'server')} …") as line:
                reports = await hub.start(
                    timeout=seconds, on_progress=lambda progress: line.update(f"Starting servers: {progress}")
                )
            failures = {each.name: each.error.to_dict() for each in reports if each.error is not None}
            with opened_answers(asked) as answers:
                policy = PolicySource.of(asked.config, answers=answers).current()
            questions = asked_about(hub, policy)
            return Probe(
                status=hub.status().to_json(),
                failures=failures,
                asked_about=questions,
                has_rules=bool(policy.rules or policy.answers),
            )


def _pins_of(asked: Asked, holding: ExitStack) -> PinBook | None:
    """What was trusted before, where anything was: to look at servers leaves no database behind."""
    from toolcrib_mcp.pins import open_pins
    from toolcrib_mcp.safeguards.opening import open_database

    database = database_of(asked)
    if database is None or not is_there(database):
        return None
    return open_pins(asked.config, holding.enter_context(open_database(database)))
