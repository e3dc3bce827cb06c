"""Moving rows that cannot be read out of the way: nothing is deleted, and everything is told."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, literal_column, select

from toolcrib_core import JsonObject, JsonValue
from toolcrib_store.engine import Store
from toolcrib_store.tables import QUARANTINE

_logger = logging.getLogger("toolcrib.store")


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """Rows that are not what they should be, and why."""

    table: Table
    where: ColumnElement[bool]
    what: str
    """What is wrong, in one sentence; nothing of the content is in it."""


@dataclass(frozen=True, kw_only=True)
class Quarantined:
    """A row that was moved out of the way."""

    id: int
    source: str
    """The table in which it was."""
    reason: str
    content: JsonObject
    """The row by column; what is no text and no number is `{"base64": …}`."""
    moved_at: float


def quarantine(connection: Connection, unreadable: Unreadable, *, now: float) -> int:
    """Move rows out of their table, as they are; gives how many.

    It happens with the other changes of the transaction, or not at all.
    """
    table, where = unreadable.table, unreadable.where
    rows = _as_they_are(connection, table, where)
    if not rows:
        return 0
    moved = [
        {
            "source": table.name,
            "reason": unreadable.what,
            "content": json.dumps(row, ensure_ascii=False, separators=(",", ":")),
            "moved_at": now,
        }
        for row in rows
    ]
    connection.execute(insert(QUARANTINE), moved)
    connection.execute(delete(table).where(where))
    _logger.warning("%d rows of %s were put into quarantine: %s", len(rows), table.name, unreadable.what)
    return len(rows)


def quarantined(store: Store, *, limit: int = 100, after: int = 0) -> list[Quarantined]:
    """What is in quarantine, in the order in which it came; `after` is the last id of the page before.

    Raises:
        StoreError: The database failed.
    """
    page = select(QUARANTINE).where(QUARANTINE.c.id > after).order_by(QUARANTINE.c.id).limit(limit)
    with store.reading() as connection:
        return [
            Quarantined(**{**row, "content": json.loads(row["content"])}) for row in connection.execute(page).mappings()
        ]


def _as_they_are(connection: Connection, table: Table, where: ColumnElement[bool]) -> Sequence[Mapping[str, JsonValue]]:
    """The rows, whatever is in them: SQLite keeps any type in any column, and texts that are none."""
    names = [column.name for column in table.columns]
    if connection.dialect.name == "sqlite":
        parts = [part for column in table.columns for part in (func.typeof(column), func.hex(column))]
        rows = connection.execute(select(*parts).where(where))
        return [{name: _of_sqlite(*row[2 * place : 2 * place + 2]) for place, name in enumerate(names)} for row in rows]
    plain: list[ColumnElement[Any]] = [literal_column(f"{table.name}.{name}") for name in names]
    return [
        {name: _as_json(value) for name, value in zip(names, row, strict=True)}
        for row in connection.execute(select(*plain).select_from(table).where(where))
    ]


def _of_sqlite(kind: str, digits: str) -> JsonValue:
    content = bytes.fromhex(digits)
    match kind:
        case "null":
            return None
        case "integer":
            return int(content)
        case "real":
            return float(content)
        case "text":
            return _as_json(content.decode(errors="surrogateescape"))
        case _:
            return _as_json(content)


def _as_json(value: Any) -> JsonValue:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return _as_json(value.encode(errors="surrogateescape"))
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    return value if value is None or isinstance(value, bool | int | float) else str(value)
