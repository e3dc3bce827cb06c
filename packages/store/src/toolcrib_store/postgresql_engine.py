"""PostgreSQL: one database for many hosts, with the same promises as a file of SQLite."""

from __future__ import annotations

from typing import Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError

from toolcrib_core.wording import shown
from toolcrib_store.errors import StoreUnavailable

SCHEMES: Final = ("postgresql", "postgres")
"""How an address of PostgreSQL begins."""

IDLE_SECONDS: Final = 60
"""After so long without a word, a writer is taken for dead, so that a host that is gone keeps nobody waiting."""

# Whoever writes holds this lock until the end of the transaction, so that there is one writer at a time, as in SQLite:
# what a writer has read stays true until it commits, and no transaction has to be tried again.
_WRITER_LOCK = 0x746F6F6C63726962

_CONNECT_SECONDS = 10


def is_address(target: str) -> bool:
    """Whether this is an address of PostgreSQL."""
    return target.partition("://")[0] in SCHEMES


def read_address(target: str) -> URL:
    """The parts of an address.

    Raises:
        StoreUnavailable: It is no address; what it says is not repeated, for there may be a password in it.
    """
    try:
        return make_url(target).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise StoreUnavailable(
            "The address of the database cannot be read.",
            hint="Write it as `postgresql://user:password@host:5432/database`, with special characters as `%40`.",
        ) from None


def name_of(address: URL) -> str:
    """What the database is called in messages: where it is, and never with whose password."""
    host = address.host or address.query.get("host") or "localhost"
    port = f":{address.port}" if address.port else ""
    return shown(f"{host if isinstance(host, str) else ','.join(host)}{port}/{address.database or ''}")


def postgresql_engine(address: URL, *, busy_seconds: float) -> Engine:
    """An engine for a database that is there.

    Raises:
        StoreUnavailable: The driver is not installed.
    """
    try:
        import psycopg
    except ImportError:
        raise StoreUnavailable(
            "The driver of PostgreSQL is not installed.", hint="Run `pip install 'toolcrib-store[postgresql]'`."
        ) from None
    engine = create_engine(
        address,
        module=psycopg,
        connect_args={"connect_timeout": _CONNECT_SECONDS, "application_name": "toolcrib"},
        # A server that was started again has forgotten the connections that wait here.
        pool_pre_ping=True,
        hide_parameters=True,
    )
    limits = (
        f"SET LOCAL lock_timeout = {max(1, round(busy_seconds * 1000))}; "
        f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_SECONDS * 1000}"
    )

    def begin(connection: Connection) -> None:
        if not connection.get_execution_options().get("postgresql_readonly"):
            connection.exec_driver_sql(limits)
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _WRITER_LOCK})

    event.listen(engine, "begin", begin)
    return engine


def reading_postgresql(engine: Engine) -> Engine:
    """The engine whose transactions see one moment and change nothing."""
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
