"""`toolcrib audit tail`: records as lines, for people and for programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_cli.screen import print_json, say, screen, tell
from toolcrib_mcp.audit import Follower, Record, RecordFilter, newest_records

if TYPE_CHECKING:
    from rich.console import Console

_NOTHING: Final = "Nothing has been written down yet."
_POLL_SECONDS: Final = 0.5


def show_tail(folder: Path | None, *, number: int, wanted: RecordFilter, follow: bool, as_json: bool) -> None:
    """Print the newest records; with `follow`, then every new one until somebody interrupts.

    With both `follow` and `as_json`, every record is a line of JSON.

    Raises:
        OSError: A file cannot be read.
    """
    follower = None if folder is None else Follower(folder, wanted=wanted)
    found = [] if folder is None else newest_records(folder, number, wanted=wanted)
    if as_json and not follow:
        print_json({"records": [dict(each.fields) for each in found]})
        return
    console = screen()
    if not found:
        tell(_NOTHING)
    _print(console, found, as_json=as_json)
    while follow and follower is not None:
        time.sleep(_POLL_SECONDS)
        _print(console, follower.new(), as_json=as_json)


def line_of(record: Record) -> str:
    """A record on one line: when, how long, how it ended, who, and which tool."""
    fields = record.fields
    when = record.time.replace("T", " ")[5:19]
    took = f"{fields['durationMs']:,} ms" if "durationMs" in fields else ""
    return (
        f"{when} {took:>9}  {_ending(record):<17} {fields.get('principal', '')!s:<8} {fields.get('tool', '')}".rstrip()
    )


def _ending(record: Record) -> str:
    fields = record.fields
    match record.kind:
        case "call" | "refused":
            return str(fields.get("outcome") or fields.get("decision") or record.kind)
        case "lost":
            return f"lost {fields.get('lost')} records"
        case kind:
            return " ".join(filter(None, (kind, str(fields.get("decision", "")))))


def _print(console: Console, records: Iterable[Record], *, as_json: bool) -> None:
    for record in records:
        if as_json:
            sys.stdout.write(f"{json.dumps(dict(record.fields))}\n")
        else:
            say(console, line_of(record))
    sys.stdout.flush()
