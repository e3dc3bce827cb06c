"""The demo's `database` server: an example database that can be asked anything and changed by nothing."""

from __future__ import annotations

import sqlite3
import threading
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from toolcrib_cli.demo.crib_database import LOANS
from toolcrib_runtime import RunnableTool, tool

_MAX_STEPS: Final = 20_000
"""How many thousand steps of SQLite's machine a query may take: about a second."""

_WHOLE: Final = {
    "tools": "SELECT * FROM tools",
    "people": "SELECT * FROM people",
    "loans": "SELECT * FROM loans",
}


def database_tools(connection: sqlite3.Connection) -> tuple[RunnableTool, ...]:
    """Tools over a database that was opened; whoever opened it closes it."""
    database = _Database(connection)

    @tool(effects="read", tags=["sql"])
    def list_tables() -> list[dict[str, Any]]:
        """List the tables of the example database with their columns and number of rows."""
        whole = {table: database.ask(sql, LOANS) for table, sql in _WHOLE.items()}
        return [{"table": table, "columns": list(rows[0]), "rows": len(rows)} for table, rows in whole.items()]

    @tool(effects="read", tags=["sql"])
    def sample_rows(
        table: Literal["tools", "people", "loans"], limit: Annotated[int, Field(ge=1, le=100)] = 5
    ) -> list[dict[str, Any]]:
        """Show the first rows of a table of the example database."""
        return database.ask(_WHOLE[table], limit)

    @tool(effects="read", tags=["sql"])
    def query(
        sql: Annotated[str, Field(description="One SELECT statement of SQLite.", max_length=10_000)],
        limit: Annotated[int, Field(ge=1, le=10_000)] = 1_000,
    ) -> list[dict[str, Any]]:
        """Run a SELECT on the example database of a workshop: tools, people and loans. Nothing can be changed."""
        return database.ask(sql, limit)

    return list_tables, sample_rows, query


class _Database:
    """One connection, for one thread at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._turn = threading.Lock()

    def ask(self, sql: str, limit: int) -> list[dict[str, Any]]:
        with self._turn:
            steps = iter(range(_MAX_STEPS))
            self._connection.set_progress_handler(lambda: next(steps, None) is None, 1000)
            try:
                cursor = self._connection.execute(sql)
                names = [column[0] for column in cursor.description or ()]
                return [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(limit)]
            except sqlite3.Error as failure:
                raise ValueError(f"SQLite refuses it: {failure}") from None
