"""The code of the tool csv.columns."""

from __future__ import annotations

import csv
from pathlib import Path


def columns(file: str) -> dict[str, float | None]:
    """Each column, with its sum if it holds numbers."""
    with Path(file).open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    return {name: _total([row[name] for row in rows]) for name in (rows[0] if rows else ())}


def _total(values: list[str]) -> float | None:
    try:
        return sum(map(float, values))
    except ValueError:
        return None
