"""Looking into a database from outside: whether it is a store, and what is in it; nothing is changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, create_engine, inspect

from toolcrib_core.wording import quoted
from toolcrib_store.errors import StoreRefused, StoreUnavailable
from toolcrib_store.faults import store_errors
from toolcrib_store.migrating import STORE_LINE, MigrationLine, revisions_of
from toolcrib_store.postgresql_engine import is_address, name_of, postgresql_engine, read_address, reading_postgresql
from toolcrib_store.sqlite_engine import file_of

_BUSY_SECONDS = 10.0


def forms_of(target: Path | str, *, lines: Sequence[MigrationLine] = ()) -> Mapping[str, str | None]:
    """Where the lines of a database stand, by name: of this package, and those of `lines` that are in it.

    Raises:
        StoreUnavailable: There is no such database, or it cannot be opened.
        StoreRefused: It is a database, but no store.
        StoreDamaged: It is no database, or damaged.
        StoreTooNew: A newer version has written it.
    """
    with peeked(target) as (connection, name):
        tables = set(inspect(connection).get_table_names())
        if STORE_LINE.version_table not in tables:
            raise StoreRefused(
                f"The database {quoted(name)} is no store of toolcrib.", hint="Give the path of a store, or of a copy."
            )
        there = [line for line in (STORE_LINE, *lines) if line.version_table in tables]
        return revisions_of(connection, there, name=name)


@contextmanager
def peeked(target: Path | str) -> Iterator[tuple[Connection, str]]:
    """A connection to a database that is there, and the name of it for messages.

    Raises:
        StoreUnavailable: There is no such database, or it cannot be opened.
        StoreDamaged: It is no database.
    """
    if isinstance(target, str) and is_address(target):
        address = read_address(target)
        name = name_of(address)
        engine = reading_postgresql(postgresql_engine(address, busy_seconds=_BUSY_SECONDS))
    else:
        file = file_of(target)
        name = file.name
        if not file.is_file():
            raise StoreUnavailable(f"There is no database {quoted(name)}.", hint="Check the path.")
        engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(read_only(file), uri=True))
    try:
        with store_errors(name), engine.connect() as connection:
            yield connection, name
    finally:
        engine.dispose()


def read_only(file: Path) -> str:
    """How SQLite opens a file and leaves nothing beside it: without its log, if there is none."""
    way = "mode=ro" if Path(f"{file}-wal").exists() else "immutable=1"
    return f"file:{quote(str(file.resolve()))}?{way}"
