"""Numbers that only ever grow, whoever writes them and whatever a clock says."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, select

from toolcrib_store.tables import MARKS
from toolcrib_store.upserting import upsert

CLOCK: Final = "clock"
"""How late it has been when somebody last cleaned up."""

APPROVALS: Final = "approvals-forgotten-until"
"""No approval that expired until then is remembered."""

_VALUE: Final = select(MARKS.c.value).where(MARKS.c.name == bindparam("name"))


def read_mark(connection: Connection, name: str) -> float:
    """Where a mark stands; before everything if it was never set."""
    found: float | None = connection.scalar(_VALUE, {"name": name})
    return float("-inf") if found is None else found


def raise_mark(connection: Connection, name: str, value: float) -> None:
    """Set a mark, unless it stands higher already."""
    if value > read_mark(connection, name):
        upsert(connection, MARKS, {"name": name, "value": value}, key=["name"])
