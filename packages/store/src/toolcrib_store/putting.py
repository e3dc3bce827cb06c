"""Putting artifacts, any number at once: a statement costs more than the row it writes, so there are few of them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, func, insert, select, update

from toolcrib_core import JsonObject
from toolcrib_store.blobs import add_blobs
from toolcrib_store.errors import QuotaExceeded
from toolcrib_store.seals import seal
from toolcrib_store.tables import ARTIFACTS, BLOBS

PREFIX: Final = "art_"

_SEALED = "owner handle session digest size media_type kind source facts created_at expires_at".split()
_HANDLE_LENGTHS = (16, 26, 52)
# How many values one statement asks about; every database takes so many.
_AT_ONCE = 500

# Built once: to build a statement takes several times as long as to execute it.
_OF_DIGEST = select(ARTIFACTS.c.digest, ARTIFACTS.c.id, ARTIFACTS.c.owner, ARTIFACTS.c.handle).where(
    ARTIFACTS.c.digest.in_(bindparam("values", expanding=True))
)
_OF_HANDLE = select(ARTIFACTS.c.handle).where(
    ARTIFACTS.c.owner == bindparam("owner"), ARTIFACTS.c.handle.in_(bindparam("values", expanding=True))
)
_STORED = select(BLOBS.c.digest).where(BLOBS.c.digest.in_(bindparam("values", expanding=True)))
_USED = select(func.coalesce(func.sum(ARTIFACTS.c.size), 0), func.count()).where(
    ARTIFACTS.c.owner == bindparam("owner")
)
_TOTAL = select(func.coalesce(func.sum(BLOBS.c.size), 0))
_ADD = insert(ARTIFACTS)
_RENEW = update(ARTIFACTS).where(ARTIFACTS.c.id == bindparam("row_id"))


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Whose an artifact is: a principal's, in whatever session; and where nobody knows who it is, the session's."""

    principal: str | None = None
    session: str = ""

    @property
    def key(self) -> str:
        """What rows are found by; no principal can be spelled like a session."""
        return f"s:{self.session}" if self.principal is None else f"p:{self.principal}"


@dataclass(frozen=True, kw_only=True)
class ArtifactLimits:
    """How long artifacts live and how much room they take; sizes in bytes."""

    seconds: float = 24 * 3600.0
    max_artifact: int = 64 * 1024 * 1024
    max_owner: int = 256 * 1024 * 1024
    max_owner_count: int = 10_000
    max_total: int = 4 * 1024 * 1024 * 1024
    """Of all content, each once. Where several processes put at once, it is kept within a hundredth by each."""


@dataclass(frozen=True, kw_only=True)
class NewArtifact:
    """Content to be kept, and what is said about it."""

    content: bytes
    media_type: str
    kind: str
    source: str
    """What made it: the id of a tool."""
    facts: JsonObject = field(default_factory=dict)

    @property
    def digest(self) -> bytes:
        """What content is known by."""
        return hashlib.sha256(self.content).digest()

    def row(self, owner: Owner, *, now: float, seconds: float) -> dict[str, Any]:
        """All but the handle and whose it is."""
        return {
            "session": _storable(owner.session),
            "size": len(self.content),
            "media_type": _storable(self.media_type),
            "kind": _storable(self.kind),
            "source": _storable(self.source),
            # In ASCII, for there may be halves of characters in it, which no database takes.
            "facts": json.dumps(self.facts, separators=(",", ":")),
            "created_at": float(now),
            "expires_at": float(now + seconds),
        }


class TotalSize:
    """How much room all content takes, as far as is known here.

    Counting takes longer the more there is; so it is done when what was known last, and what was put here since, would
    be too much, or when that is a hundredth of what there may be. Ask it only inside a block that writes.
    """

    def __init__(self) -> None:
        self._counted = 0
        self._since: float = float("inf")

    def make_sure_of_room(self, connection: Connection, size: int, *, limit: int) -> None:
        """Refuse content of this size if there is no room for it.

        Raises:
            QuotaExceeded: There is none.
        """
        self._since += size
        if self._since <= limit // 100 and self._counted + self._since <= limit:
            return
        self._counted, self._since = connection.scalar(_TOTAL) or 0, size
        if self._counted + size > limit:
            raise over_quota("store", self._counted + size, limit)


