"""SQLite: a file for its owner alone, durable, and safe for many processes and threads."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, text

from toolcrib_store.errors import StoreUnavailable
from toolcrib_store.faults import damaged

CHECKED_BYTES: Final = 64 * 1024 * 1024
"""A file up to this size is checked from end to end when it is opened; in a larger one damage shows when it is met."""

_WRITES = "toolcrib_writes"
_RETRY_SECONDS = 0.02


def file_of(target: Path | str) -> Path:
    """The file that is meant by a path, or by a text.

    Raises:
        StoreUnavailable: The text is an address of a database that is not known here.
    """
    if isinstance(target, str) and "://" in target:
        raise StoreUnavailable(
            "The database has an address of a kind that is not known here.",
            hint="Give the path of a file, or an address that begins with `postgresql://`.",
        )
    return Path(target)


def sqlite_engine(file: Path, *, busy_seconds: float) -> Engine:
    """An engine for a file, which is made if it is not there.

    Raises:
        StoreUnavailable: The file cannot be made or opened.
    """
    _make_private(file)
    engine = create_engine(
        URL.create("sqlite", database=str(file)),
        connect_args={"timeout": busy_seconds},
        hide_parameters=True,
        # Every transaction is ended where it was begun; a second rollback would be work for nothing.
        pool_reset_on_return=None,
    )
    # We, and not the driver, say when a transaction begins: one that will write asks for that at once.
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begin)
    return engine


def writing_sqlite(engine: Engine) -> Engine:
    """The engine whose transactions have the right to write from their beginning."""
    return engine.execution_options(**{_WRITES: True})


def use_wal(engine: Engine, *, busy_seconds: float) -> None:
    """Let readers and a writer work at the same time; the file remembers it.

    SQLite does not wait for others here, however long a connection is told to: whoever comes second tries again.
    """
    deadline = time.monotonic() + busy_seconds
    connection = engine.raw_connection()
    try:
        while True:
            try:
                connection.cursor().execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as failure:
                if failure.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return
    finally:
        connection.close()


def check_quickly(connection: Connection, file: Path) -> None:
    """Look for damage, in a file that is not too large for that.

    Raises:
        StoreDamaged: There is some.
    """
    if file.stat().st_size <= CHECKED_BYTES and connection.scalar(text("PRAGMA quick_check(1)")) != "ok":
        raise damaged(file.name)


def _make_private(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as failure:
        raise StoreUnavailable(
            f"The database `{file.name}` cannot be opened: {failure.strerror}.",
            hint="Check its folder, and who may write there.",
        ) from None


def _connected(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None
    for setting in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}").close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES)
    # Straight to the driver: all that SQLAlchemy does for a statement would cost more than the statement.
    driver: Any = connection.connection.driver_connection
    driver.execute("BEGIN IMMEDIATE" if writes else "BEGIN").close()
