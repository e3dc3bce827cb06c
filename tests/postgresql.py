"""A real PostgreSQL server for tests: one for each process of tests, with a fresh database for each test.

`store_url` runs a test on both databases; `postgresql_url` on PostgreSQL alone; `postgresql_server` can be killed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.real_parts import real_part_missing

if TYPE_CHECKING:
    import psycopg

_KEEPER = Path(__file__).with_name("postgresql_keeper.py")


class PostgresqlServer:
    """A server that runs as long as this process."""

    def __init__(self, binaries: Path) -> None:
        self._numbers = count(1)
        self._keeper = subprocess.Popen(
            [sys.executable, _KEEPER, binaries], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        # It has detached itself; from now on the pipes alone hold it.
        self._keeper.wait(60)
        self._folder = self._read()

    def address(self, database: str, *, user: str = "postgres", password: str | None = None) -> str:
        """The address of a database of this server."""
        who = user if password is None else f"{user}:{password}"
        return f"postgresql://{who}@/{database}?host={self._folder}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a fresh database, which is gone at the end."""
        name = f"test{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield self.address(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, statement: str) -> None:
        """Run a statement that belongs to no database."""
        with self.connect("postgres") as connection:
            connection.execute(statement.encode())

    def connect(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        """A plain connection, as whoever may do all."""
        import psycopg

        return psycopg.connect(self.address(database), autocommit=True)

    def kill(self) -> None:
        """End it with SIGKILL, as a failing machine would."""
        self._ask("kill")

    def start(self) -> None:
        """Start it again; what was committed is there."""
        self._ask("start")

    def close(self) -> None:
        """End it, and wait until nothing of it is left."""
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.close()
        self._keeper.stdout.read()
        self._keeper.stdout.close()

    def _ask(self, order: str) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(f"{order}\n")
        self._keeper.stdin.flush()
        self._read()

    def _read(self) -> str:
        assert self._keeper.stdout is not None
        told = self._keeper.stdout.readline().strip()
        if not told:
            self.close()
            pytest.fail("the PostgreSQL server of the tests did not start")
        return told


def find_binaries() -> Path | None:
    """The folder with the programs of the server, the newest of those that are installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda file: _number(file.parts[-3]))
    on_path = shutil.which("postgres")
    if installed:
        return installed[-1].parent
    return None if on_path is None else Path(on_path).resolve().parent


def _number(version: str) -> float:
    return float(version) if version.replace(".", "", 1).isdigit() else 0.0


@contextmanager
def running_server() -> Iterator[PostgresqlServer]:
    """A server of one's own."""
    binaries = find_binaries()
    if binaries is None:
        real_part_missing("no PostgreSQL server: install the package `postgresql`")
    server = PostgresqlServer(binaries)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def shared_postgresql_server() -> Iterator[PostgresqlServer]:
    """The server that all tests of this process share; nobody kills it."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def postgresql_server() -> Iterator[PostgresqlServer]:
    """A server for the tests of one module, which may kill and start it."""
    with running_server() as server:
        yield server


@pytest.fixture
def postgresql_url(shared_postgresql_server: PostgresqlServer) -> Iterator[str]:
    """The address of a fresh PostgreSQL database."""
    with shared_postgresql_server.database() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What `open_store` opens: a new file of SQLite, and then a fresh PostgreSQL database."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    address: str = request.getfixturevalue("postgresql_url")
    return address
