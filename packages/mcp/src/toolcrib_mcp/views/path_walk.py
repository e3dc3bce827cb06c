"""What a path finds in a JSON value, with a bound on how much is looked at."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from toolcrib_core import JsonValue
from toolcrib_core.json_values import JsonScalar
from toolcrib_core.schema.pointers import Path as Way
from toolcrib_mcp.views.failing import wrong
from toolcrib_mcp.views.path_syntax import Filter, Index, Name, Part, Slice, Step, Test

MAX_VISITED: Final = 2_000_000
"""How many values one path may look at."""

Found: TypeAlias = tuple[Way, JsonValue]
"""A value, and the way to it from the root."""

ORDERINGS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""How each operator orders two numbers or two texts."""

_MISSING: Final = object()


def find(value: JsonValue, steps: Iterable[Step]) -> list[Found]:
    """Every value that the path finds, each once, in the order of the document.

    Raises:
        ViewFailed: The path would look at more than `MAX_VISITED` values.
    """
    walk = _Walk()
    found: list[Found] = [(None, value)]
    for step in steps:
        places = walk.descended(found) if step.descends else found
        children = walk.children(places, step.parts)
        # Only several parts in one bracket can find the same child twice: no place is left twice.
        found = _once(children) if len(step.parts) > 1 else list(children)
    return found


class _Walk:
    def __init__(self) -> None:
        self._left = MAX_VISITED

    def children(self, places: Iterable[Found], parts: tuple[Part, ...]) -> Iterator[Found]:
        selects = [_selecting(part) for part in parts]
        for way, value in places:
            for part, select in zip(parts, selects, strict=True):
                # A filter looks at every child, whether or not it is found.
                self._look_at(len(value) if isinstance(part, Filter) and isinstance(value, dict | list) else 1)
                for key, child in select(value):
                    self._look_at(1)
                    yield (way, key), child

    def descended(self, places: Iterable[Found]) -> Iterator[Found]:
        """The lists and objects among the places and below them, parents first; by a stack, however deep it is."""
        seen: set[int] = set()
        for place in places:
            open_places = [place]
            while open_places:
                way, value = open_places.pop()
                if not isinstance(value, dict | list) or id(value) in seen:
                    continue
                self._look_at(1 + len(value))
                seen.add(id(value))
                yield way, value
                deeper = [((way, key), each) for key, each in _pairs(value) if isinstance(each, dict | list)]
                open_places.extend(reversed(deeper))

    def _look_at(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise wrong(
                f"The path would look at more than {MAX_VISITED:,} values.",
                hint="Name more of the way before `..` or `*`, or use `rows` or `search`.",
                type_="path",
            )


def _selecting(part: Part) -> Callable[[JsonValue], Iterable[tuple[str | int, JsonValue]]]:
    """What takes the children that the part means out of a value."""
    match part:
        case Name(name=name):
            return lambda value: ((name, value[name]),) if isinstance(value, dict) and name in value else ()
        case Index(index=index):
            return lambda value: _element(value, index)
        case Slice(start=start, stop=stop, step=step):
            chosen = slice(start, stop, step)
            return lambda value: _elements(value, chosen)
        case Filter(groups=groups):
            return lambda value: (
                (key, child)
                for key, child in _pairs(value)
                if any(all(_passes(child, test) for test in tests) for tests in groups)
            )
    return _pairs


def _element(value: JsonValue, index: int) -> Iterable[tuple[int, JsonValue]]:
    if isinstance(value, list) and -len(value) <= index < len(value):
        return ((index % len(value), value[index]),)
    return ()


def _elements(value: JsonValue, chosen: slice) -> Iterable[tuple[int, JsonValue]]:
    if isinstance(value, list):
        return ((index, value[index]) for index in range(*chosen.indices(len(value))))
    return ()


def _once(found: Iterable[Found]) -> list[Found]:
    return list({_keys(way): (way, value) for way, value in found}.values())


def _keys(way: Way) -> tuple[str | int, ...]:
    keys: list[str | int] = []
    while way is not None:
        way, key = way
        keys.append(key)
    return tuple(keys)


def _pairs(value: JsonValue) -> Iterable[tuple[str | int, JsonValue]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _passes(value: JsonValue, test: Test) -> bool:
    found = _at(value, test.place)
    if test.op is None:
        return found is not _MISSING
    if found is _MISSING:
        return test.op == "!="
    return compares(found, test.op, test.value)


def compares(left: object, op: str, right: JsonScalar) -> bool:
    """Whether the comparison holds; what cannot be ordered, as a number and a text, is neither less nor greater."""
    if op in {"==", "!="}:
        return _equal(left, right) == (op == "==")
    both_numbers = _is_number(left) and _is_number(right)
    both_texts = isinstance(left, str) and isinstance(right, str)
    return (both_numbers or both_texts) and ORDERINGS[op](left, right)


def _equal(left: object, right: JsonScalar) -> bool:
    # In Python True is 1; in JSON it is not.
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _at(value: JsonValue, place: tuple[str | int, ...]) -> object:
    here: object = value
    for key in place:
        found = _inside(here, key)
        if found is _MISSING:
            return _MISSING
        here = found
    return here


def _inside(value: Any, key: str | int) -> Any:
    if isinstance(key, str):
        return value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
    return value[key] if isinstance(value, list) and -len(value) <= key < len(value) else _MISSING
