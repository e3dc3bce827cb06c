"""`PinDesk`: what an operator sees of pins, and decides about them."""

from __future__ import annotations

from dataclasses import replace

from toolcrib_core.wording import nearest, quoted
from toolcrib_mcp.errors import ConfigError, ToolChanged
from toolcrib_mcp.pins.definitions import Pin
from toolcrib_mcp.pins.lock_file import PinLock
from toolcrib_mcp.pins.rows import (
    ServerPins,
    delete_pins,
    note_change,
    read_every_pin,
    read_pins,
    write_pins,
)
from toolcrib_store import Store


class PinDesk:
    """The pins of a scope, for whoever may decide; gateways that run notice what is decided here."""

    def __init__(self, store: Store, *, scope: str = "") -> None:
        self._store = store
        self._scope = scope

    def servers(self) -> tuple[ServerPins, ...]:
        """All pins, by server.

        Raises:
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            return read_every_pin(connection, self._scope)

    def find(self, server: str, tool: str) -> Pin:
        """The pin of one tool.

        Raises:
            ConfigError: There is none.
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            return _found(read_pins(connection, self._scope, server), tool)

    def approve(self, server: str, tool: str, digest: str, *, by: str) -> Pin:
        """Trust what a server lists now, as long as that is what has this digest.

        Raises:
            ToolChanged: It is something else by now.
            ConfigError: There is no such tool, or nothing of it waits.
            StoreError: The database failed.
        """
        with self._store.writing() as connection:
            known = read_pins(connection, self._scope, server)
            pin = _found(known, tool)
            waiting = pin.waiting
            if waiting is None:
                raise ConfigError(f"Nothing of {quoted(tool)} of {quoted(server)} waits to be approved.")
            if waiting.digest != digest:
                raise ToolChanged(
                    f"{quoted(tool)} of {quoted(server)} has changed again since it was shown. Nothing was approved.",
                    hint="Look at it again: `toolcrib pins diff`.",
                    details={"shown": f"sha256:{digest}", "waiting": f"sha256:{waiting.digest}"},
                )
            approved = replace(
                pin,
                pinned=waiting,
                how="approved",
                pinned_by=by,
                pinned_at=self._store.now(),
                waiting=None,
                waiting_since=None,
            )
            write_pins(connection, known, [approved])
            note_change(connection, self._scope, server)
        return approved

    def reset(self, server: str, tool: str | None = None) -> int:
        """Forget the pins of a server, or of one tool: what is listed next is trusted. Gives how many there were.

        Raises:
            StoreError: The database failed.
        """
        with self._store.writing() as connection:
            gone = delete_pins(connection, self._scope, server, tool)
            note_change(connection, self._scope, server)
        return gone

    def lock(self, servers: frozenset[str]) -> PinLock:
        """All that is pinned of these servers.

        Raises:
            StoreError: The database failed.
        """
        return PinLock(
            servers={
                each.server: {name: pin.pinned.settled for name, pin in each.pins.items() if pin.pinned is not None}
                for each in self.servers()
                if each.server in servers
            }
        )


def _found(known: ServerPins, tool: str) -> Pin:
    pin = known.pins.get(tool)
    if pin is None:
        near = nearest(tool, known.pins)
        raise ConfigError(
            f"There is no pin of {quoted(tool)} of {quoted(known.server)}.",
            hint=f"Did you mean {quoted(near)}?" if near else "See `toolcrib pins list --all`.",
        )
    return pin
