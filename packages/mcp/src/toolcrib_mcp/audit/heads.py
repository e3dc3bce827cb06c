"""Where signed heads are kept: outside the files that they are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sqlalchemy import Row, select, update

from toolcrib_mcp.audit.chain import Head
from toolcrib_mcp.audit.keys import AuditKey, PublicKeys
from toolcrib_mcp.audit.registry import missing_segment, number_of_segments, register
from toolcrib_mcp.audit.tables import HEADS
from toolcrib_store import Store, upsert


@dataclass(frozen=True, kw_only=True, slots=True)
class Tombstone:
    """That the file of a segment was removed by whoever has the key, and when, in seconds since the epoch."""

    at: int
    signature: str

    @classmethod
    def signed(cls, key: AuditKey, head: Head, *, at: int) -> Tombstone:
        """The tombstone of a segment that ended with this head."""
        return cls(at=at, signature=key.sign(_message(head, at)))

    def holds(self, head: Head, keys: PublicKeys) -> bool:
        """Whether one of the keys has signed it for this head."""
        return keys.signed(_message(head, self.at), self.signature)


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptHead:
    """The last head of a segment."""

    head: Head
    tombstone: Tombstone | None = None


class Heads(Protocol):
    """Keeps the last head of every segment. A journal asks from a thread of its own."""

    def keep(self, head: Head) -> None:
        """Put the head in the place of the one before it.

        Raises:
            StoreError: It cannot be kept.
        """

    def bury(self, head: Head, tombstone: Tombstone) -> None:
        """Note that the file of a segment is about to be removed; `head` is its last.

        Raises:
            StoreError: It cannot be kept.
        """

    def newest(self) -> Head | None:
        """The head that was kept last.

        Raises:
            StoreError: They cannot be read.
        """

    def every(self) -> Mapping[str, KeptHead]:
        """All of them, by segment.

        Raises:
            StoreError: They cannot be read.
        """

    def missing(self, keys: PublicKeys) -> tuple[str, str] | None:
        """Which segment has no head although there was one, or "" for no certain one, and what is wrong; or nothing.

        Raises:
            StoreError: They cannot be read.
        """

    def number(self) -> int:
        """How many segments there were, with those that were removed.

        Raises:
            StoreError: They cannot be read.
        """


class MemoryHeads:
    """Heads that end with the process; a journal over these proves no more than that it was not changed meanwhile."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptHead] = {}
        self._newest: Head | None = None

    def keep(self, head: Head) -> None:
        """Put the head in the place of the one before it."""
        self._kept[head.segment] = KeptHead(head=head)
        self._newest = head

    def bury(self, head: Head, tombstone: Tombstone) -> None:
        """Note that the file of a segment is about to be removed."""
        self._kept[head.segment] = replace(KeptHead(head=head), tombstone=tombstone)

    def newest(self) -> Head | None:
        """The head that was kept last."""
        return self._newest

    def every(self) -> Mapping[str, KeptHead]:
        """All of them, by segment."""
        return dict(self._kept)

    def missing(self, keys: PublicKeys) -> tuple[str, str] | None:  # noqa: ARG002  # that of the protocol
        """Nothing: only this process can change them."""
        return None

    def number(self) -> int:
        """How many segments there were."""
        return len(self._kept)


class SqlHeads:
    """Heads in a store that was opened with `AUDIT_LINE`; a journal, which adds some, has the `key` and the `keys`."""

    def __init__(self, store: Store, *, key: AuditKey | None = None, keys: PublicKeys | None = None) -> None:
        self._store = store
        self._key = key
        self._keys = keys

    def keep(self, head: Head) -> None:
        """Put the head in the place of the one before it; the first one of a segment enters that in the registry."""
        row: dict[str, Any] = {**_row(head), "kept_at": self._store.now()}
        with self._store.writing() as connection:
            known = connection.scalar(select(HEADS.c.segment).where(HEADS.c.segment == head.segment))
            if known is None and self._key is not None:
                row["number"] = register(connection, head.segment, self._key, self._keys or PublicKeys([]))
            upsert(connection, HEADS, row, key=["segment"])

    def missing(self, keys: PublicKeys) -> tuple[str, str] | None:
        """What the signed registry says against the heads that are here."""
        with self._store.reading() as connection:
            return missing_segment(connection, keys)

    def number(self) -> int:
        """How many segments the registry names."""
        with self._store.reading() as connection:
            return number_of_segments(connection)

    def bury(self, head: Head, tombstone: Tombstone) -> None:
        """Note that the file of a segment is about to be removed."""
        with self._store.writing() as connection:
            upsert(connection, HEADS, {**_row(head), "kept_at": self._store.now()}, key=["segment"])
            connection.execute(
                update(HEADS)
                .where(HEADS.c.segment == head.segment)
                .values(pruned_at=tombstone.at, pruned_signature=tombstone.signature)
            )

    def newest(self) -> Head | None:
        """The head that was kept last."""
        latest = select(HEADS).order_by(HEADS.c.kept_at.desc(), HEADS.c.segment.desc()).limit(1)
        with self._store.reading() as connection:
            row = connection.execute(latest).first()
        return None if row is None else _head(row)

    def every(self) -> Mapping[str, KeptHead]:
        """All of them, by segment."""
        with self._store.reading() as connection:
            rows = connection.execute(select(HEADS).order_by(HEADS.c.segment)).all()
        return {row.segment: KeptHead(head=_head(row), tombstone=_tombstone(row)) for row in rows}


def _row(head: Head) -> dict[str, Any]:
    return {"segment": head.segment, "seq": head.seq, "hash": head.hash, "signature": head.signature}


def _head(row: Row[Any]) -> Head:
    return Head(segment=row.segment, seq=row.seq, hash=row.hash, signature=row.signature)


def _tombstone(row: Row[Any]) -> Tombstone | None:
    if row.pruned_at is None:
        return None
    return Tombstone(at=row.pruned_at, signature=row.pruned_signature or "")


def _message(head: Head, at: int) -> bytes:
    return f"toolcrib-audit-pruned-1\n{head.segment}\n{head.seq}\n{head.hash}\n{at}".encode()
