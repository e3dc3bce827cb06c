"""Summaries of JSON lists of objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from toolcrib_core import JsonObject, JsonValue
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.columns import MAX_CELLS, MAX_COLUMNS, Column, described, short_value
from toolcrib_mcp.firewall.fitting import Outline, Section

_MAX_ROWS_SHOWN = 6
_ROW_CHARS = 220
_MIN_SAMPLE = 500


def summarised_records(rows: list[JsonObject], *, size: int) -> Outline:
    """The outline of a list of objects of `size` bytes."""
    columns, total, step = described_fields(rows)
    sampled = "" if step == 1 else f" Fields described from one row in {step:,}."
    head = f"{count(len(rows), 'record')} with {count(total, 'field')}, {size:,} bytes of JSON.{sampled}"
    facts: JsonObject = {
        "rows": len(rows),
        "columns": [each.fact for each in columns[:MAX_COLUMNS]],
        "columnCount": total,
        "bytes": size,
    }
    return Outline(head, [fields_section("Fields:", columns, total), rows_section(rows, columns)], facts)


def described_fields(rows: Sequence[JsonObject]) -> tuple[list[Column], int, int]:
    """The first fields described, how many there are, and the step at which rows were looked at."""
    step = _step(rows)
    sample = rows[::step]
    # The order of first appearance, which is that of the first row and then of the later additions.
    names = dict.fromkeys(chain.from_iterable(sample))
    described_ones = [
        described(name, [row[name] for row in sample if name in row], rows=len(sample))
        for name in list(names)[:MAX_COLUMNS]
    ]
    return described_ones, len(names), step


def fields_section(title: str, columns: Sequence[Column], total: int) -> Section:
    """The fields, one in a line."""
    names = [each.name for each in columns]
    return Section(title, [str(each) for each in columns], total=total, things="fields", names=names, share=0.65)


def rows_section(rows: Sequence[JsonObject], columns: Sequence[Column], pointer: str = "") -> Section:
    """The first rows, only their values, in the order of the fields."""
    lines = [f"{pointer}/{index} {row_line(row, columns)}" for index, row in enumerate(rows[:_MAX_ROWS_SHOWN])]
    return Section("First rows, values in the order of the fields:", lines, total=len(rows), things="rows")


def row_line(row: JsonObject, columns: Sequence[Column]) -> str:
    """The values of one row; whole values are left out at the end, never parts of one."""
    values: list[str] = []
    room = _ROW_CHARS
    for column in columns:
        text = short_value(row[column.name]) if column.name in row else ""
        if len(text) > room:
            return f"{' | '.join(values)} | …"
        values.append(text)
        room -= len(text) + 3
    return " | ".join(values)


def is_records(value: JsonValue) -> bool:
    """Whether the value is a list of objects, and not an empty one."""
    return isinstance(value, list) and bool(value) and all(type(each) is dict for each in value)


def _step(rows: Sequence[JsonObject]) -> int:
    """Every how many rows to look at one, from the widths of the first ones."""
    first = rows[:_MIN_SAMPLE]
    width = max(1, sum(map(len, first)) // max(1, len(first)))
    most = max(_MIN_SAMPLE, MAX_CELLS // min(width, MAX_COLUMNS))
    return -(-len(rows) // most)
