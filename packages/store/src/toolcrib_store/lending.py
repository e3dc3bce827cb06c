"""Connections, each lent for one transaction: from a pool, or kept open from one to the next."""

from __future__ import annotations

from contextlib import AbstractContextManager
from threading import Lock
from types import TracebackType
from typing import Any, Protocol

from sqlalchemy import Connection, Engine


class Lender(Protocol):
    """Whoever has connections."""

    engine: Engine
    """Where they come from."""

    def lend(self) -> Connection:
        """A connection for one transaction, which begins now."""

    def take_back(self, connection: Connection, *, failed: bool) -> None:
        """Take a connection whose transaction is over; `failed` means that an exception has ended it."""

    def close(self) -> None:
        """Close what is not lent now, and the rest when it comes back."""


class PooledConnections:
    """Connections from the pool of an engine, which looks first whether the server still knows them."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def lend(self) -> Connection:
        """A connection that the server knows."""
        return self.engine.connect()

    def take_back(self, connection: Connection, *, failed: bool) -> None:  # noqa: ARG002  # the pool finds it out
        """Give it to the pool."""
        connection.close()

    def close(self) -> None:
        """Close what is in the pool."""
        self.engine.dispose()


class KeptConnections:
    """Connections to a file, which stay open and ready: all that a pool does would cost more than a transaction.

    There are as many as are needed at once, and up to `kept` stay open. A transaction begins with the words `begin`.
    """

    def __init__(self, engine: Engine, *, begin: str, kept: int) -> None:
        self.engine = engine
        self._begin = begin
        self._kept = kept
        self._idle: list[Connection] = []
        self._lock = Lock()
        self._closed = False

    def lend(self) -> Connection:
        """The connection that came back last, for its memory is the warmest; or a new one."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self.engine.connect()
        try:
            # Straight to the driver: all that SQLAlchemy does for a statement would cost more than the statement.
            _driver(connection).execute(self._begin).close()
        except BaseException:
            self.take_back(connection, failed=True)
            raise
        return connection

    def take_back(self, connection: Connection, *, failed: bool) -> None:
        """Keep it for the next one, unless something is wrong with it; closing it undoes what it left open."""
        if not failed or _is_at_rest(connection):
            with self._lock:
                if not self._closed and len(self._idle) < self._kept:
                    self._idle.append(connection)
                    return
        connection.close()

    def close(self) -> None:
        """Close what is not lent now, and the rest when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()


class Loan(AbstractContextManager[Connection]):
    """A connection as long as a block lasts."""

    # A class, for it is made for every transaction, and a generator takes three times as long.
    __slots__ = ("_connection", "_lender")

    def __init__(self, lender: Lender) -> None:
        self._lender = lender

    def __enter__(self) -> Connection:
        self._connection = self._lender.lend()
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lender.take_back(self._connection, failed=error is not None)


def _is_at_rest(connection: Connection) -> bool:
    return not connection.closed and not connection.invalidated and not _driver(connection).in_transaction


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection
