"""What a path finds in a JSON value."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from toolcrib_core import JsonValue
from toolcrib_core.schema.pointers import MISSING
from toolcrib_core.schema.pointers import Path as Way
from toolcrib_runtime.errors import JsonPathError

MAX_VISITED: Final = 2_000_000
"""How many values one path may look at."""

Found: TypeAlias = tuple[Way, JsonValue]
"""A value, and the way to it from the root."""

Select: TypeAlias = "Callable[[Walk, JsonValue], Iterable[tuple[str | int, JsonValue]]]"
"""What takes children out of a value, each with its key."""

ORDERINGS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Segment(NamedTuple):
    """One step of a path: from a value to its children, or with `descends` to those of everything below it, too."""

    selects: tuple[Select, ...]
    descends: bool


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path that was read."""

    text: str
    segments: tuple[Segment, ...] = field(repr=False, compare=False)


def find_values(value: JsonValue, path: JsonPath, *, max_visited: int | None = None) -> list[Found]:
    """The values that the path finds, in the order of RFC 9535; what it finds in two ways is there twice.

    Raises:
        JsonPathError: The path would look at more than `max_visited` values, by default `MAX_VISITED`.
    """
    return Walk(value, MAX_VISITED if max_visited is None else max_visited).find(value, path.segments)


def is_ordered(left: object, op: str, right: object) -> bool:
    """Whether two numbers or two texts are in that order; nothing else is less or greater than anything."""
    both_numbers = _is_number(left) and _is_number(right)
    both_texts = isinstance(left, str) and isinstance(right, str)
    return (both_numbers or both_texts) and ORDERINGS[op](left, right)


def is_equal(left: object, right: object) -> bool:
    """Whether two scalars are equal; in Python True is 1, in JSON it is not."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


class Walk:
    """Follows one path through one value, and stops when it has looked at too much."""

    def __init__(self, root: JsonValue, max_visited: int) -> None:
        self.root = root
        self._most = max_visited
        self._left = max_visited
        self._of_root: dict[int, list[JsonValue]] = {}

    def find(self, value: JsonValue, segments: Sequence[Segment]) -> list[Found]:
        """The values that the segments find from a value on."""
        found: list[Found] = [(None, value)]
        for selects, descends in segments:
            places = self._descended(found) if descends else found
            found = [
                ((way, key), child) for way, each in places for select in selects for key, child in select(self, each)
            ]
        return found

    def find_from_root(self, segments: Sequence[Segment]) -> list[JsonValue]:
        """The values that the segments find from the root on, which is done once for all filters that ask."""
        number = id(segments)
        if number not in self._of_root:
            self._of_root[number] = [each for _, each in self.find(self.root, segments)]
        return self._of_root[number]

    def look_at(self, values: int) -> None:
        """Count what was looked at.

        Raises:
            JsonPathError: That is too much.
        """
        self._left -= values
        if self._left < 0:
            raise JsonPathError(
                f"The path would look at more than {self._most:,} values.",
                hint="Name more of the way before `..`, `*` or a filter.",
            )

    def equal(self, left: object, right: object) -> bool:
        """Whether two values are equal, as deep as they are; `MISSING` equals itself."""
        pairs: list[tuple[Any, Any]] = [(left, right)]
        while pairs:
            one, other = pairs.pop()
            self.look_at(1)
            if isinstance(one, dict) and isinstance(other, dict):
                if one.keys() != other.keys():
                    return False
                pairs.extend((each, other[key]) for key, each in one.items())
            elif isinstance(one, list) and isinstance(other, list):
                if len(one) != len(other):
                    return False
                pairs.extend(zip(one, other, strict=True))
            elif not is_equal(one, other):
                return False
        return True

    def _descended(self, places: Iterable[Found]) -> Iterator[Found]:
        """The lists and objects among the places and below them, parents first; by a stack, however deep it is."""
        for place in places:
            waiting = [place]
            while waiting:
                way, value = waiting.pop()
                if not isinstance(value, dict | list):
                    continue
                self.look_at(1 + len(value))
                yield way, value
                deeper = [((way, key), each) for key, each in children(value) if isinstance(each, dict | list)]
                waiting.extend(reversed(deeper))


def children(value: JsonValue) -> Iterable[tuple[str | int, JsonValue]]:
    """The members of an object or the elements of a list, each with its key."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def child(value: Any, key: str | int) -> Any:
    """The member or element with this key, or `MISSING`; -1 is the last element."""
    if isinstance(key, str):
        return value.get(key, MISSING) if isinstance(value, dict) else MISSING
    return value[key] if isinstance(value, list) and -len(value) <= key < len(value) else MISSING


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
