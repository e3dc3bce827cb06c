"""Looking through a whole store: the files, every row, every byte that is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlalchemy import Column, Connection, Table, inspect, select, text
from sqlalchemy.exc import SQLAlchemyError

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_store.artifacts import is_sealed
from toolcrib_store.blobs import is_whole
from toolcrib_store.calls import Call
from toolcrib_store.engine import Store
from toolcrib_store.migrating import revisions_of
from toolcrib_store.quarantining import Unreadable, quarantine
from toolcrib_store.tables import ARTIFACTS, BLOBS, CALLS, CHUNKS, QUARANTINE

Check: TypeAlias = Callable[[Connection], Iterable[Unreadable]]
"""Looks through the rows of a package and gives those that it cannot read."""

_MAX_FINDINGS = 100
_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class StoreReport:
    """What a look through a store has shown."""

    name: str
    dialect: str
    revisions: Mapping[str, str | None]
    """Where each line of migrations stands."""
    rows: Mapping[str, int]
    """How much there is, by table."""
    problems: Sequence[str]
    """What is wrong, in a sentence each."""
    quarantined: int
    """How many rows are in quarantine, with those that were moved just now."""
    moved: int = 0
    """How many rows were moved into quarantine just now."""

    @property
    def ok(self) -> bool:
        """Whether everything is what was written."""
        return not self.problems


@dataclass
class _Findings:
    problems: list[str] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)

    def add(self, found: Unreadable) -> None:
        self.unreadable.append(found)
        self.problems.append(f"In `{found.table.name}`: {found.what}")


def check_store(store: Store, *, more: Iterable[Check] = (), move: bool = False) -> StoreReport:
    """Look at everything in a store.

    With `move`, rows that cannot be read are moved into quarantine, so that the rest works; nothing is deleted.
    `more` are the checks of packages that keep their tables in the store.

    Raises:
        StoreError: The database failed so that not even its damage can be told.
    """
    findings = _Findings()
    with store.reading() as connection:
        findings.problems.extend(_damage(connection))
        if not findings.problems:
            for check in (_check_artifacts, _check_content, _check_calls, *more):
                for found in check(connection):
                    findings.add(found)
    moved = _move(store, findings.unreadable) if move else 0
    with store.reading() as connection:
        rows = _counted(connection)
        return StoreReport(
            name=store.name,
            dialect=store.dialect,
            revisions=revisions_of(connection, store.lines, name=store.name),
            rows=rows,
            problems=_shortened(findings.problems),
            quarantined=rows.get(QUARANTINE.name, 0),
            moved=moved,
        )


def wrong_rows(
    connection: Connection, table: Table, key: Column[Any], *, is_right: Callable[[Mapping[Any, Any]], bool]
) -> Iterator[Unreadable]:
    """The rows of a table that cannot be read, or of which `is_right` says or raises that they are not what they were.

    For the checks of packages that keep their tables in the store; `key` is the primary key.
    """
    for value in _keys(connection, key):
        own = key == value
        try:
            right = is_right(connection.execute(select(table).where(own)).mappings().one())
        except (SQLAlchemyError, ToolError, ValueError, TypeError, LookupError, RecursionError):
            right = False
        if not right:
            yield Unreadable(table=table, where=own, what=f"Row {quoted(str(value))} cannot be read.")


def _damage(connection: Connection) -> Iterator[str]:
    """What the database itself finds wrong; PostgreSQL leaves that to `pg_amcheck`."""
    if connection.dialect.name != "sqlite":
        return
    for (line,) in connection.execute(text(f"PRAGMA integrity_check({_MAX_FINDINGS})")):
        if line != "ok":
            yield f"The file is damaged: {line}."
    for row in connection.execute(text("PRAGMA foreign_key_check")):
        yield f"A row of `{row[0]}` belongs to a row of `{row[2]}` that is not there."


def _check_artifacts(connection: Connection) -> Iterator[Unreadable]:
    return wrong_rows(connection, ARTIFACTS, ARTIFACTS.c.id, is_right=_is_artifact)


def _is_artifact(row: Mapping[Any, Any]) -> bool:
    return is_sealed(row) and isinstance(json.loads(row["facts"]), dict)


def _check_calls(connection: Connection) -> Iterator[Unreadable]:
    return wrong_rows(connection, CALLS, CALLS.c.key, is_right=lambda row: Call.of(row).is_whole)


def _keys(connection: Connection, key: Column[Any]) -> Iterator[Any]:
    page = connection.scalars(select(key).order_by(key).limit(_PAGE)).all()
    while page:
        yield from page
        page = connection.scalars(select(key).where(key > page[-1]).order_by(key).limit(_PAGE)).all()


def _check_content(connection: Connection) -> Iterator[Unreadable]:
    for digest in _keys(connection, BLOBS.c.digest):
        if not _is_content(connection, digest):
            what = f"Content `{digest.hex()[:12]}` is not what was put."
            # What belongs to a blob goes first, for nothing may belong to a row that is not there.
            for table in (ARTIFACTS, CHUNKS, BLOBS):
                yield Unreadable(table=table, where=table.c.digest == digest, what=what)


def _is_content(connection: Connection, digest: bytes) -> bool:
    size = connection.scalar(select(BLOBS.c.size).where(BLOBS.c.digest == digest))
    pieces = select(CHUNKS.c.content, CHUNKS.c.sha256).where(CHUNKS.c.digest == digest).order_by(CHUNKS.c.number)
    whole, length = hashlib.sha256(), 0
    try:
        for content, sha256 in connection.execute(pieces):
            if not is_whole(content, sha256):
                return False
            whole.update(content)
            length += len(content)
    except TypeError:
        return False
    return length == size and whole.digest() == digest


def _move(store: Store, unreadable: Iterable[Unreadable]) -> int:
    with store.writing() as connection:
        now = store.now()
        return sum(quarantine(connection, each, now=now) for each in unreadable)


def _counted(connection: Connection) -> dict[str, int]:
    names = sorted(inspect(connection).get_table_names())
    quote = connection.dialect.identifier_preparer.quote
    return {
        name: connection.scalar(text(f"SELECT count(*) FROM {quote(name)}")) or 0  # noqa: S608  # a table of this database, quoted
        for name in names
        if not name.endswith("_version")
    }


def _shortened(problems: Sequence[str]) -> tuple[str, ...]:
    shown = tuple(problems[:_MAX_FINDINGS])
    return (*shown, f"And {len(problems) - _MAX_FINDINGS:,} more.") if len(problems) > _MAX_FINDINGS else shown
