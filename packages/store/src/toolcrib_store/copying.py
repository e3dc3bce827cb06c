"""Copies of a store: made while it is in use, and put back only when they are sound."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import text

from toolcrib_core.wording import quoted
from toolcrib_store.engine import Store
from toolcrib_store.errors import StoreError, StoreRefused, StoreUnavailable
from toolcrib_store.faults import busy, damaged, store_errors
from toolcrib_store.migrating import MigrationLine
from toolcrib_store.peeking import forms_of, peeked, read_only


def back_up(store: Store, file: Path, *, replace: bool = False) -> int:
    """Copy a store to a file, as it is at one moment; gives the bytes of the copy.

    Others may go on reading and writing. The file is there when the copy is whole and checked, or not at all.

    Raises:
        StoreRefused: The store is in PostgreSQL, or the file is there already and `replace` is not set.
        StoreUnavailable: The file cannot be written.
        StoreError: The database failed.
    """
    if store.file is None:
        raise StoreRefused(
            f"The database {quoted(store.name)} is in PostgreSQL, which makes its own copies.",
            hint="Use `pg_dump`, and `pg_restore` to put the copy back.",
        )
    if file.exists() and (not replace or _same(file, store.file)):
        raise StoreRefused(
            f"There is a file {quoted(file.name)} already.", hint="Choose another name, or ask for it to be replaced."
        )
    with _new_file(file) as new:
        with store.reading() as connection:
            driver: Any = connection.connection.driver_connection
            _copy(driver, new, name=store.name)
        size = new.stat().st_size
        new.replace(file)
    return size


def restore(copy: Path, target: Path, *, lines: Sequence[MigrationLine] = ()) -> Path | None:
    """Put a copy in the place of a store that nobody uses; gives where the old one is kept, if there was one.

    The copy is checked from end to end before anything is touched. The old file stays beside the new one.

    Raises:
        StoreRefused: The copy is no store.
        StoreDamaged: The copy is damaged.
        StoreTooNew: A newer version has written the copy.
        StoreBusy: Somebody uses the store.
        StoreUnavailable: The files cannot be read or written.
    """
    _check_copy(copy, lines=lines)
    # What a link points to is replaced, and not the link.
    target = target.resolve()
    with _new_file(target) as new:
        with closing(sqlite3.connect(read_only(copy), uri=True)) as there:
            _copy(there, new, name=copy.name)
        try:
            kept = _keep(target) if target.exists() else None
            new.replace(target)
        except OSError as failure:
            raise _unwritten(target, failure) from None
    return kept


def _keep(target: Path) -> Path:
    """Keep a store under another name, too, so that there is a whole file under its own at every moment."""
    kept = _free_name(target)
    log, kept_log = (Path(f"{each}-wal") for each in (target, kept))
    # First of all, for SQLite removes the log of a file that it cannot read.
    with contextlib.suppress(FileNotFoundError):
        os.link(log, kept_log)
    try:
        sound = _make_alone(target)
    except StoreError:
        kept_log.unlink(missing_ok=True)
        raise
    if sound:
        # All of it is in the file now.
        kept_log.unlink(missing_ok=True)
    os.link(target, kept)
    for ending in ("-wal", "-shm"):
        Path(f"{target}{ending}").unlink(missing_ok=True)
    return kept


def _check_copy(copy: Path, *, lines: Sequence[MigrationLine]) -> None:
    with peeked(copy) as (connection, name):
        if connection.scalar(text("PRAGMA integrity_check(1)")) != "ok":
            raise damaged(name)
    forms_of(copy, lines=lines)


def _copy(there: sqlite3.Connection, new: Path, *, name: str) -> None:
    """Copy a database in one step, so that no writer in between makes it begin again, and check what came out."""
    with store_errors(name), closing(sqlite3.connect(new)) as here:
        there.backup(here)
        # The copy is one file, with nothing beside it.
        here.execute("PRAGMA journal_mode=DELETE").close()
        if here.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise damaged(name)
    with new.open("rb") as written:
        os.fsync(written.fileno())


@contextmanager
def _new_file(file: Path) -> Iterator[Path]:
    """A file beside `file` to write to and then put in its place; it is gone at the end, and the folder is synced."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".new", dir=file.parent)
    except OSError as failure:
        raise _unwritten(file, failure) from None
    os.close(handle)
    new = Path(name)
    try:
        yield new
        folder = os.open(file.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        for each in (new, Path(f"{new}-journal")):
            each.unlink(missing_ok=True)


def _make_alone(target: Path) -> bool:
    """Make sure that nobody has the store open, and that all of it is in its file; False if it is damaged.

    Only the last connection may leave the mode in which the database works.
    """
    try:
        with closing(sqlite3.connect(target, timeout=0, isolation_level=None)) as connection:
            for statement in ("PRAGMA journal_mode=DELETE", "BEGIN EXCLUSIVE", "ROLLBACK"):
                connection.execute(statement).close()
    except sqlite3.DatabaseError as failure:
        if failure.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise busy(target.name, hint="Stop whatever uses it, and try again.") from None
        return False
    return True


def _free_name(target: Path) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    names = (f"{target.name}.before-{stamp}{ending}" for ending in ("", *(f"-{number}" for number in range(2, 1000))))
    return next(free for free in map(target.with_name, names) if not free.exists())


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _unwritten(file: Path, failure: OSError) -> StoreUnavailable:
    return StoreUnavailable(
        f"The file {quoted(file.name)} cannot be written: {failure.strerror}.",
        hint="Check its folder, its permissions and the disk.",
    )
