"""Cells of rows: what conditions and sorting make of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from toolcrib_core import JsonValue
from toolcrib_core.json_values import JsonScalar
from toolcrib_mcp.views.selectors import Condition
from toolcrib_runtime.json_paths import is_equal, is_ordered

Check: TypeAlias = Callable[[JsonValue], bool]
SortKey: TypeAlias = tuple[int, int | float | str]

_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?\s*")
_MAX_DIGITS = 30
_NUMBERS, _TEXTS, _TRUTHS, _OTHERS = range(4)
_NOTHING = 4
_BELOW_ALL = -1


def is_nothing(cell: JsonValue) -> bool:
    """Whether the cell is null, absent or empty text."""
    return cell is None or cell == ""


def number_in(cell: JsonValue) -> int | float | None:
    """The number that a cell is, or that its text spells."""
    if isinstance(cell, bool):
        return None
    if isinstance(cell, int | float):
        return cell
    if not isinstance(cell, str):
        return None
    if cell.isdecimal() and cell.isascii() and len(cell) <= _MAX_DIGITS:
        return int(cell)
    if _NUMBER.fullmatch(cell):
        return int(cell) if cell.strip().lstrip("+-").isdecimal() else float(cell)
    return None


def check_of(condition: Condition, *, is_text: bool) -> Check:
    """What tells whether a cell fulfils the condition; with `is_text` cells are the texts of a table."""
    op, value = condition.op, condition.value
    if isinstance(value, tuple):
        options = [_equals(each, is_text=is_text) for each in value]
        return lambda cell: any(equals(cell) for equals in options)
    match op:
        case "=" | "is null":
            # `is null` has no value, and null is what a cell without one equals.
            return _equals(value if op == "=" else None, is_text=is_text)
        case "!=" | "is not null":
            equal = _equals(value if op == "!=" else None, is_text=is_text)
            return lambda cell: not equal(cell)
        case "contains":
            return _contains(value)
    return _ordered(op, value, is_text=is_text)


def sort_key(cell: JsonValue, *, desc: bool, is_text: bool) -> SortKey:
    """What rows are sorted by: numbers, then texts, then the rest; cells with nothing come last either way."""
    if is_nothing(cell):
        return (_BELOW_ALL if desc else _NOTHING), 0
    number = number_in(cell) if is_text else None
    match cell:
        case _ if number is not None:
            return _NUMBERS, number
        case bool():
            return _TRUTHS, cell
        case int() | float():
            return _NUMBERS, cell
        case str():
            return _TEXTS, cell
    return _OTHERS, len(cell) if isinstance(cell, dict | list) else 0


def _equals(value: JsonScalar, *, is_text: bool) -> Check:
    if value is None:
        return is_nothing
    if not is_text:
        return lambda cell: is_equal(cell, value)
    if isinstance(value, bool):
        word = str(value).lower()
        return lambda cell: isinstance(cell, str) and cell.strip().lower() == word
    if isinstance(value, str):
        return lambda cell: cell == value
    return lambda cell: number_in(cell) == value


def _ordered(op: str, value: JsonScalar, *, is_text: bool) -> Check:
    number = number_in(value) if is_text else None
    if number is None:
        return lambda cell: is_ordered(cell, op, value)

    def holds(cell: JsonValue) -> bool:
        other = number_in(cell)
        # A text that spells no number is compared as a text, where a text was given.
        return is_ordered(cell, op, value) if other is None else is_ordered(other, op, number)

    return holds


def _contains(value: JsonScalar) -> Check:
    wanted = str(value).casefold()

    def holds(cell: JsonValue) -> bool:
        match cell:
            case str():
                return wanted in cell.casefold()
            case list():
                return any(is_equal(each, value) for each in cell)
            case dict():
                return isinstance(value, str) and value in cell
        return False

    return holds
