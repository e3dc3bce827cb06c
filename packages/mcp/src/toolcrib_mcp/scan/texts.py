"""Every text in an item that a server lists, with its place and its role, in bounded time and without recursion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from toolcrib_core import JsonValue

TextRole: TypeAlias = Literal["name", "value", "prose"]
"""What a text is for.

`name`: it is typed in again to say which one is meant: names of tools, prompts, parameters, every key, addresses.
`value`: it may become an argument as it stands: `enum`, `const`, `default`. `prose`: it is read.
"""

MAX_NODES: Final = 200_000
"""An item with more values than this is not read to its end."""
MAX_CHARACTERS: Final = 8 * 1024 * 1024
"""An item with more text than this is not read to its end."""

_VALUES: Final = frozenset({"enum", "const", "default"})
_NAMED: Final = frozenset({"name", "uri", "uriTemplate", "mimeType"})


_MAX_KEYS: Final = 32


class TooMuchText(Exception):
    """An item has more values or more text than is read."""


class Place(NamedTuple):
    """Where a value stands: a key or an index, and the place of what holds it."""

    holder: Place | None
    key: str | int

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer; of a deep one the end, after `…`."""
        keys: list[str] = []
        place: Place | None = self
        while place is not None and len(keys) < _MAX_KEYS:
            keys.append(_escaped(str(place.key)))
            place = place.holder
        return "/".join(["" if place is None else "…", *reversed(keys)])


_ARGUMENTS: Final = Place(None, "arguments")


@dataclass(frozen=True, slots=True)
class PlacedText:
    """One text and where it stands."""

    place: Place | None
    role: TextRole
    text: str

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer; empty for a text that is the whole item."""
        return "" if self.place is None else self.place.pointer


def strings_of(item: JsonValue) -> tuple[set[str], set[str]]:
    """The keys and the other texts in an item of JSON, each once: `placed_texts` without the places.

    Raises:
        TooMuchText: There are more than are read.
    """
    keys: list[str] = []
    texts: list[str] = []
    rest: list[JsonValue] = [item]
    nodes = 0
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict):
            nodes += len(value)
            keys.extend(value)
            rest.extend(value.values())
        elif isinstance(value, list):
            nodes += len(value)
            rest.extend(value)
        if nodes > MAX_NODES:
            raise TooMuchText
    if sum(map(len, keys)) + sum(map(len, texts)) > MAX_CHARACTERS:
        raise TooMuchText
    return set(keys), set(texts)


def placed_texts(item: JsonValue) -> Iterator[PlacedText]:
    """Every text in an item of JSON with its place; to be asked only where `strings_of` did not raise."""
    rest: list[tuple[Place | None, TextRole, JsonValue]] = [(None, "prose", item)]
    while rest:
        holder, role, value = rest.pop()
        if isinstance(value, str):
            yield PlacedText(holder, role, value)
        elif isinstance(value, dict):
            for key, each in value.items():
                place = Place(holder, key)
                yield PlacedText(place, "name", key)
                rest.append((place, _role(holder, key, inherited=role), each))
        elif isinstance(value, list):
            rest.extend((Place(holder, number), role, each) for number, each in enumerate(value))


def own_names(item: JsonValue) -> Iterator[str]:
    """What an item and the arguments of a prompt are called: the texts of the role `name` that are not keys."""
    if not isinstance(item, dict):
        return
    arguments = item.get("arguments")
    for holder in (item, *(arguments if isinstance(arguments, list) else ())):
        if isinstance(holder, dict):
            yield from (text for key in _NAMED if isinstance(text := holder.get(key), str))


def _role(holder: Place | None, key: str, *, inherited: TextRole) -> TextRole:
    # At the top of an item and of a prompt's argument it is what that one is called; deeper it may be anything.
    if key in _NAMED and (holder is None or holder.holder == _ARGUMENTS):
        return "name"
    return "value" if key in _VALUES else inherited


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
