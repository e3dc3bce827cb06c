"""JSON values as text: whole, or shortened at the borders of values with a count of what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

import orjson

from toolcrib_core import JsonValue, count_tokens
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.columns import type_name
from toolcrib_mcp.views.visible import replaced, visible

# Elements shown of each list or object, characters of each string, and levels: from ample to hardly anything.
_FORMS = ((12, 160, 4), (8, 80, 3), (5, 60, 2), (3, 40, 2), (3, 24, 1), (0, 12, 1))
# A text of more characters for each token is not counted: it would hardly ever fit.
_CHARS_PER_TOKEN = 16
_NODES = 2_000
_LONG_NUMBER = 40


def whole_json(value: JsonValue, room: int) -> str | None:
    """The value as compact JSON on one line; None when it surely has more than `room` tokens, or is too deep."""
    if _exceeds(value, room * _CHARS_PER_TOKEN):
        return None
    try:
        return visible(orjson.dumps(value).decode())
    except TypeError:
        # Integers of more than 64 bits, or deeper nesting than that writer takes.
        try:
            return visible(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        except RecursionError:
            return None


def fits(text: str, room: int) -> bool:
    """Whether the text has at most so many tokens."""
    return len(text) <= room * _CHARS_PER_TOKEN and count_tokens(text) <= room


def shortened(value: JsonValue, room: int) -> str:
    """The value in at most `room` tokens or little more: whole, or with `…(n more)` where something is left out."""
    text = whole_json(value, room)
    if text is not None and fits(text, room):
        return text
    for items, characters, levels in _FORMS:
        text = "".join(_Shortener(items, characters).parts(value, levels))
        if fits(text, room):
            return text
    return "…"


def label(key: str | int, *, most: int = 60) -> str:
    """A key or index as it is shown before its value."""
    return str(key) if isinstance(key, int) else _string(key, most)


def kind_words(value: JsonValue) -> str:
    """What a value is, with its size: `object of 3 keys`."""
    match value:
        case dict():
            return f"object of {count(len(value), 'key')}"
        case list():
            return f"list of {count(len(value), 'item')}"
        case str():
            return f"string of {count(len(value), 'character')}"
    return type_name(value)


class _Shortener:
    """Writes a bounded number of values, and counts the others."""

    def __init__(self, items: int, characters: int) -> None:
        self._items = items
        self._characters = characters
        self._left = _NODES

    def parts(self, value: JsonValue, levels: int) -> Iterator[str]:
        self._left -= 1
        match value:
            case dict():
                pairs = ((f"{_string(key, self._characters)}:", child) for key, child in value.items())
                yield from self._container("{}", pairs, len(value), levels)
            case list():
                yield from self._container("[]", (("", child) for child in value), len(value), levels)
            case str():
                yield _string(value, self._characters)
            case _:
                text = json.dumps(value)
                yield text if len(text) <= _LONG_NUMBER else f"{text[: self._characters]}…"

    def _container(
        self, brackets: str, pairs: Iterator[tuple[str, JsonValue]], size: int, levels: int
    ) -> Iterator[str]:
        shown = min(size, self._items) if levels > 0 and self._left > 0 else 0
        yield brackets[0]
        for number, (key, child) in enumerate(islice(pairs, shown)):
            yield f"{',' if number else ''}{key}"
            yield from self.parts(child, levels - 1)
        if size > shown:
            yield f"{',' if shown else ''}…({size - shown:,} more)"
        yield brackets[1]


def _string(text: str, most: int) -> str:
    if len(text) <= most:
        return visible(json.dumps(replaced(text), ensure_ascii=False))
    return f'{visible(json.dumps(replaced(text[:most]), ensure_ascii=False))[:-1]}…"({len(text):,} characters)'


def _exceeds(value: JsonValue, characters: int) -> bool:
    """Whether the value takes more characters as JSON; no more is looked at than is needed to know."""
    open_values, size = [value], 0
    while open_values and size <= characters:
        each = open_values.pop()
        match each:
            case dict() | list():
                size += 2 + 2 * len(each)
                if size <= characters:
                    size += sum(map(len, each)) if isinstance(each, dict) else 0
                    open_values.extend(each.values() if isinstance(each, dict) else each)
            case str():
                size += len(each)
    return size > characters
