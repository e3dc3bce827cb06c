"""What stands where: the keys of objects, and the shape of a whole value, with the types that were found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

from toolcrib_core import JsonValue
from toolcrib_mcp.firewall.columns import type_name
from toolcrib_mcp.views.failing import wrong
from toolcrib_mcp.views.json_rendering import kind_words, label
from toolcrib_mcp.views.pages import ranged
from toolcrib_mcp.views.row_sources import RowSource
from toolcrib_mcp.views.row_values import is_nothing, number_in
from toolcrib_mcp.views.visible import visible

MAX_VISITED: Final = 1_000_000
"""Of how many values a shape tells; of larger content it is that of the first so many."""

MAX_ROWS: Final = 10_000
"""Of how many rows the types of the cells are told."""

Line: TypeAlias = Callable[[], str]
"""A line that is written when it is asked for."""

_MAX_PLACES = 5_000
_MAX_KEYS = 100
_MAX_DEPTH = 40
_MAX_NAME = 60
_MAX_PLACE = 160
_PLAIN_NAME = re.compile(r"[^\W\d][\w-]*")


@dataclass(slots=True)
class _Place:
    """Everything that was found at one place of a shape."""

    name: str = "$"
    types: Counter[str] = field(default_factory=Counter)
    sizes: tuple[int, int] | None = None
    children: dict[str | None, _Place] = field(default_factory=dict)
    """By key; the elements of lists under None."""
    left_out: int = 0
    """Keys beyond those that are kept."""

    def found(self, value: JsonValue) -> None:
        """Count a value that was found here."""
        self.types[type_name(value)] += 1
        if isinstance(value, list):
            low, high = self.sizes or (len(value), len(value))
            self.sizes = min(low, len(value)), max(high, len(value))

    def line(self) -> str:
        """The place, its types and how often it was found."""
        kinds = _counted(self.types)
        if self.sizes is not None:
            low, high = self.sizes
            kinds = kinds.replace("list", f"list of {ranged(low, high) if high > low else f'{high:,}'} items", 1)
        more = f", …({self.left_out:,} more keys)" if self.left_out else ""
        return f"{_shown_place(self.name)}: {kinds}{more}"


def key_lines(value: JsonValue) -> list[Line]:
    """The keys of an object, or of all objects in a list, each with what stands there.

    Raises:
        ViewFailed: The value is neither.
    """
    match value:
        case dict():
            return [partial(_key_line, key, child) for key, child in value.items()]
        case list() if value and all(isinstance(each, dict) for each in value):
            found: dict[str, Counter[str]] = {}
            for each in value:
                for key, child in each.items() if isinstance(each, dict) else ():
                    found.setdefault(key, Counter())[type_name(child)] += 1
            return [partial(_column_line, key, types) for key, types in found.items()]
    raise wrong(f"Only objects have keys; what stands there: {kind_words(value)}.", type_="keys", hint="Try `shape`.")


def column_lines(source: RowSource) -> tuple[list[Line], str]:
    """The columns of a table with the types of their cells; and a remark when not all rows were looked at."""
    found: dict[str, Counter[str]] = {name: Counter() for name in source.columns}
    rows = source.rows()
    for row in islice(rows, MAX_ROWS):
        for name, cell in zip(source.columns, row, strict=False):
            found[name][_cell_type(cell)] += 1
    is_all = next(rows, None) is None
    lines: list[Line] = [partial(_column_line, name, types) for name, types in found.items()]
    return lines, "" if is_all else f", types of the first {MAX_ROWS:,} rows"


def shape_lines(value: JsonValue) -> tuple[list[Line], bool]:
    """The places of the value with their types, parents first; and whether all of it was looked at."""
    places, is_all = _shape(value)
    return [place.line for place in places], is_all


def _shape(value: JsonValue) -> tuple[list[_Place], bool]:
    root = _Place()
    root.found(value)
    left, places = MAX_VISITED, 1
    open_values: list[tuple[JsonValue, _Place, int]] = [(value, root, 0)]
    while open_values:
        each, place, depth = open_values.pop()
        if not isinstance(each, dict | list) or depth >= _MAX_DEPTH or not each:
            continue
        left -= len(each)
        if left < 0:
            return list(_in_order(root)), False
        pairs = each.items() if isinstance(each, dict) else ((None, child) for child in each)
        deeper: list[tuple[JsonValue, _Place, int]] = []
        for key, child in pairs:
            under = place.children.get(key)
            if under is None:
                if places >= _MAX_PLACES or len(place.children) >= _MAX_KEYS:
                    place.left_out += 1
                    continue
                under = place.children[key] = _Place(f"{place.name}{_step(key)}")
                places += 1
            under.found(child)
            if isinstance(child, dict | list):
                deeper.append((child, under, depth + 1))
        # Turned round for the stack: of too many values the first ones are looked at.
        open_values.extend(reversed(deeper))
    return list(_in_order(root)), True


def _key_line(key: str, value: JsonValue) -> str:
    return f"{label(key, most=_MAX_NAME)}: {kind_words(value)}"


def _column_line(name: str, types: Counter[str]) -> str:
    return f"{label(name, most=_MAX_NAME)}: {_counted(types) or 'nothing'}"


def _cell_type(cell: str) -> str:
    if is_nothing(cell):
        return "empty"
    number = number_in(cell)
    return "string" if number is None else type_name(number)


def _counted(types: Counter[str]) -> str:
    return " | ".join(f"{each} \u00d7{number:,}" if number > 1 else each for each, number in types.most_common())


def _in_order(root: _Place) -> Iterator[_Place]:
    open_places = [root]
    while open_places:
        place = open_places.pop()
        yield place
        open_places.extend(reversed(place.children.values()))


def _step(key: str | None) -> str:
    if key is None:
        return "[*]"
    short = key if len(key) <= _MAX_NAME else f"{key[:_MAX_NAME]}…"
    return f".{short}" if _PLAIN_NAME.fullmatch(short) else f"[{label(short)}]"


def _shown_place(name: str) -> str:
    return visible(name if len(name) <= _MAX_PLACE else f"…{name[-_MAX_PLACE:]}")
