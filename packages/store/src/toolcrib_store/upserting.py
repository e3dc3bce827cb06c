"""One row for one key: added, or put in the place of the one that is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(connection: Connection, table: Table, row: Mapping[str, Any], *, key: Collection[str]) -> None:
    """Add a row, or change the one that has the same key; `key` are the columns of a primary key or unique constraint.

    Without any column outside the key, a row that is there stays as it is.
    """
    # Both databases know the statement; SQLAlchemy has it once for each.
    insert: Any = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table).values(**row)
    changed = {name: statement.excluded[name] for name in row if name not in key}
    if changed:
        statement = statement.on_conflict_do_update(index_elements=list(key), set_=changed)
    else:
        statement = statement.on_conflict_do_nothing(index_elements=list(key))
    connection.execute(statement)
