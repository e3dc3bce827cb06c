"""`toolcrib pins diff`: before and after, field by field, with nothing hidden and nothing cut."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from toolcrib_cli.pins.showing import moment
from toolcrib_cli.screen import print_json, printable, say, screen
from toolcrib_mcp.pins import FieldChange, changes_between

if TYPE_CHECKING:
    from rich.console import Console

    from toolcrib_cli.pins.opening import OpenedPins, WaitingTool

_WIDTH: Final = 80
_MARGIN: Final = 4
_STYLES: Final = {"-": "red", "+": "green", "@": "cyan"}


def show_differences(opened: OpenedPins, server: str | None, tool: str | None, *, as_json: bool) -> None:
    """Print what has changed about the tools of which something waits.

    Raises:
        ConfigError: Nothing is pinned of the server or the tool.
        StoreError: The database failed.
    """
    found = opened.waiting(*opened.target(server, tool))
    if as_json:
        print_json({"tools": [_told(each) for each in found]})
    else:
        print_differences(found)


def print_differences(tools: Sequence[WaitingTool]) -> None:
    """Print what has changed about these tools."""
    console = screen()
    if not tools:
        say(console, "Nothing waits to be approved.")
    for each in tools:
        _print_one(console, each)


def _told(tool: WaitingTool) -> dict[str, Any]:
    """What has changed about one tool, as JSON: with the words of the server as they are."""
    return {
        "server": tool.pin.server,
        "tool": tool.pin.tool,
        **({} if tool.pin.was is None else {"was": tool.pin.was}),
        "digest": f"sha256:{tool.listed.digest}",
        "since": moment(tool.pin.waiting_since),
        "changes": [
            {"field": each.field, "change": each.kind, "before": each.before, "after": each.after}
            | ({"notes": list(each.notes)} if each.notes else {})
            for each in _changes(tool)
        ],
    }


def _changes(tool: WaitingTool) -> tuple[FieldChange, ...]:
    return changes_between({} if tool.trusted is None else tool.trusted.tool, tool.listed.tool)


def _print_one(console: Console, tool: WaitingTool) -> None:
    pin = tool.pin
    what = "changed" if pin.pinned is not None else "new" if pin.was is None else f"renamed, was {pin.was}"
    say(console, f"{pin.server} {pin.tool}: {what}, seen {moment(pin.waiting_since)}", style="bold")
    say(console, f"sha256:{tool.listed.digest}", indent=2)
    for change in _changes(tool):
        say(console, f"{change.field} ({change.kind})", indent=2, style="bold")
        for note in change.notes:
            say(console, note, indent=_MARGIN, style="yellow")
        for line in _lines(change, width=console.width if console.is_terminal else _WIDTH):
            _print_line(console, line)
    console.print()


def _print_line(console: Console, line: str) -> None:
    from rich.text import Text

    console.print(Text(" " * _MARGIN + line, style=_STYLES.get(line[:1], "")), soft_wrap=True)


def _lines(change: FieldChange, *, width: int) -> Iterator[str]:
    room = max(20, width - _MARGIN - 1)
    before, after = (list(_wrapped(text, room)) if text else [] for text in (change.before, change.after))
    if before == after:
        yield "They differ only in characters that are not drawn:"
        yield from (f"+{line}" for line in after)
        return
    # The first two lines name files, and there are none.
    yield from islice(unified_diff(before, after, lineterm="", n=2), 2, None)


def _wrapped(text: str, room: int) -> Iterator[str]:
    for line in text.split("\n"):
        # Piece by piece, since what is printable is bounded, and nothing may be left out here.
        visible = "".join(printable(line[at : at + 500]) for at in range(0, len(line), 500))
        yield from textwrap.wrap(visible, room, drop_whitespace=False, replace_whitespace=False) or [""]
