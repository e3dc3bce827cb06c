"""Definitions as they were when they were trusted: a tool that has changed since is withheld.

A name is loaded when it is first used: the catalogue needs the digests, and no database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.pins.book import Judged, PinBook
    from toolcrib_mcp.pins.changes import FieldChange, changes_between
    from toolcrib_mcp.pins.definitions import Definition, Pin
    from toolcrib_mcp.pins.desk import PinDesk
    from toolcrib_mcp.pins.digests import body_digest, definition_digest
    from toolcrib_mcp.pins.lock_file import LOCK_FILE, PinLock, read_lock, write_lock
    from toolcrib_mcp.pins.opening import PinMode, lock_path, open_pins, pin_mode
    from toolcrib_mcp.pins.tables import PINS_LINE
    from toolcrib_mcp.pins.withheld import WithheldTool

_HOMES = {
    "LOCK_FILE": "lock_file",
    "PINS_LINE": "tables",
    "Definition": "definitions",
    "FieldChange": "changes",
    "Judged": "book",
    "Pin": "definitions",
    "PinBook": "book",
    "PinDesk": "desk",
    "PinLock": "lock_file",
    "PinMode": "opening",
    "WithheldTool": "withheld",
    "body_digest": "digests",
    "changes_between": "changes",
    "definition_digest": "digests",
    "lock_path": "opening",
    "open_pins": "opening",
    "pin_mode": "opening",
    "read_lock": "lock_file",
    "write_lock": "lock_file",
}

__all__ = [
    "LOCK_FILE",
    "PINS_LINE",
    "Definition",
    "FieldChange",
    "Judged",
    "Pin",
    "PinBook",
    "PinDesk",
    "PinLock",
    "PinMode",
    "WithheldTool",
    "body_digest",
    "changes_between",
    "definition_digest",
    "lock_path",
    "open_pins",
    "pin_mode",
    "read_lock",
    "write_lock",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
