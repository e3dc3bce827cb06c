"""What the columns of a CSV table hold."""

from __future__ import annotations

import csv as tables
import io
from typing import Any

_SAMPLES = 3


def summarise(csv: str, delimiter: str = ",") -> dict[str, Any]:
    """The number of rows, and of each column its kind, its empty cells and some values."""
    names, *rows = tables.reader(io.StringIO(csv), delimiter=delimiter)
    columns = [[row[at].strip() if at < len(row) else "" for row in rows] for at in range(len(names))]
    return {
        "rows": len(rows),
        "columns": [_described(name, cells) for name, cells in zip(names, columns, strict=True)],
    }


def _described(name: str, cells: list[str]) -> dict[str, Any]:
    filled = [each for each in cells if each]
    return {
        "name": name,
        "kind": _kind(filled),
        "empty": len(cells) - len(filled),
        "samples": list(dict.fromkeys(filled))[:_SAMPLES],
    }


def _kind(cells: list[str]) -> str:
    if not cells:
        return "empty"
    if all(each.lstrip("+-").isdigit() for each in cells):
        return "integer"
    return "number" if all(map(_is_number, cells)) else "text"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
