"""One row for one key: added, or put in the place of the one that is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Executable, Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(connection: Connection, table: Table, row: Mapping[str, Any], *, key: Collection[str]) -> None:
    """Add a row, or change the one that has the same key; `key` are the columns of a primary key or unique constraint.

    Without any column outside the key, a row that is there stays as it is.
    """
    changed = tuple(name for name in row if name not in key)
    connection.execute(_statement(connection.dialect.name, table, tuple(key), changed), dict(row))


# To build a statement takes several times as long as to execute it.
@lru_cache(maxsize=64)
def _statement(dialect: str, table: Table, key: tuple[str, ...], changed: tuple[str, ...]) -> Executable:
    # Both databases know the statement; SQLAlchemy has it once for each.
    insert: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert
    statement: Any = insert(table)
    if changed:
        new = {name: statement.excluded[name] for name in changed}
        return statement.on_conflict_do_update(index_elements=list(key), set_=new)  # type: ignore[no-any-return]  # the two dialects share no type
    return statement.on_conflict_do_nothing(index_elements=list(key))  # type: ignore[no-any-return]  # the two dialects share no type
