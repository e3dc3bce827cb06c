"""What the database driver says, in our words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError

from toolcrib_store.errors import StoreBusy, StoreDamaged, StoreError, StoreUnavailable

_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
_DAMAGED: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_UNAVAILABLE: Final = {
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_READONLY": "it cannot be written",
    "SQLITE_PERM": "there is no permission",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk failed",
}


@contextmanager
def store_errors(name: str) -> Iterator[None]:
    """Raise what the driver raises as an error of ours; `name` is the database's, for the reader.

    Raises:
        StoreError: The driver failed.
    """
    try:
        yield
    except DBAPIError as failure:
        raise _told(name, failure.orig) from failure
    except sqlite3.Error as failure:
        raise _told(name, failure) from failure


def damaged(name: str) -> StoreDamaged:
    """The refusal of a database that cannot be trusted."""
    return StoreDamaged(
        f"The database `{name}` is damaged.",
        hint="It was left as it is. Restore it from a copy, or move it away to begin with an empty one.",
    )


def _told(name: str, failure: BaseException | None) -> StoreError:
    # An extended code, such as SQLITE_BUSY_SNAPSHOT, begins with its family.
    code = str(getattr(failure, "sqlite_errorname", ""))
    if code.startswith(_BUSY):
        return StoreBusy(f"The database `{name}` is being written by somebody else.", hint="Try again.")
    if code.startswith(_DAMAGED):
        return damaged(name)
    for known, why in _UNAVAILABLE.items():
        if code.startswith(known):
            return StoreUnavailable(
                f"The database `{name}` cannot be used: {why}.", hint="Check its folder, its permissions and the disk."
            )
    return StoreError(f"The database `{name}` failed ({code or type(failure).__name__}).")
