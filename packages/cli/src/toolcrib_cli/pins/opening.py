"""The pins of a configuration, as far as there are any; on demand, its servers are asked for their tools first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolcrib_cli.asking import Choice, asked_for, usable_state
from toolcrib_cli.policy.adding import split_target
from toolcrib_cli.screen import tell, working
from toolcrib_cli.session import run
from toolcrib_cli.shared_database import database_of, is_there
from toolcrib_cli.wiring import Asked, wired
from toolcrib_core.wording import nearest, quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.pins import (
    PINS_LINE,
    Definition,
    Pin,
    PinBook,
    PinDesk,
    PinLock,
    PinMode,
    lock_path,
    pin_mode,
    read_lock,
)
from toolcrib_mcp.pins.rows import ServerPins
from toolcrib_store import Store, open_store

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class WaitingTool:
    """A tool that is withheld until somebody has looked at it."""

    pin: Pin
    listed: Definition
    """What its server lists."""
    trusted: Definition | None
    """What it was when it was trusted, under its name or the one before."""


@dataclass(frozen=True, kw_only=True)
class OpenedPins:
    """What an operator has in front of them."""

    asked: Asked
    mode: PinMode
    desk: PinDesk | None
    """`None` where nothing was ever pinned."""
    lock: PinLock | None = None
    """What counts in place of what was pinned at first use."""

    def target(self, server: str | None, tool: str | None) -> tuple[str | None, str | None]:
        """The server and the tool that are meant: two names, or the id of a tool in place of the first.

        Raises:
            ConfigError: The text names no server, or no tool.
            StoreError: The database failed.
        """
        if server is None or tool is not None or any(each.server == server for each in self.servers()):
            return server, tool
        return split_target(server, self.asked.config.servers)

    def servers(self, server: str | None = None) -> tuple[ServerPins, ...]:
        """The pins by server, or those of one.

        Raises:
            ConfigError: Nothing is pinned of it.
            StoreError: The database failed.
        """
        every = () if self.desk is None else self.desk.servers()
        if server is None:
            return every
        found = tuple(each for each in every if each.server == server)
        if not found:
            near = nearest(server, [each.server for each in every])
            raise ConfigError(
                f"Nothing is pinned of a server called {quoted(server)}.",
                hint=f"Did you mean {quoted(near)}?" if near else "See `toolcrib pins list`.",
            )
        return found

    def waiting(self, server: str | None = None, tool: str | None = None) -> list[WaitingTool]:
        """The tools of which something waits to be approved: all, those of a server, or one.

        Raises:
            ConfigError: Nothing is pinned of the server or the tool.
            StoreError: The database failed.
        """
        found = self.servers(server)
        if tool is not None and server is not None and self.desk is not None:
            self.desk.find(server, tool)
        return [
            WaitingTool(pin=pin, listed=pin.waiting, trusted=_trusted(each, pin))
            for each in found
            for name, pin in sorted(each.pins.items())
            if pin.waiting is not None and tool in {None, name}
        ]


@contextmanager
def opened_desk(
    choice: Choice, *, principal: str = "", fresh: float | None = None, reads_lock: bool = True
) -> Iterator[OpenedPins]:
    """The pins of a configuration; nothing is made where there are none, unless the servers are asked.

    `fresh` is how many seconds each of them has to list its tools. Without `reads_lock` a lock file that cannot be
    used is no hindrance.

    Raises:
        ConfigError: The configuration or its lock file cannot be used.
        StoreError: The database cannot be opened.
    """
    asked = asked_for(choice, quietly=True)
    mode = pin_mode(asked.config)
    path = lock_path(asked.config) if mode == "locked" and reads_lock else None
    lock = None if path is None else read_lock(path)
    database = _database(asked, make=fresh is not None)
    if database is None:
        yield OpenedPins(asked=asked, mode=mode, desk=None, lock=lock)
        return
    with open_store(database, lines=[PINS_LINE]) as store:
        if fresh is not None:
            _ask_servers(asked, store, lock_file=path, seconds=fresh)
        yield OpenedPins(asked=asked, mode=mode, desk=PinDesk(store, scope=principal), lock=lock)


def _trusted(known: ServerPins, pin: Pin) -> Definition | None:
    before = known.pins.get(pin.was) if pin.pinned is None and pin.was is not None else pin
    return None if before is None else before.pinned


def _database(asked: Asked, *, make: bool) -> Path | str | None:
    if make and asked.shared is None:
        usable_state(asked, named=True)
    database = database_of(asked)
    return database if make or is_there(database) else None


def _ask_servers(asked: Asked, store: Store, *, lock_file: Path | None, seconds: float) -> None:
    from toolcrib_mcp.hub import Hub

    async def inside() -> None:
        book = PinBook(store, lock_file=lock_file)
        async with wired(asked) as parts, Hub(parts.config, upstreams=parts.upstreams, pins=book) as hub:
            for report in await hub.start(timeout=seconds):
                if report.error is not None:
                    tell(f"warning: The server {quoted(report.name)} could not be asked: {report.error.message}")

    with working("Asking the servers for their tools …"):
        run(inside())
