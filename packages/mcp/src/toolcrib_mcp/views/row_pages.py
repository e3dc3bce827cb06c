"""Pages of rows: one row in a line, its cells between bars, behind the index of the row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib_core import JsonObject, JsonValue, count_tokens
from toolcrib_core.json_values import pointer_join
from toolcrib_mcp.views.cursors import Position, foreign_cursor
from toolcrib_mcp.views.json_pages import value_page
from toolcrib_mcp.views.json_rendering import shortened
from toolcrib_mcp.views.pages import Page, ranged
from toolcrib_mcp.views.row_selection import Selection, select_rows
from toolcrib_mcp.views.row_sources import Cell, RowSource
from toolcrib_mcp.views.selectors import Rows
from toolcrib_mcp.views.visible import visible

_CELL_CHARS = (160, 60, 24, 8)
"""How much of a cell is shown; the first of them with which a row fits is taken."""

_NAME_CHARS = 40
_NARROW = 400
_NARROW_NAME_CHARS = 12
_HEADER_SHARE = 3
_TOKENS_PER_CELL = 40


@dataclass(frozen=True)
class RowView:
    """Rows that are selected, and how to draw a page of them."""

    source: RowSource
    selector: Rows
    selection: Selection
    begin: int
    """How many of the rows asked for lie before the first of the selection."""
    columns: Sequence[str]

    def page(self, position: Position | None, *, room: int) -> Page:
        """The page that begins at the first selected row."""
        if self._is_one_cell:
            return self._cell_page(position, room=room)
        wanted = self._wanted
        if not wanted:
            return Page(where=f"no rows{self._of()}", facts=self._facts(0))
        cells = [self.source.known_cell(each) for each in self.columns]
        shown, limit = self._fitting(cells, room)
        header = self._header(shown, room)
        lines, left = [header], room - count_tokens(header) - 1
        for index, row in self.selection.rows:
            line = _line(index, row, cells[:shown], limit)
            left -= count_tokens(line) + 1
            if left < 0 and len(lines) > 1:
                break
            lines.append(line)
        number = len(lines) - 1
        end = self.begin + number
        body = "\n".join(lines)
        return Page(
            where=self._where(number) + (f"; long cells are cut at {limit} characters" if "…" in body else ""),
            body=body,
            facts=self._facts(number) | {"columns": shown},
            following=Position(end) if end < wanted else None,
        )

    @property
    def _wanted(self) -> int:
        """How many rows the selector means."""
        behind = max(0, self.selection.matching - self.selector.start)
        return behind if self.selector.count is None else min(behind, self.selector.count)

    @property
    def _is_one_cell(self) -> bool:
        return self.selector.count == 1 and len(self.columns) == 1 and bool(self.selection.rows)

    def _cell_page(self, position: Position | None, *, room: int) -> Page:
        """One cell alone is shown whole, however long it is."""
        index, row = self.selection.rows[0]
        pointer = (
            None if self.source.pointer is None else pointer_join(f"{self.source.pointer}/{index}", self.columns[0])
        )
        page = value_page(self.source.known_cell(self.columns[0])(row), pointer or "", position, room=room)
        return Page(where=f"row {index:,}: {page.where}", body=page.body, facts=page.facts, following=page.following)

    def _fitting(self, cells: Sequence[Cell], room: int) -> tuple[int, int]:
        """How many columns and how many characters of each cell are shown, so that the first row fits."""
        index, row = self.selection.rows[0]
        shown = len(self.columns)
        while True:
            while shown > 1 and count_tokens(self._header(shown, room)) > room // _HEADER_SHARE:
                shown = shown * 3 // 4
            left = room - count_tokens(self._header(shown, room)) - 1
            lines = ((limit, _line(index, row, cells[:shown], limit)) for limit in _CELL_CHARS)
            fitting = next((limit for limit, line in lines if count_tokens(line) < left), None)
            if fitting is not None or shown <= 1:
                return shown, fitting or _CELL_CHARS[-1]
            shown = shown * 3 // 4

    def _header(self, shown: int, room: int) -> str:
        limit = _NAME_CHARS if room > _NARROW else _NARROW_NAME_CHARS
        names = [_bar_free(_clipped(each, limit)) for each in self.columns[:shown]]
        rest = len(self.columns) - shown
        return "|".join(["#", *names, *([f"…({rest:,} more columns: name them in `columns`)"] if rest else [])])

    def _where(self, number: int) -> str:
        first = self.selector.start + self.begin
        return f"rows {ranged(first, first + number - 1)}{self._of()}, counted from 0"

    def _of(self) -> str:
        matching, total = self.selection.matching, self.selection.total
        return f" of {total:,}" if not self.selector.where else f" of {matching:,} that match, of {total:,}"

    def _facts(self, number: int) -> JsonObject:
        first = self.selector.start + self.begin
        return {
            "unit": "rows",
            "first": first,
            "last": max(first, first + number - 1),
            "total": self.selection.matching,
            "rows": self.selection.total,
        }


def row_view(source: RowSource, selector: Rows, position: Position | None, *, budget: int) -> RowView:
    """The rows that a page from this position on may hold.

    Raises:
        ViewFailed: A column is unknown, there are too many rows to sort, or the position lies outside.
    """
    one_cell = selector.count == 1 and len(selector.columns or source.columns) == 1
    begin = 0 if position is None or one_cell else position.at
    for each in selector.columns or ():
        source.known_cell(each)
    most = budget if selector.count is None else min(budget, selector.count - begin)
    selection = select_rows(source, selector, first=selector.start + begin, most=max(most, 0))
    extra = [f"column{number + 1}" for number in range(len(source.columns), selection.width)]
    view = RowView(source, selector, selection, begin, selector.columns or (*source.columns, *extra))
    if position is not None and (not selection.rows or position.at < 1):
        raise foreign_cursor()
    return view


def _line(index: int, row: Any, cells: Sequence[Cell], limit: int) -> str:
    return "|".join([str(index), *(_cell_text(cell(row), limit) for cell in cells)])


def _cell_text(cell: JsonValue, limit: int) -> str:
    match cell:
        case None:
            return ""
        case "":
            return '""'
        case str():
            return _bar_free(_clipped(cell, limit))
    text = shortened(cell, _TOKENS_PER_CELL)
    return _bar_free(text if len(text) <= limit else f"{text[:limit]}…")


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def _bar_free(text: str) -> str:
    return visible(text).replace("\n", "\\n").replace("\t", "\\t").replace("|", "\\|")
