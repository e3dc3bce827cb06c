"""What the values of one column have in common: types, gaps, ranges, the few values that repeat."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from toolcrib_core import JsonObject, JsonValue
from toolcrib_mcp.firewall.shown import clipped, json_string, visible

MAX_CELLS: Final = 400_000
"""How many cells are looked at for the columns; of more rows every so many are taken."""

MAX_COLUMNS: Final = 64
"""How many columns are described."""

_TYPES: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    list: "list",
    dict: "object",
}
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.{0,24})?")
_FEW = 8
_VALUES_SHOWN = 5
_KEYS_SHOWN = 6
_VALUE_CHARS = 32


@dataclass(frozen=True)
class Column:
    """One column in a few words."""

    name: str
    type: str
    detail: str

    def __str__(self) -> str:
        return f"{clipped(self.name, 48)} {self.type}{self.detail}"

    @property
    def fact(self) -> JsonObject:
        """The column as a fact."""
        return {"name": clipped(self.name, 48), "type": self.type}


def type_name(value: JsonValue) -> str:
    """What JSON calls the type of the value."""
    return _TYPES[type(value)]


def short_value(value: JsonValue, limit: int = _VALUE_CHARS) -> str:
    """A value on a few characters: scalars as JSON, of lists and objects their size."""
    match value:
        case str():
            return json_string(value, limit)
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case list():
            return f"[{len(value):,} items]" if value else "[]"
        case dict():
            return f"{{{len(value):,} keys}}" if value else "{}"
    return repr(value)


def described(name: str, values: Sequence[JsonValue], *, rows: int) -> Column:
    """The column of JSON values; `rows` is in how many rows it could have stood.

    Where the values were only sampled, shares and counts are those of the sample.
    """
    types = Counter(map(type, values))
    nulls = types.pop(type(None), 0)
    present: Sequence[JsonValue] = [each for each in values if each is not None] if nulls else values
    kinds = [_TYPES[each] for each in types]
    if set(kinds) == {"integer", "number"}:
        kinds = ["number"]
    notes = [_spread(present, kinds[0]) if len(kinds) == 1 else ""]
    notes.append(_share(nulls, rows, "null") if kinds else "")
    notes.append(_share(rows - len(values), rows, "absent"))
    return Column(name, " or ".join(kinds) or "null", _joined(notes))


def described_cells(name: str, cells: Sequence[str]) -> Column:
    """The column of a table whose cells are all text."""
    counts = Counter(cells)
    empty = counts.pop("", 0)
    if not counts:
        return Column(name, "empty", "")
    note = _share(empty, len(cells), "empty")
    for kind, convert in (("integer", int), ("number", float)):
        numbers = _converted(counts, convert)
        if numbers is not None:
            # The text is shown as it stands: `007` and `1e3` are what a reader will look for.
            texts = list(counts)
            low, high = (texts[numbers.index(edge(numbers))] for edge in (min, max))
            return Column(name, kind, _joined([_range(low, high, len(counts), len(cells) - empty), note]))
    return Column(name, "string", _joined([_strings(counts, len(cells) - empty), note]))


def _spread(values: Sequence[JsonValue], kind: str) -> str:
    match kind:
        case "string":
            texts = [each for each in values if isinstance(each, str)]
            return _strings(Counter(texts), len(texts))
        case "integer" | "number":
            numbers = [each for each in values if isinstance(each, (int, float))]
            return _range(repr(min(numbers)), repr(max(numbers)), len(set(numbers)), len(numbers))
        case "boolean":
            return f"true {values.count(True):,}, false {values.count(False):,}"
        case "list":
            sizes = [len(each) for each in values if isinstance(each, list)]
            return f"of {min(sizes):,}…{max(sizes):,} items" if min(sizes) != max(sizes) else f"of {sizes[0]:,} items"
    return keys_shown(next(iter(values), None))


def keys_shown(value: JsonValue) -> str:
    """The first keys of an object, in braces."""
    if not isinstance(value, dict) or not value:
        return ""
    names = [clipped(key, 24) for key in list(value)[:_KEYS_SHOWN]]
    return f"{{{', '.join(names)}{', …' if len(value) > _KEYS_SHOWN else ''}}}"


def _strings(counts: Counter[str], total: int) -> str:
    first = json_string(next(iter(counts)), _VALUE_CHARS)
    if len(counts) == 1:
        return f"always {first}"
    low, high = min(counts), max(counts)
    if _DATE.fullmatch(low) and _DATE.fullmatch(high):
        return f"{visible(low)}…{visible(high)}"
    if len(counts) <= _FEW and len(counts) * 2 <= total:
        return _most_common(counts)
    return f"{_distinct(len(counts), total)}, e.g. {first}"


def _most_common(counts: Counter[str]) -> str:
    # Ties by the text itself, so that the same rows in any order read the same.
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"{json_string(value, 24)} {number:,}" for value, number in ordered[:_VALUES_SHOWN])
    return shown if len(ordered) <= _VALUES_SHOWN else f"{shown}, … {len(ordered) - _VALUES_SHOWN} more"


def _range(low: str, high: str, distinct: int, total: int) -> str:
    if low == high:
        return f"always {clipped(low, 24)}"
    return f"{clipped(low, 24)}…{clipped(high, 24)}, {_distinct(distinct, total)}"


def _distinct(distinct: int, total: int) -> str:
    return "all distinct" if distinct == total else f"{distinct:,} distinct"


def _share(part: int, whole: int, word: str) -> str:
    if not part:
        return ""
    percent = 100 * part / whole
    # Rounded away from 0 and 100, which would say "none" and "all".
    shown = "<1" if percent < 1 else ">99" if 99 < percent < 100 else f"{percent:.0f}"  # noqa: PLR2004  # as said
    return f"{shown} % {word}"


def _converted(texts: Iterable[str], convert: type[int | float]) -> list[float] | None:
    """The numbers, when every text is one; Python reads `1_000` and `nan` as numbers, a table does not mean them so."""
    try:
        numbers: list[float] = list(map(convert, texts))
        finite = all(map(math.isfinite, numbers))
    except (ValueError, OverflowError):
        return None
    return numbers if finite and "_" not in "".join(texts) else None


def _joined(notes: Iterable[str]) -> str:
    kept = [each for each in notes if each]
    return f" {', '.join(kept)}" if kept else ""
