"""What the database driver says, in our words."""

from __future__ import annotations

import sqlite3
from types import TracebackType
from typing import Final

from sqlalchemy import Transaction
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from toolcrib_core.wording import quoted
from toolcrib_store.errors import StoreBusy, StoreDamaged, StoreError, StoreOutcomeUnknown, StoreUnavailable

# An extended code of SQLite, such as SQLITE_BUSY_SNAPSHOT, begins with its family; so do the codes of PostgreSQL.
_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "40", "55P03", "57014")
_DAMAGED: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "XX001", "XX002")
_UNAVAILABLE: Final = {
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_READONLY": "it cannot be written",
    "SQLITE_PERM": "there is no permission",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk failed",
    "53100": "the disk is full",
    "53": "the server has no room",
    "08": "the server cannot be reached",
    "57P": "the server is going down or starting",
    "28": "the server does not let this user into this database",
    "3D000": "there is no such database",
    "42501": "there is no permission",
    "25006": "it cannot be written",
}
# psycopg gives no code where no connection came about; these are for a server that has answered, and for none.
_NOT_LET_IN, _UNREACHED = "28", "08"


class store_errors:  # noqa: N801  # it reads as the function that it stands for
    """Raise what the driver raises as an error of ours; `name` is the database's, for the reader.

    Raises:
        StoreError: The driver failed.
    """

    # A class, and usable any number of times: it is entered for every transaction.
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        match error:
            case None:
                return
            case NoFreeConnection():
                raise busy(self._name) from error
            case DBAPIError():
                raise _told(self._name, error.orig) from error
            case sqlite3.Error() | SQLAlchemyError():
                raise _told(self._name, error) from error


def commit(transaction: Transaction, *, name: str) -> None:
    """Make the changes of a transaction, and tell a loss of the connection meanwhile apart from a refusal of them.

    Raises:
        StoreOutcomeUnknown: The connection was lost.
    """
    try:
        transaction.commit()
    except DBAPIError as failure:
        if not failure.connection_invalidated:
            raise
        raise StoreOutcomeUnknown(
            f"The connection to the database {quoted(name)} was lost while changes were being made.",
            hint="Look whether they are there before you make them again.",
        ) from failure


def busy(name: str, *, hint: str = "Try again.") -> StoreBusy:
    """The refusal of whoever has waited long enough."""
    return StoreBusy(f"The database {quoted(name)} is in use by somebody else.", hint=hint)


def damaged(name: str) -> StoreDamaged:
    """The refusal of a database that cannot be trusted."""
    return StoreDamaged(
        f"The database {quoted(name)} is damaged.",
        hint="It was left as it is. Restore it from a copy, or move it away to begin with an empty one.",
    )


def _told(name: str, failure: BaseException | None) -> StoreError:
    code = _code_of(failure)
    if code.startswith(_BUSY):
        return busy(name)
    if code.startswith(_DAMAGED):
        return damaged(name)
    for known, why in _UNAVAILABLE.items():
        if code.startswith(known):
            return StoreUnavailable(f"The database {quoted(name)} cannot be used: {why}.", hint=_hint(code))
    return StoreError(f"The database {quoted(name)} failed ({code or type(failure).__name__}).")


def _code_of(failure: BaseException | None) -> str:
    code = getattr(failure, "sqlite_errorname", None) or getattr(failure, "sqlstate", None)
    if code:
        return str(code)
    # By name, for the driver need not be installed.
    if type(failure).__module__.startswith("psycopg") and type(failure).__name__ == "OperationalError":
        return _NOT_LET_IN if "FATAL" in str(failure) else _UNREACHED
    return ""


def _hint(code: str) -> str:
    if code.startswith("SQLITE"):
        return "Check its folder, its permissions and the disk."
    return "Check that the server runs, and the address, the user and the password."
