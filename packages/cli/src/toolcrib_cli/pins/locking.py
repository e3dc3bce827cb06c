"""`toolcrib pins lock`: what is pinned here, for everybody who has the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_cli.screen import print_json, say, screen, tell
from toolcrib_cli.session import run
from toolcrib_cli.wiring import Asked, wired
from toolcrib_core.wording import count
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.pins import lock_path, write_lock

if TYPE_CHECKING:
    from toolcrib_cli.pins.opening import OpenedPins


def lock_tools(opened: OpenedPins, *, as_json: bool) -> None:
    """Write the lock file with all that is pinned of the servers which are served now.

    Raises:
        ConfigError: There is no configuration beside which it could lie, nothing is pinned, or it cannot be written.
        StoreError: The database failed.
    """
    path = lock_path(opened.asked.config)
    if path is None:
        raise ConfigError(
            "There is no configuration file, beside which the lock file would lie.", hint="Name it with `--config`."
        )
    names = run(_names(opened.asked))
    lock = None if opened.desk is None else opened.desk.lock(names)
    tools = 0 if lock is None else sum(map(len, lock.servers.values()))
    if lock is None or not tools:
        raise ConfigError("Nothing is pinned that could be locked.", hint="Ask the servers for their tools: `--fresh`.")
    write_lock(path, lock)
    waiting = [each for each in opened.waiting() if each.pin.server in names]
    if as_json:
        print_json({"file": str(path), "servers": len(lock.servers), "tools": tools, "waiting": len(waiting)})
    else:
        say(screen(), f"{path.name}: {count(tools, 'tool')} of {count(len(lock.servers), 'server')}.")
    missing = sorted(names - lock.servers.keys())
    if missing:
        tell(f"Nothing is pinned of {', '.join(missing)}: no tool of it will be served. Ask for them: `--fresh`.")
    if waiting:
        tell(f"What waits for approval is not in it: {count(len(waiting), 'tool')}. See: toolcrib pins diff")


async def _names(asked: Asked) -> frozenset[str]:
    async with wired(asked) as parts:
        # Also one that is left out for want of a variable: others have it, and the lock is for them.
        served = (each.name for each in parts.config.servers.values() if each.enabled)
        return frozenset({*served, *parts.upstreams})
