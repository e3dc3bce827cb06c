"""Artifacts: content that is kept for whoever it belongs to, for a while and within quotas."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select

from toolcrib_core import JsonObject
from toolcrib_core.wording import quoted
from toolcrib_store.blobs import drop_unused, read_blob
from toolcrib_store.engine import Store
from toolcrib_store.errors import ArtifactNotFound
from toolcrib_store.faults import damaged
from toolcrib_store.putting import ArtifactLimits, NewArtifact, Owner, TotalSize, over_quota, put_rows, seal_of
from toolcrib_store.tables import ARTIFACTS

# Built once: to build a statement takes several times as long as to execute it.
_FOUND = select(ARTIFACTS).where(
    ARTIFACTS.c.owner == bindparam("owner"),
    ARTIFACTS.c.handle == bindparam("handle"),
    ARTIFACTS.c.expires_at > bindparam("now"),
)
_EXPIRE = delete(ARTIFACTS).where(ARTIFACTS.c.expires_at <= bindparam("now"))


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
        self, store: Store, *, limits: ArtifactLimits | None = None, now: Callable[[], float] | None = None
    ) -> None:
        self.limits = limits or ArtifactLimits()
        self._store = store
        self._read_clock = now or store.now
        self._latest = 0.0
        self._total = TotalSize()

    def put(
        self, content: bytes, *, owner: Owner, media_type: str, kind: str, source: str, facts: JsonObject | None = None
    ) -> ArtifactInfo:
        """Keep content; when this returns, it is on the disk.

        Raises:
            QuotaExceeded: There is no room for it.
            StoreError: The database failed, and nothing was changed.
        """
        new = NewArtifact(content=content, media_type=media_type, kind=kind, source=source, facts=facts or {})
        return self.put_all([new], owner=owner)[0]

    def put_all(self, every: Sequence[NewArtifact], *, owner: Owner) -> list[ArtifactInfo]:
        """Keep all of these, or none of them; when this returns, they are on the disk.

        Raises:
            QuotaExceeded: There is no room for all of them.
            StoreError: The database failed, and nothing was changed.
        """
        for each in every:
            if len(each.content) > self.limits.max_artifact:
                raise over_quota("artifact", len(each.content), self.limits.max_artifact)
        now = self._now()
        digests = [each.digest for each in every]
        by_digest = dict(zip(digests, every, strict=True))
        with self._store.writing() as connection:
            _expire(connection, now)
            rows = put_rows(connection, by_digest, owner=owner, limits=self.limits, total=self._total, now=now)
        return [_info(rows[digest]) for digest in digests]

    def info(self, handle: str, *, owner: Owner) -> ArtifactInfo:
        """All about an artifact but its content.

        Raises:
            ArtifactNotFound: This owner has no such artifact, or has it no longer.
            StoreDamaged: What is stored is not what was put.
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            return self._whole(_found(connection, handle, owner, self._now()))

    def read(self, handle: str, *, owner: Owner, start: int = 0, stop: int | None = None) -> bytes:
        """The content, or the part from `start` to before `stop`.

        Raises:
            ArtifactNotFound: As `info`.
            StoreDamaged: What is stored is not what was put.
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            row = _found(connection, handle, owner, self._now())
            self._whole(row)
            end = row["size"] if stop is None else min(stop, row["size"])
            return read_blob(connection, row["digest"], max(0, start), end, name=self._store.name)

    def list(self, *, owner: Owner) -> list[ArtifactInfo]:
        """What the owner has, the newest first.

        Raises:
            StoreError: The database failed.
        """
        newest = (ARTIFACTS.c.created_at.desc(), ARTIFACTS.c.id.desc())
        own = select(ARTIFACTS).where(_is_of(owner), ARTIFACTS.c.expires_at > self._now()).order_by(*newest)
        with self._store.reading() as connection:
            rows = connection.execute(own).mappings().all()
        # One that cannot be trusted does not hide the others; whoever asks for it alone is told.
        return [_info(row) for row in rows if is_sealed(row)]

    def delete(self, handle: str, *, owner: Owner) -> None:
        """Forget an artifact now.

        Raises:
            ArtifactNotFound: As `info`.
            StoreError: The database failed, and nothing was changed.
        """
        with self._store.writing() as connection:
            row = _found(connection, handle, owner, self._now())
            connection.execute(delete(ARTIFACTS).where(ARTIFACTS.c.id == row["id"]))
            drop_unused(connection)

    def sweep(self) -> int:
        """Forget what has expired; gives the number of artifacts.

        Raises:
            StoreError: The database failed, and nothing was changed.
        """
        with self._store.writing() as connection:
            return _expire(connection, self._now())

    def _whole(self, row: Mapping[Any, Any]) -> ArtifactInfo:
        if not is_sealed(row):
            raise damaged(self._store.name)
        return _info(row)

    def _now(self) -> float:
        """The time, which never goes back here: what has expired does not come to life again."""
        self._latest = max(self._latest, self._read_clock())
        return self._latest


def is_sealed(row: Mapping[Any, Any]) -> bool:
    """Whether a row of artifacts is what was written; nothing is known of one without a seal."""
    return row["seal"] is None or row["seal"] == seal_of(row)


def _is_of(owner: Owner) -> Any:
    return ARTIFACTS.c.owner == owner.key


def _found(connection: Connection, handle: str, owner: Owner, now: float) -> Mapping[Any, Any]:
    asked = {"owner": owner.key, "handle": handle, "now": now}
    row = connection.execute(_FOUND, asked).mappings().one_or_none()
    if row is None:
        # One answer for all, so that nobody can find out what others have.
        raise ArtifactNotFound(
            f"No artifact has the handle {quoted(handle)}, or it has expired.",
            hint="Use a handle from a recent result, or make the call again.",
        )
    return row


def _expire(connection: Connection, now: float) -> int:
    gone: int = connection.execute(_EXPIRE, {"now": now}).rowcount
    if gone:
        drop_unused(connection)
    return gone


def _info(row: Mapping[Any, Any]) -> ArtifactInfo:
    facts: JsonObject = json.loads(row["facts"])
    names = ("handle", "size", "media_type", "kind", "source", "created_at", "expires_at")
    return ArtifactInfo(facts=facts, **{name: row[name] for name in names})
