"""Opening a database: a file of SQLite, brought to the newest form, durable and safe for many processes and threads."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from sqlalchemy import Connection, Engine, create_engine, event, text

from toolcrib_store.errors import StoreUnavailable
from toolcrib_store.faults import damaged, store_errors
from toolcrib_store.migrating import migrate

BUSY_SECONDS: Final = 10.0
"""How long a writer waits for another one."""

CHECKED_BYTES: Final = 64 * 1024 * 1024
"""A file up to this size is checked from end to end when it is opened; in a larger one damage shows when it is met."""

_WRITES = "toolcrib_writes"
_RETRY_SECONDS = 0.02


class Store:
    """A database that is open. Its connections may be used from any thread, each by one at a time; close it at the end.

    Whoever is on an event loop asks for it in a thread.
    """

    def __init__(self, engine: Engine, *, name: str) -> None:
        self.name = name
        self._engine = engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one moment and changes nothing.

        Raises:
            StoreError: The database failed.
        """
        with store_errors(self.name), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection whose changes are made together at the end, or not at all when an exception leaves the block.

        Raises:
            StoreError: The database failed, and nothing was changed.
        """
        with store_errors(self.name), self._engine.connect() as plain:
            connection = plain.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(file: Path) -> Store:
    """Open a database, and bring it to the newest form; one that is not there is made, readable to its owner alone.

    Raises:
        StoreUnavailable: It cannot be made, opened or written.
        StoreDamaged: The file is no database, or is damaged; it is left as it is.
        StoreTooNew: A newer version of this package has written it.
        StoreBusy: Another process is bringing it to the newest form, and takes too long.
    """
    name = file.name
    with store_errors(name):
        _make_private(file)
        engine = create_engine(f"sqlite:///{file}", connect_args={"timeout": BUSY_SECONDS})
        _listen(engine)
        store = Store(engine, name=name)
        try:
            _use_wal(engine)
            _check(store, file)
            migrate(store.reading, store.writing, name=name)
        except BaseException:
            store.close()
            raise
    return store


def _make_private(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as failure:
        raise StoreUnavailable(
            f"The database `{file.name}` cannot be opened: {failure.strerror}.",
            hint="Check its folder, and who may write there.",
        ) from None


def _listen(engine: Engine) -> None:
    """Let us, and not the driver, say when a transaction begins: one that will write asks for that at once."""
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begin)


def _connected(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None
    for setting in (
        "synchronous=FULL",
        "foreign_keys=ON",
        f"busy_timeout={BUSY_SECONDS * 1000:.0f}",
    ):
        connection.execute(f"PRAGMA {setting}").close()


def _use_wal(engine: Engine) -> None:
    """Let readers and a writer work at the same time; the file remembers it.

    SQLite does not wait for others here, however long a connection is told to: whoever comes second tries again.
    """
    deadline = time.monotonic() + BUSY_SECONDS
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


def _begin(connection: Connection) -> None:
    writes: Any = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _check(store: Store, file: Path) -> None:
    with store.reading() as connection:
        if file.stat().st_size <= CHECKED_BYTES and connection.scalar(text("PRAGMA quick_check(1)")) != "ok":
            raise damaged(store.name)
