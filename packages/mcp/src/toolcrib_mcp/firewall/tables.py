"""Tables as CSV or TSV: telling them from other text, reading them row by row, and their summaries."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from toolcrib_core import JsonObject
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.columns import MAX_CELLS, MAX_COLUMNS, Column, described_cells
from toolcrib_mcp.firewall.fitting import Outline, Section
from toolcrib_mcp.firewall.lines import PREFIX_BYTES, without_bom
from toolcrib_mcp.firewall.shown import clipped

_DELIMITERS = ("\t", ",", ";", "|")
_WIDE_PREFIX_BYTES = 1 << 20
_SNIFFED_ROWS = 50
_MIN_ROWS = 3
_CONSISTENT = 0.9
_HEADER_CHARS = 64
_CHUNK = 4_096
_MIN_SAMPLE = 500
_ROWS_SHOWN = 6
_ROW_CHARS = 220
_CELL_CHARS = 32


@dataclass(frozen=True)
class TableForm:
    """How a table is written: what parts its cells, and the names of its columns.

    Without a header in the content the columns are called `column1`, `column2`, …; of two columns called `x` the
    second is `x_2`.
    """

    delimiter: str
    columns: tuple[str, ...]
    has_header: bool


def table_form(content: bytes, *, trusted: bool = False) -> TableForm | None:
    """How the table is written, as its first 64 KiB show; None when they do not look like one.

    With `trusted` (the media type says that it is a table) any rows will do.
    """
    for delimiter in _DELIMITERS:
        rows = _sniffed(content, delimiter)
        if _is_regular(rows, delimiter, trusted=trusted):
            return _form(rows, delimiter)
    rows = _sniffed(content, ",")
    return _form(rows, ",") if trusted and rows else None


def table_rows(content: bytes, form: TableForm) -> Iterator[list[str]]:
    """The rows behind the header, as they stand: some may have more or fewer cells than there are columns.

    Blank lines are no rows; a row with a cell of more than 128 KiB comes as an empty list.
    """
    text = io.TextIOWrapper(io.BytesIO(without_bom(content)), encoding="utf-8", errors="replace", newline="")
    rows = _tolerant(csv.reader(text, delimiter=form.delimiter))
    return islice(rows, 1 if form.has_header else 0, None)


def summarised_table(content: bytes, *, size: int) -> Outline:
    """The outline of a table of `size` bytes."""
    form = table_form(content, trusted=True) or TableForm(",", (), has_header=False)
    read = _Pass(step=_step(content, form))
    read.over(table_rows(content, form))
    width = max(len(form.columns), *read.widths, 0)
    unnamed = range(len(form.columns) + 1, min(width, MAX_COLUMNS) + 1)
    columns = _columns([*form.columns, *(f"column{index}" for index in unnamed)], read.sample)
    rows = sum(read.widths.values())
    ragged = rows - read.widths[len(form.columns)]
    facts: JsonObject = {
        "rows": rows,
        "columns": [each.fact for each in columns],
        "columnCount": width,
        "delimiter": form.delimiter,
        "header": form.has_header,
        "ragged": ragged,
        "bytes": size,
    }
    head = _head(form, rows=rows, width=width, ragged=ragged, step=read.step, size=size)
    return Outline(head, _sections(columns, read, width), facts)


def _head(form: TableForm, *, rows: int, width: int, ragged: int, step: int, size: int) -> str:
    name = {"\t": "TSV", ",": "CSV"}.get(form.delimiter, f"CSV with `{form.delimiter}`")
    parts = [f"{name} table: {count(rows, 'row')}, {count(width, 'column')}, {size:,} bytes."]
    if not form.has_header:
        parts.append("No header row.")
    if ragged:
        parts.append(f"{count(ragged, 'row')} with another number of cells than {len(form.columns)}.")
    if step > 1:
        parts.append(f"Columns described from one row in {step:,}.")
    return " ".join(parts)


def _sections(columns: list[Column], read: _Pass, width: int) -> list[Section]:
    names = [each.name for each in columns]
    described = Section("Columns:", [str(each) for each in columns], width, "columns", names, share=0.65)
    lines = list(map(_row_line, read.first))
    return [described, Section("First rows:", lines, total=sum(read.widths.values()), things="rows")]


@dataclass
class _Pass:
    """One pass over the rows: all are counted, some are kept."""

    step: int
    widths: Counter[int] = field(default_factory=Counter)
    first: list[list[str]] = field(default_factory=list)
    sample: list[list[str]] = field(default_factory=list)

    def over(self, rows: Iterator[list[str]]) -> None:
        seen = 0
        while chunk := list(islice(rows, _CHUNK)):
            self.widths.update(map(len, chunk))
            self.first.extend(chunk[: _ROWS_SHOWN - len(self.first)])
            kept = chunk[-seen % self.step :: self.step]
            self.sample.extend(kept if max(self.widths) <= MAX_COLUMNS else [row[:MAX_COLUMNS] for row in kept])
            seen += len(chunk)


def _columns(names: Sequence[str], sample: list[list[str]]) -> list[Column]:
    columns = islice(zip_longest(*sample, fillvalue=""), MAX_COLUMNS)
    described = [described_cells(name, cells) for name, cells in zip(names, columns, strict=False)]
    return described or [Column(name, "empty", "") for name in names[:MAX_COLUMNS]]


def _row_line(row: list[str]) -> str:
    cells: list[str] = []
    room = _ROW_CHARS
    for cell in row:
        text = clipped(cell, _CELL_CHARS)
        if len(text) > room:
            return f"{' | '.join(cells)} | …"
        cells.append(text)
        room -= len(text) + 3
    return " | ".join(cells).rstrip()


def _step(content: bytes, form: TableForm) -> int:
    """Every how many rows to keep one, from the width and length of the first lines."""
    prefix = content[:PREFIX_BYTES]
    rows = len(content) * max(1, prefix.count(b"\n")) // len(prefix) if prefix else 0
    most = max(_MIN_SAMPLE, MAX_CELLS // max(1, min(len(form.columns), MAX_COLUMNS)))
    return max(1, -(-rows // most))


def _sniffed(content: bytes, delimiter: str) -> list[list[str]]:
    prefix = without_bom(content[:PREFIX_BYTES])
    if prefix.count(b"\n") < _MIN_ROWS:
        prefix = without_bom(content[:_WIDE_PREFIX_BYTES])
    if len(content) > len(prefix):
        # The last line of the prefix is cut; without any end of line there is nothing else.
        prefix = prefix[: prefix.rfind(b"\n") + 1] or prefix
    text = io.StringIO(prefix.decode("utf-8", "replace"), newline="")
    return list(islice(_tolerant(csv.reader(text, delimiter=delimiter)), _SNIFFED_ROWS))


def _tolerant(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    while True:
        try:
            for row in reader:
                if row:
                    yield row
        except csv.Error:
            yield []
        else:
            return


def _is_regular(rows: list[list[str]], delimiter: str, *, trusted: bool) -> bool:
    if len(rows) < (1 if trusted else _MIN_ROWS) or len(rows[0]) < 2:  # noqa: PLR2004  # one column is any text
        return False
    if trusted:
        return True
    if sum(len(row) == len(rows[0]) for row in rows) < _CONSISTENT * len(rows):
        return False
    header = rows[0]
    if not all(cell.strip() and len(cell) <= _HEADER_CHARS for cell in header) or header[0].lstrip()[:1] in "{[<":
        return False
    # In prose a space follows most commas; in source text one often ends the line.
    spaced = sum(cell.startswith(" ") for row in rows for cell in row[1:])
    ended = sum(not row[1] for row in rows if len(row) == 2)  # noqa: PLR2004  # two columns, the second empty
    return (delimiter not in ",|" or spaced * 2 <= sum(len(row) - 1 for row in rows)) and ended * 2 < len(rows)


def _form(rows: list[list[str]], delimiter: str) -> TableForm:
    first = rows[0]
    has_header = bool(first) and not any(map(_is_value, first))
    names = _apart(first) if has_header else [f"column{index}" for index in range(1, len(first) + 1)]
    return TableForm(delimiter, tuple(names), has_header)


def _apart(names: list[str]) -> list[str]:
    """The names, with a number behind those that came before."""
    seen: Counter[str] = Counter()
    apart = []
    for name in names:
        seen[name] += 1
        apart.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return apart


def _is_value(cell: str) -> bool:
    """Whether the cell is rather a value than the name of a column."""
    return not cell.strip() or cell.strip()[0] in "0123456789-+." or len(cell) > _HEADER_CHARS
