"""`Notes`: small things that one replica writes down and any other reads, each until its time is over."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, tuple_, update

from toolcrib_mcp.shared.tables import NOTES

if TYPE_CHECKING:
    from toolcrib_store import Store

_HALF: Final = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """What was written down."""

    content: bytes
    version: int
    """How often it was changed."""
    expires_at: float | None = None


class Notes:
    """The notes of one kind, in a store that was opened with `SHARED_LINE`. Whoever is on a loop asks in a thread."""

    def __init__(self, store: Store, *, kind: str) -> None:
        self._store = store
        self._kind = kind

    def now(self) -> float:
        """Seconds since the epoch, as the database counts them."""
        return self._store.now()

    def read(self, owner: str, key: str = "") -> Note | None:
        """One note, unless its time is over.

        Raises:
            StoreError: The database failed.
        """
        return self.every(owner, [key]).get(key)

    def every(self, owner: str, keys: Collection[str] | None = None) -> dict[str, Note]:
        """All notes of an owner, or those of them that are called so, by what they are called.

        Raises:
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            return self._alive(connection, owner, keys)

    def add(
        self, owner: str, contents: Mapping[str, bytes], *, seconds: float | None = None
    ) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Write down what is not there yet; gives what was there before, and what was added.

        What was there stays as it is, for as long again when half of its time is over.

        Raises:
            StoreError: The database failed.
        """
        known = self.every(owner, contents)
        if len(known) < len(contents) or any(self._is_due(each, seconds) for each in known.values()):
            with self._store.writing() as connection:
                # Another replica may have been quicker: the first one's count.
                known = self._alive(connection, owner, contents)
                self._write(connection, owner, contents, known, seconds)
        before = {key: each.content for key, each in known.items()}
        return before, {key: content for key, content in contents.items() if key not in known}

    def change(self, owner: str, content: bytes, *, seconds: float | None = None, key: str = "") -> int | None:
        """Put this in the place of a note; gives its version, or `None` where there is none to change.

        Raises:
            StoreError: The database failed.
        """
        with self._store.writing() as connection:
            found = self._alive(connection, owner, [key]).get(key)
            if found is None:
                return None
            values = {"content": content, "version": found.version + 1, "expires_at": self._until(seconds)}
            connection.execute(update(NOTES).where(self._of(owner, [key])).values(**values))
            return found.version + 1

    def extend(self, owner: str, *, seconds: float, key: str = "") -> None:
        """Keep a note for so long from now on.

        Raises:
            StoreError: The database failed.
        """
        with self._store.writing() as connection:
            connection.execute(update(NOTES).where(self._of(owner, [key])).values(expires_at=self._until(seconds)))

    def take(self, owner: str, key: str = "") -> bytes | None:
        """A note that is gone afterwards: of all that take it, one gets it.

        Raises:
            StoreError: The database failed.
        """
        with self._store.writing() as connection:
            found = self._alive(connection, owner, [key]).get(key)
            connection.execute(delete(NOTES).where(self._of(owner, [key])))
        return None if found is None else found.content

    def drop(self, owner: str) -> None:
        """Forget all notes of an owner.

        Raises:
            StoreError: The database failed.
        """
        with self._store.writing() as connection:
            connection.execute(delete(NOTES).where(self._of(owner, None)))

    def count(self, owner: str) -> int:
        """How many notes of an owner there are.

        Raises:
            StoreError: The database failed.
        """
        with self._store.reading() as connection:
            return connection.scalar(select(func.count()).select_from(NOTES).where(self._of(owner, None))) or 0

    def _write(
        self,
        connection: Connection,
        owner: str,
        contents: Mapping[str, bytes],
        known: Mapping[str, Note],
        seconds: float | None,
    ) -> None:
        due = [key for key, each in known.items() if self._is_due(each, seconds)]
        if due:
            connection.execute(update(NOTES).where(self._of(owner, due)).values(expires_at=self._until(seconds)))
        new = [key for key in contents if key not in known]
        if new:
            # One whose time is over may still be there.
            connection.execute(delete(NOTES).where(self._of(owner, new)))
            row = {"kind": self._kind, "owner": owner, "version": 1, "expires_at": self._until(seconds)}
            connection.execute(insert(NOTES), [{**row, "key": key, "content": contents[key]} for key in new])

    def _alive(self, connection: Connection, owner: str, keys: Collection[str] | None) -> dict[str, Note]:
        is_alive = or_(NOTES.c.expires_at.is_(None), NOTES.c.expires_at > self._store.now())
        rows = connection.execute(select(NOTES).where(self._of(owner, keys), is_alive).order_by(NOTES.c.key))
        return {row.key: Note(content=row.content, version=row.version, expires_at=row.expires_at) for row in rows}

    def _of(self, owner: str, keys: Collection[str] | None) -> ColumnElement[Any]:
        theirs = and_(NOTES.c.kind == self._kind, NOTES.c.owner == owner)
        return theirs if keys is None else and_(theirs, NOTES.c.key.in_(keys))

    def _until(self, seconds: float | None) -> float | None:
        return None if seconds is None else self._store.now() + seconds

    def _is_due(self, note: Note, seconds: float | None) -> bool:
        if seconds is None or note.expires_at is None:
            return False
        return note.expires_at - self._store.now() < seconds * _HALF


def forget_notes(connection: Connection, now: float, limit: int) -> int:
    """Forget up to so many notes whose time is over; gives how many. A sweep for `sweep_store`."""
    place = (NOTES.c.kind, NOTES.c.owner, NOTES.c.key)
    old = select(*place).where(NOTES.c.expires_at <= now).order_by(NOTES.c.expires_at).limit(limit)
    return connection.execute(delete(NOTES).where(tuple_(*place).in_(old))).rowcount
