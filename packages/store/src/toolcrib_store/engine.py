"""Opening a database: SQLite in a file, or PostgreSQL by its address, brought to the newest form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

from sqlalchemy import Connection

from toolcrib_store.clock import SYSTEM_CLOCK, Clock
from toolcrib_store.faults import busy, commit, store_errors
from toolcrib_store.lending import Lender, Loan, PooledConnections
from toolcrib_store.marks import CLOCK, read_mark
from toolcrib_store.migrating import STORE_LINE, MigrationLine, migrate
from toolcrib_store.postgresql_engine import is_address, name_of, postgresql_engine, read_address, reading_postgresql
from toolcrib_store.sqlite_engine import check_quickly, file_of, sqlite_engine, sqlite_readers, sqlite_writer, use_wal

BUSY_SECONDS: Final = 10.0
"""How long a writer waits for another one, unless somebody says otherwise."""

_BELIEVED_SECONDS = 86_400.0


class Store:
    """A database that is open. Its connections may be used from any thread, each by one at a time; close it at the end.

    Whoever is on an event loop asks for it in a thread. There is one writer at a time, in all processes together.
    """

    def __init__(
        self,
        *,
        name: str,
        readers: Lender,
        writer: Lender,
        lines: Sequence[MigrationLine],
        clock: Clock,
        busy_seconds: float,
        file: Path | None,
    ) -> None:
        self.name = name
        """What it is called in messages; never more than the name of the file, or the host and database."""
        self.file = file
        """Where it lies, or None for PostgreSQL."""
        self.lines = tuple(lines)
        """The lines of migrations that it was opened with, ours first."""
        self.closed = False
        """Whether nobody should use it any more."""
        self._readers = readers
        self._writer = writer
        self._errors = store_errors(name)
        self._clock = clock
        self._latest = float("-inf")
        self._reading_clock = Lock()
        self._busy_seconds = busy_seconds
        # Threads take turns in the order in which they came; SQLite alone would let the lucky one go first.
        self._turn = Lock()

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    @property
    def dialect(self) -> str:
        """Which database it is: `sqlite` or `postgresql`."""
        return self._readers.engine.dialect.name

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one moment and changes nothing.

        Raises:
            StoreError: The database failed.
        """
        with self._errors, Loan(self._readers) as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection whose changes are made together at the end, or not at all when an exception leaves the block.

        Nobody else writes meanwhile: what was read in the block is true until its end.

        Raises:
            StoreOutcomeUnknown: The connection was lost while the changes were being made.
            StoreError: The database failed, and nothing was changed.
        """
        if not self._turn.acquire(timeout=self._busy_seconds):
            raise busy(self.name)
        try:
            with self._errors, Loan(self._writer) as connection, connection.begin() as transaction:
                yield connection
                commit(transaction, name=self.name)
        finally:
            self._turn.release()

    def now(self) -> float:
        """Seconds since the epoch, which never go back here: what has expired does not come to life again."""
        with self._reading_clock:
            self._latest = max(self._latest, self._clock.now())
            return self._latest

    def start_clock(self) -> None:
        """Go on from how late it has been when the database was last cleaned up.

        If that is more than a day ahead, the clock was wrong then, and not now.

        Raises:
            StoreError: The database failed.
        """
        with self.reading() as connection:
            mark = read_mark(connection, CLOCK)
        if mark - self._clock.now() <= _BELIEVED_SECONDS:
            self._latest = mark

    def close(self) -> None:
        """Let go of the database."""
        self.closed = True
        self._readers.close()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(
    target: Path | str,
    *,
    lines: Sequence[MigrationLine] = (),
    clock: Clock = SYSTEM_CLOCK,
    busy_seconds: float = BUSY_SECONDS,
) -> Store:
    """Open a database, and bring it to the newest form.

    A path is a file of SQLite, which is made if it is not there, readable to its owner alone. A text is a path too,
    unless it begins with `postgresql://`: then it is the address of a database that is there. `lines` are the
    migrations of the packages that keep their tables in it beside ours.

    Raises:
        StoreUnavailable: It cannot be made, opened or written, or its driver is not installed.
        StoreDamaged: The file is no database, or is damaged; it is left as it is.
        StoreTooNew: A newer version has written it.
        StoreBusy: Another process is bringing it to the newest form, and takes too long.
    """
    every = (STORE_LINE, *lines)
    if isinstance(target, str) and is_address(target):
        address = read_address(target)
        engine = postgresql_engine(address, busy_seconds=busy_seconds)
        name, file = name_of(address), None
        readers: Lender = PooledConnections(reading_postgresql(engine))
        writer: Lender = PooledConnections(engine)
    else:
        file = file_of(target)
        engine = sqlite_engine(file, busy_seconds=busy_seconds)
        name, readers, writer = file.name, sqlite_readers(engine), sqlite_writer(engine)
    store = Store(
        name=name, readers=readers, writer=writer, lines=every, clock=clock, busy_seconds=busy_seconds, file=file
    )
    try:
        with store_errors(name):
            if file is not None:
                use_wal(engine, busy_seconds=busy_seconds)
                with store.reading() as connection:
                    check_quickly(connection, file)
            migrate(store.reading, store.writing, every, name=name)
            store.start_clock()
    except BaseException:
        store.close()
        raise
    return store
