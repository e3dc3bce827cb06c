"""SQLite: a file for its owner alone, durable, and safe for many processes and threads."""

from __future__ import annotations

import os
import shlex
import sqlite3
import stat
import time
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, text

from toolcrib_store.errors import StoreUnavailable
from toolcrib_store.faults import damaged
from toolcrib_store.lending import KeptConnections

CHECKED_BYTES: Final = 64 * 1024 * 1024
"""A file up to this size is checked from end to end when it is opened; in a larger one damage shows when it is met."""

_KEPT_READERS = 5
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
        # Whoever wants a connection for longer keeps it.
        poolclass=NullPool,
    )
    event.listen(engine, "connect", _connected)
    return engine


def sqlite_readers(engine: Engine) -> KeptConnections:
    """Connections that see one moment, from the first statement on."""
    return KeptConnections(engine, begin="BEGIN", kept=_KEPT_READERS)


def sqlite_writer(engine: Engine) -> KeptConnections:
    """The connection that has the right to write from the beginning of a transaction."""
    return KeptConnections(engine, begin="BEGIN IMMEDIATE", kept=1)


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
        descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            _refuse_others(file, os.fstat(descriptor))
        finally:
            os.close(descriptor)
    except OSError as failure:
        raise StoreUnavailable(
            f"The database `{file.name}` cannot be opened: {failure.strerror}.",
            hint="Check its folder, and who may write there.",
        ) from None


def _refuse_others(file: Path, facts: os.stat_result) -> None:
    """Refuse a file that another user can change, or has put a link to in this place."""
    if {facts.st_uid, file.lstat().st_uid} != {os.geteuid()}:
        raise StoreUnavailable(
            f"The database `{file.name}` belongs to another user.",
            hint=f"Run this as that user, or take the file over: `chown -h {os.geteuid()} {shlex.quote(str(file))}`",
        )
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreUnavailable(
            f"The database `{file.name}` can be written by other users.",
            hint=f"Check who has changed it, then: `chmod go-w {shlex.quote(str(file))}`",
        )


def _connected(connection: sqlite3.Connection, _: object) -> None:
    # We, and not the driver, say when a transaction begins: one that writes asks for that at once.
    connection.isolation_level = None
    for setting in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}").close()