def put_rows(
    connection: Connection,
    every: Mapping[bytes, NewArtifact],
    *,
    owner: Owner,
    limits: ArtifactLimits,
    total: TotalSize,
    now: float,
) -> dict[bytes, dict[str, Any]]:
    """Keep these, by digest, and give their rows; what the owner has already is renewed, under its handle.

    Raises:
        QuotaExceeded: There is no room for all of them.
    """
    rows = {digest: new.row(owner, now=now, seconds=limits.seconds) for digest, new in every.items()}
    # Asked by digest alone: few owners share content, and a database would rather go through all that one owner has.
    known = {row.digest: row for row in _asked(connection, _OF_DIGEST, rows) if row.owner == owner.key}
    new = {digest: each.content for digest, each in every.items() if digest not in known}
    stored = {row.digest for row in _asked(connection, _STORED, new)}
    unstored = {digest: content for digest, content in new.items() if digest not in stored}
    if new:
        _make_sure_of_room(connection, owner, limits, new=new)
    if unstored:
        total.make_sure_of_room(connection, sum(map(len, unstored.values())), limit=limits.max_total)
    handles = {digest: row.handle for digest, row in known.items()}
    if new:
        add_blobs(connection, unstored, now=now)
        handles |= _new_handles(connection, owner, list(new))
    for digest, row in rows.items():
        row.update(owner=owner.key, handle=handles[digest], digest=digest)
        row["seal"] = seal_of(row)
    if known:
        connection.execute(_RENEW, [{**rows[digest], "row_id": row.id} for digest, row in known.items()])
    if new:
        connection.execute(_ADD, [rows[each] for each in new])
    return rows


def seal_of(row: Mapping[Any, Any]) -> bytes:
    """The checksum of a row of artifacts."""
    return seal(*(row[name] for name in _SEALED))


def over_quota(what: str, wanted: int, limit: int) -> QuotaExceeded:
    """What is raised when there is no room."""
    return QuotaExceeded(
        f"The {what} would take {wanted:,}, of at most {limit:,}.",
        hint="Ask the tool for less, or wait until earlier results have expired.",
        details={"quota": what, "wanted": wanted, "limit": limit},
    )


def _make_sure_of_room(
    connection: Connection, owner: Owner, limits: ArtifactLimits, *, new: Mapping[bytes, bytes]
) -> None:
    used, number = connection.execute(_USED, {"owner": owner.key}).one()
    if number + len(new) > limits.max_owner_count:
        raise over_quota("number of artifacts", number + len(new), limits.max_owner_count)
    used += sum(map(len, new.values()))
    if used > limits.max_owner:
        raise over_quota("owner", used, limits.max_owner)


def _new_handles(connection: Connection, owner: Owner, digests: Sequence[bytes]) -> dict[bytes, str]:
    handles: dict[bytes, str] = {}
    open_digests = list(digests)
    for length in _HANDLE_LENGTHS:
        wanted = {digest: _handle(digest, length) for digest in open_digests}
        asked = _asked(connection, _OF_HANDLE, wanted.values(), owner=owner.key)
        taken = {row.handle for row in asked} | set(handles.values())
        for digest, handle in wanted.items():
            if handle not in taken:
                handles[digest] = handle
                taken.add(handle)
        open_digests = [each for each in open_digests if each not in handles]
    return handles


def _storable(text: str) -> str:
    """Text from elsewhere without what databases refuse: halves of characters and, in PostgreSQL, NUL."""
    return text.encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _handle(digest: bytes, length: int) -> str:
    return PREFIX + base64.b32encode(digest).decode().rstrip("=").lower()[:length]


def _asked(connection: Connection, statement: Select[Any], values: Iterable[object], **more: str) -> Iterator[Any]:
    """The rows that fit one of the values."""
    every = list(values)
    for start in range(0, len(every), _AT_ONCE):
        yield from connection.execute(statement, {"values": every[start : start + _AT_ONCE], **more})
