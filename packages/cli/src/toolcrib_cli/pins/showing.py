"""`toolcrib pins list`: what is pinned, and what waits for somebody to look at it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolcrib_cli.screen import print_json, printable, say, screen
from toolcrib_core.wording import count

if TYPE_CHECKING:
    from toolcrib_cli.pins.opening import OpenedPins
    from toolcrib_mcp.pins import Pin
    from toolcrib_mcp.pins.rows import ServerPins

_PINNED = "pinned"


def show_pins(opened: OpenedPins, server: str | None, *, every: bool, as_json: bool) -> None:
    """Print what is pinned; without `every` only what is withheld, and how many are not.

    Raises:
        ConfigError: Nothing is pinned of the server.
        StoreError: The database failed.
    """
    found = opened.servers(server)
    if as_json:
        print_json({"mode": opened.mode, "servers": [_server(opened, each) for each in found]})
        return
    console = screen()
    if opened.mode == "off":
        say(console, "Pins are switched off: tools are served however they change.")
    if not found:
        say(console, "Nothing is pinned yet: a tool is, when its server first lists it.")
        return
    rows = [
        (each.server, pin.tool, state)
        for each in found
        for _, pin in sorted(each.pins.items())
        if (state := state_of(opened, pin)) != _PINNED or every
    ]
    rows += [(each.server, "?", f"damaged: {count(len(each.damaged), 'pin')}") for each in found if each.damaged]
    if rows:
        _print_table(rows)
        console.print()
    for each in found:
        pinned = sum(pin.pinned is not None for pin in each.pins.values())
        withheld = sum(state_of(opened, pin) != _PINNED for pin in each.pins.values()) + len(each.damaged)
        what = f", {withheld} withheld" if withheld else ""
        say(console, f"{each.server}: {count(pinned, 'tool')} pinned{what}")
    if any(state_of(opened, pin) != _PINNED for each in found for pin in each.pins.values()):
        say(console, "What has changed: toolcrib pins diff")


def state_of(opened: OpenedPins, pin: Pin) -> str:
    """What is the matter with a tool, in a word or a few."""
    if pin.waiting is not None:
        if pin.pinned is not None:
            return "changed"
        return "not approved" if pin.was is None else f"renamed, was {printable(pin.was)}"
    if opened.lock is not None and not pin.scope:
        locked = opened.lock.of(pin.server).get(pin.tool)
        if pin.pinned is None or not pin.pinned.has_digest(locked):
            return "not in the lock file"
    return _PINNED


def moment(seconds: float | None) -> str | None:
    """A time as people and programs read it."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _server(opened: OpenedPins, each: ServerPins) -> dict[str, Any]:
    tools = [_told(opened, pin) for _, pin in sorted(each.pins.items())]
    return {"server": each.server, "damaged": len(each.damaged), "tools": tools}


def _told(opened: OpenedPins, pin: Pin) -> dict[str, Any]:
    told = {
        "tool": pin.tool,
        "state": state_of(opened, pin),
        "digest": None if pin.pinned is None else f"sha256:{pin.pinned.digest}",
        "how": pin.how,
        "by": pin.pinned_by or None,
        "pinnedAt": moment(pin.pinned_at),
        "waiting": None if pin.waiting is None else f"sha256:{pin.waiting.digest}",
        "waitingSince": moment(pin.waiting_since),
        "was": pin.was,
    }
    return {name: value for name, value in told.items() if value is not None}


def _print_table(rows: list[tuple[str, str, str]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("Server", "Tool", "State"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(printable, row))
    screen().print(table)
