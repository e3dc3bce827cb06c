"""The registry of segments: one signed row that says how many there were, and which.

A head that is removed together with its segment leaves a gap here, which cannot be closed without the key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, select

from toolcrib_mcp.audit.keys import AuditKey, PublicKeys
from toolcrib_mcp.audit.tables import HEADS, REGISTRY
from toolcrib_store import upsert

_ROW: Final = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """How many segments there were, and the newest of them."""

    number: int
    digest: str
    """Of all their names, in the order in which they were begun."""
    newest: str
    signature: str

    def holds(self, keys: PublicKeys) -> bool:
        """Whether one of the keys has signed it."""
        return keys.signed(_message(self.number, self.digest, self.newest), self.signature)


def register(connection: Connection, segment: str, key: AuditKey, keys: PublicKeys) -> int | None:
    """Enter a new segment, in the transaction that keeps its first head; gives its number.

    What was changed without the key is not signed anew: it gives `None`, and stays as it is for `verify` to find.
    """
    before = _row(connection)
    known = connection.scalars(select(HEADS.c.segment).limit(1)).first() is not None
    if (before is None and known) or (before is not None and not before.holds(keys)):
        return None
    number = 1 if before is None else before.number + 1
    digest = _digest("" if before is None else before.digest, segment)
    row = {"id": _ROW, "number": number, "digest": digest, "newest": segment}
    row["signature"] = key.sign(_message(number, digest, segment))
    upsert(connection, REGISTRY, row, key=["id"])
    return number


def missing_segment(connection: Connection, keys: PublicKeys) -> tuple[str, str] | None:
    """What the registry says against the heads: the segment that is meant, or "", and how it goes on; or nothing."""
    found = _row(connection)
    rows = connection.execute(select(HEADS.c.segment, HEADS.c.number).order_by(HEADS.c.number)).all()
    if found is None:
        return ("", "The registry of segments is gone from the database.") if rows else None
    if not found.holds(keys):
        return "", "The registry of segments is not what the key has signed."
    numbered = [row.segment for row in rows if row.number is not None]
    if len(numbered) == len(rows) == found.number and _digest_of(numbered) == found.digest:
        return None
    if found.newest not in {row.segment for row in rows}:
        return found.newest, "has lost its head: the registry names it as the newest"
    have = f"{found.number} segments, and there are heads of {len(rows)}"
    return "", f"The registry and the heads do not agree: it names {have}."


def number_of_segments(connection: Connection) -> int:
    """How many segments the registry names."""
    found = _row(connection)
    return 0 if found is None else found.number


def _row(connection: Connection) -> Registered | None:
    row: Any = connection.execute(select(REGISTRY)).one_or_none()
    if row is None:
        return None
    return Registered(number=row.number, digest=row.digest, newest=row.newest, signature=row.signature)


def _digest(before: str, segment: str) -> str:
    return hashlib.sha256(f"{before}\n{segment}".encode()).hexdigest()


def _digest_of(segments: Iterable[str]) -> str:
    digest = ""
    for segment in segments:
        digest = _digest(digest, segment)
    return digest


def _message(number: int, digest: str, newest: str) -> bytes:
    return f"toolcrib-audit-registry-1\n{number}\n{digest}\n{newest}".encode()
