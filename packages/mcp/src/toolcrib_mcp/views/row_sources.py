"""Rows of a table and objects of a JSON list, read in one and the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from toolcrib_core import JsonValue
from toolcrib_core.json_values import pointer_join
from toolcrib_core.schema.pointers import MISSING, look_up, split_pointer
from toolcrib_core.wording import listed, nearest, quoted
from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.firewall.tables import TableForm, table_form, table_rows
from toolcrib_mcp.views.failing import unfit, wrong
from toolcrib_mcp.views.json_pointers import follow
from toolcrib_mcp.views.json_rendering import kind_words
from toolcrib_mcp.views.json_values import json_value
from toolcrib_mcp.views.visible import visible

Cell: TypeAlias = Callable[[Any], JsonValue]
"""What takes one cell out of a row."""

_EXTRA_COLUMN = re.compile(r"column([1-9][0-9]{0,6})")
_LISTS_NAMED = 5


@dataclass(frozen=True)
class RowSource:
    """Where rows come from."""

    columns: Sequence[str]
    rows: Callable[[], Iterator[Any]]
    cell: Callable[[str], Cell | None]
    """By the name of a column; None where there is no such column."""
    pointer: str | None = None
    """What leads to the list of the rows; None for a table, which has no pointers."""

    @property
    def is_text(self) -> bool:
        """Whether all cells are text."""
        return self.pointer is None

    def known_cell(self, column: str) -> Cell:
        """What takes this column out of a row.

        Raises:
            ViewFailed: There is no such column; the message has the nearest.
        """
        found = self.cell(column)
        if found is None:
            meant = nearest(column, self.columns)
            suggestion = f" Did you mean {quoted(meant)}?" if meant is not None else ""
            has = f"There are {listed(self.columns)}." if self.columns else "There are no columns."
            raise wrong(f"There is no column {quoted(column)}.{suggestion}", hint=has)
        return found


def row_source(content: bytes, kind: ContentKind, pointer: str) -> RowSource:
    """The rows that the content has, for JSON those at the pointer.

    Raises:
        ViewFailed: There are none; where others are, the hint says so.
    """
    if kind is not ContentKind.TABLE:
        return _record_source(json_value(content), pointer)
    if pointer:
        raise wrong("A table has no pointers.", hint="Leave out `pointer`.", type_="rows")
    form = table_form(content, trusted=True)
    if form is None:
        raise unfit("rows", ContentKind.PROSE)
    return _table_source(content, form)


def _table_source(content: bytes, form: TableForm) -> RowSource:
    places = {name: index for index, name in reversed(list(enumerate(form.columns)))}

    def cell(column: str) -> Cell | None:
        extra = _EXTRA_COLUMN.fullmatch(column)
        place = places.get(column)
        if place is None and extra is not None and int(extra[1]) > len(form.columns):
            place = int(extra[1]) - 1
        return None if place is None else _nth(place)

    return RowSource(columns=form.columns, rows=lambda: table_rows(content, form), cell=cell)


def _nth(place: int) -> Cell:
    return lambda row: row[place] if place < len(row) else None


def _record_source(value: JsonValue, pointer: str) -> RowSource:
    found = follow(value, pointer, type_="rows")
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise _no_rows(found, pointer)
    records: list[Any] = found
    columns = list(dict.fromkeys(chain.from_iterable(records)))
    known = set(columns)

    def cell(column: str) -> Cell | None:
        if column in known:
            return lambda row: row.get(column)
        return _deep(split_pointer(column)) if column.startswith("/") else None

    return RowSource(columns=columns, rows=lambda: iter(records), cell=cell, pointer=pointer)


def _deep(keys: list[str]) -> Cell:
    def cell(row: Any) -> JsonValue:
        found: Any = look_up(row, keys)
        return None if found is MISSING else found

    return cell


def _no_rows(value: JsonValue, pointer: str) -> ViewFailed:
    lists: list[str] = []
    if isinstance(value, dict):
        lists = [
            pointer_join(pointer, key)
            for key, child in value.items()
            if isinstance(child, list) and child and all(isinstance(each, dict) for each in child)
        ]
    where = f"Lists of objects are at {listed(map(visible, lists[:_LISTS_NAMED]))}." if lists else "Try `shape`."
    return wrong(
        f"`rows` needs a list of objects; what stands there: {kind_words(value)}.",
        hint=f"{where} Give `rows` a `pointer` to one." if lists else where,
    )
