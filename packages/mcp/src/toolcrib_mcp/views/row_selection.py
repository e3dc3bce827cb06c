"""Which rows are asked for: filtered, sorted, and only those that one page can hold are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_mcp.views.failing import wrong
from toolcrib_mcp.views.row_sources import RowSource
from toolcrib_mcp.views.row_values import check_of, sort_key
from toolcrib_mcp.views.selectors import Rows

MAX_SORTED: Final = 1_000_000
"""How many rows are sorted; more must be filtered first."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Some rows with their indices, of how many that match, of how many there are."""

    rows: list[tuple[int, Any]]
    matching: int
    total: int
    width: int
    """Cells of the widest row; 0 for objects."""


def select_rows(source: RowSource, selector: Rows, *, first: int, most: int) -> Selection:
    """At most `most` rows from the `first` one on, among those that match, in their order.

    Raises:
        ViewFailed: A column is unknown, or there are too many rows to sort.
    """
    if not selector.sort:
        counter = _Counter(source)
        kept = [
            each for place, each in enumerate(_matching(counter, source, selector)) if first <= place < first + most
        ]
        return counter.selection(kept)
    counter = _Counter(source)
    order = _sorted_indices(counter, source, selector)[first : first + most]
    wanted = set(order)
    found = {index: row for index, row in enumerate(source.rows()) if index in wanted}
    return counter.selection([(index, found[index]) for index in order])


class _Counter:
    """Counts rows as they pass."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self.total = 0
        self.matching = 0
        self.width = 0

    def rows(self) -> Iterator[tuple[int, Any]]:
        is_text = self._source.is_text
        for row in self._source.rows():
            yield self.total, row
            self.total += 1
            if is_text and len(row) > self.width:
                self.width = len(row)

    def selection(self, rows: list[tuple[int, Any]]) -> Selection:
        return Selection(rows=rows, matching=self.matching, total=self.total, width=self.width)


def _matching(counter: _Counter, source: RowSource, selector: Rows) -> Iterator[tuple[int, Any]]:
    checks = [(source.known_cell(each.column), check_of(each, is_text=source.is_text)) for each in selector.where]
    for index, row in counter.rows():
        if all(check(cell(row)) for cell, check in checks):
            counter.matching += 1
            yield index, row


def _sorted_indices(counter: _Counter, source: RowSource, selector: Rows) -> list[int]:
    orders = [(source.known_cell(each.column), each.desc) for each in selector.sort]
    entries: list[tuple[int, list[Any]]] = []
    for index, row in _matching(counter, source, selector):
        if len(entries) == MAX_SORTED:
            raise wrong(
                f"More than {MAX_SORTED:,} rows are too many to sort.", hint="Filter with `where`.", type_="rows"
            )
        entries.append((index, [sort_key(cell(row), desc=desc, is_text=source.is_text) for cell, desc in orders]))
    # From the last order to the first: sorting keeps what is equal as it was.
    for place in reversed(range(len(orders))):
        entries.sort(key=lambda entry: entry[1][place], reverse=orders[place][1])
    return [index for index, _ in entries]
