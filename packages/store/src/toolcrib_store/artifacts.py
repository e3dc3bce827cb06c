"""Artifacts: content that is kept for whoever it belongs to, for a while and within quotas."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, exists, func, insert, select, update

from toolcrib_core import JsonObject
from toolcrib_core.wording import quoted
from toolcrib_store.blobs import add_blob, drop_unused, read_blob
from toolcrib_store.engine import Store
from toolcrib_store.errors import ArtifactNotFound, QuotaExceeded
from toolcrib_store.tables import ARTIFACTS, BLOBS

PREFIX: Final = "art_"
_HANDLE_LENGTHS = (16, 26, 52)


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


@dataclass(frozen=True, kw_only=True)
class ArtifactInfo:
    """All about an artifact but its content."""

    handle: str
    size: int
    media_type: str
    kind: str
    source: str
    """What made it: the id of a tool."""
    facts: JsonObject
    created_at: float
    expires_at: float


class Artifacts:
    """Keeps content under handles that only its owner can use.

    The same content is stored once. The same content of the same owner has the same handle, and putting it again makes
    it live anew. What has expired is gone, whatever the clock says later.
    """

    def __init__(
        self, store: Store, *, limits: ArtifactLimits | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self.limits = limits or ArtifactLimits()
        self._store = store
        self._read_clock = now
        self._latest = 0.0

    def put(
        self, content: bytes, *, owner: Owner, media_type: str, kind: str, source: str, facts: JsonObject | None = None
    ) -> ArtifactInfo:
        """Keep content; when this returns, it is on the disk.

        Raises:
            QuotaExceeded: There is no room for it.
            StoreError: The database failed, and nothing was changed.
        """
        if len(content) > self.limits.max_artifact:
            raise _over("artifact", len(content), self.limits.max_artifact)
        digest = hashlib.sha256(content).digest()
        now = self._now()
        row = {
            "session": owner.session,
            "size": len(content),
            "media_type": media_type,
            "kind": kind,
            "source": source,
            "facts": json.dumps(facts or {}, ensure_ascii=False, separators=(",", ":")),
            "created_at": now,
            "expires_at": now + self.limits.seconds,
        }
        with self._store.writing() as connection:
            _expire(connection, now)
            known = _same_content(connection, owner, digest)
            if known is None:
                self._make_sure_of_room(connection, owner, len(content), digest)
                add_blob(connection, digest, content, now=now)
                handle = _new_handle(connection, owner, digest)
                new = {"owner": owner.key, "handle": handle, "digest": digest}
                connection.execute(insert(ARTIFACTS).values(**row, **new))
            else:
                handle = known.handle
                connection.execute(update(ARTIFACTS).where(ARTIFACTS.c.id == known.id).values(**row))
            return _info(_found(connection, handle, owner, now))

    def info(self, handle: str, *, owner: Owner) -> ArtifactInfo:
        """All about an artifact but its content.

        Raises:
            ArtifactNotFound: This owner has no such artifact, or has it no longer.
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            return _info(_found(connection, handle, owner, self._now()))

    def read(self, handle: str, *, owner: Owner, start: int = 0, stop: int | None = None) -> bytes:
        """The content, or the part from `start` to before `stop`.

        Raises:
            ArtifactNotFound: As `info`.
            StoreDamaged: What is stored is not what was put.
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            row = _found(connection, handle, owner, self._now())
            end = row.size if stop is None else min(stop, row.size)
            return read_blob(connection, row.digest, max(0, start), end, name=self._store.name)

    def list(self, *, owner: Owner) -> list[ArtifactInfo]:
        """What the owner has, the newest first.

        Raises:
            StoreError: The database failed.
        """
        newest = (ARTIFACTS.c.created_at.desc(), ARTIFACTS.c.id.desc())
        own = select(ARTIFACTS).where(_is_of(owner), ARTIFACTS.c.expires_at > self._now()).order_by(*newest)
        with self._store.reading() as connection:
            return [_info(row) for row in connection.execute(own)]

    def delete(self, handle: str, *, owner: Owner) -> None:
        """Forget an artifact now.

        Raises:
            ArtifactNotFound: As `info`.
            StoreError: The database failed, and nothing was changed.
        """
        with self._store.writing() as connection:
            row = _found(connection, handle, owner, self._now())
            connection.execute(delete(ARTIFACTS).where(ARTIFACTS.c.id == row.id))
            drop_unused(connection)

    def sweep(self) -> int:
        """Forget what has expired; gives the number of artifacts.

        Raises:
            StoreError: The database failed, and nothing was changed.
        """
        with self._store.writing() as connection:
            return _expire(connection, self._now())

    def _now(self) -> float:
        """The time, which never goes back here: what has expired does not come to life again."""
        self._latest = max(self._latest, self._read_clock())
        return self._latest

    def _make_sure_of_room(self, connection: Connection, owner: Owner, size: int, digest: bytes) -> None:
        used, number = connection.execute(
            select(func.coalesce(func.sum(ARTIFACTS.c.size), 0), func.count()).where(_is_of(owner))
        ).one()
        if number >= self.limits.max_owner_count:
            raise _over("number of artifacts", number + 1, self.limits.max_owner_count)
        if used + size > self.limits.max_owner:
            raise _over("owner", used + size, self.limits.max_owner)
        if not connection.scalar(select(exists().where(BLOBS.c.digest == digest))):
            total = connection.scalar(select(func.coalesce(func.sum(BLOBS.c.size), 0))) or 0
            if total + size > self.limits.max_total:
                raise _over("store", total + size, self.limits.max_total)


def _is_of(owner: Owner) -> Any:
    return ARTIFACTS.c.owner == owner.key


def _found(connection: Connection, handle: str, owner: Owner, now: float) -> Row[Any]:
    row = connection.execute(
        select(ARTIFACTS).where(_is_of(owner), ARTIFACTS.c.handle == handle, ARTIFACTS.c.expires_at > now)
    ).one_or_none()
    if row is None:
        # One answer for all, so that nobody can find out what others have.
        raise ArtifactNotFound(
            f"No artifact has the handle {quoted(handle)}, or it has expired.",
            hint="Use a handle from a recent result, or make the call again.",
        )
    return row


def _same_content(connection: Connection, owner: Owner, digest: bytes) -> Row[Any] | None:
    return connection.execute(select(ARTIFACTS).where(_is_of(owner), ARTIFACTS.c.digest == digest)).one_or_none()


def _new_handle(connection: Connection, owner: Owner, digest: bytes) -> str:
    spelled = base64.b32encode(digest).decode().rstrip("=").lower()
    for length in _HANDLE_LENGTHS:
        handle = PREFIX + spelled[:length]
        taken = select(exists().where(_is_of(owner), ARTIFACTS.c.handle == handle))
        if not connection.scalar(taken):
            return handle
    raise AssertionError("the whole digest of other content is another one")  # pragma: no cover


def _expire(connection: Connection, now: float) -> int:
    gone: int = connection.execute(delete(ARTIFACTS).where(ARTIFACTS.c.expires_at <= now)).rowcount
    if gone:
        drop_unused(connection)
    return gone


def _info(row: Row[Any]) -> ArtifactInfo:
    return ArtifactInfo(
        handle=row.handle,
        size=row.size,
        media_type=row.media_type,
        kind=row.kind,
        source=row.source,
        facts=json.loads(row.facts),
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def _over(what: str, wanted: int, limit: int) -> QuotaExceeded:
    return QuotaExceeded(
        f"The {what} would take {wanted:,}, of at most {limit:,}.",
        hint="Ask the tool for less, or wait until earlier results have expired.",
        details={"quota": what, "wanted": wanted, "limit": limit},
    )
