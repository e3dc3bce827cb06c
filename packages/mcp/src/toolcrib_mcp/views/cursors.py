"""Cursors: where the next page begins, bound to the artifact and the selector that they were made for."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.views.selectors import Selector

MAX_CURSOR_LENGTH: Final = 200

_FORM = re.compile(r"([0-9]{1,16})-([0-9]{1,16})\.([a-z2-7]{10})")


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page begins: at which unit, and a second number whose meaning is the selector's own."""

    at: int
    also: int = 0


def write_cursor(position: Position, *, handle: str, selector: Selector) -> str:
    """The cursor that leads to this position."""
    return f"{position.at}-{position.also}.{_digest(position, handle, selector)}"


def read_cursor(cursor: object, *, handle: str, selector: Selector) -> Position:
    """The position that a cursor leads to.

    Raises:
        ViewFailed: It was not made for this artifact and this selector, or somebody changed it.
    """
    short = isinstance(cursor, str) and len(cursor) <= MAX_CURSOR_LENGTH
    form = _FORM.fullmatch(cursor) if isinstance(cursor, str) and short else None
    if form is None:
        raise foreign_cursor()
    position = Position(int(form[1]), int(form[2]))
    if not hmac.compare_digest(form[3], _digest(position, handle, selector)):
        raise foreign_cursor()
    return position


def foreign_cursor() -> ViewFailed:
    """The refusal of a cursor that leads nowhere in this view."""
    return ViewFailed(
        "The cursor does not belong to this artifact and selector.",
        hint="Send the cursor of the last answer unchanged, with the same handle and selector; or begin without one.",
    )


def _digest(position: Position, handle: str, selector: Selector) -> str:
    # No secret is needed: whoever makes a cursor reads no more than the selector gives anyway.
    made = hashlib.sha256(repr((position.at, position.also, handle, selector)).encode("utf-8", "backslashreplace"))
    return base64.b32encode(made.digest()).decode().lower()[:10]
