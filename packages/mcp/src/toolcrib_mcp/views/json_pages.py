"""Pages of JSON: a value whole where it fits, else its elements one in a line; a long string in parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TypeAlias

from toolcrib_core import JsonObject, JsonValue, count_tokens
from toolcrib_core.json_values import pointer_join
from toolcrib_core.schema.pointers import pointer_of
from toolcrib_mcp.views.cursors import Position, foreign_cursor
from toolcrib_mcp.views.json_rendering import fits, kind_words, label, shortened, whole_json
from toolcrib_mcp.views.pages import Page, ranged
from toolcrib_mcp.views.visible import fitting_length, visible
from toolcrib_runtime.json_paths import Found

Element: TypeAlias = tuple[str, str | None, JsonValue]
"""What stands before a value, the pointer that leads to it where one can be shown, and the value."""

_MAX_POINTER_SHOWN = 120
_SHARE = 3
_CHARS_PER_TOKEN = 16


def value_page(value: JsonValue, pointer: str, position: Position | None, *, room: int) -> Page:
    """The page of one value that begins at the position: an index of its elements, or a character of its text.

    Raises:
        ViewFailed: The position lies outside the value.
    """
    whole = whole_json(value, room)
    if position is None and whole is not None and fits(whole, room):
        return Page(where=f"whole {kind_words(value)}", body=whole, facts={"unit": "value", "total": 1})
    match value:
        case dict():
            begin = _begin(position, len(value))
            named: list[Element] = [
                (f"{label(key)}: ", _shown_pointer(pointer_join(pointer, key)), child)
                for key, child in islice(value.items(), begin, begin + room)
            ]
            return _element_page(named, begin, len(value), thing="keys", room=room)
        case list():
            begin = _begin(position, len(value))
            counted: list[Element] = [
                (f"{begin + number}: ", _shown_pointer(f"{pointer}/{begin + number}"), child)
                for number, child in enumerate(value[begin : begin + room])
            ]
            return _element_page(counted, begin, len(value), thing="items", room=room)
    return _string_page(value if isinstance(value, str) else str(value), position, room=room)


def found_page(found: Sequence[Found], position: Position | None, *, room: int) -> Page:
    """The page of the values that a path has found, each behind its pointer.

    Raises:
        ViewFailed: The position lies outside them.
    """
    if not found:
        return Page(where="no value is found by this path", facts={"unit": "values", "total": 0})
    begin = _begin(position, len(found))
    elements: list[Element] = []
    for way, value in found[begin : begin + room]:
        pointer = _shown_pointer(pointer_of(way))
        elements.append((f"{pointer or '(whole)'}: " if pointer is not None else "(long pointer): ", pointer, value))
    return _element_page(elements, begin, len(found), thing="values", room=room)


def _begin(position: Position | None, total: int) -> int:
    if position is None:
        return 0
    if not 0 < position.at < total:
        raise foreign_cursor()
    return position.at


def _element_page(elements: Sequence[Element], begin: int, total: int, *, thing: str, room: int) -> Page:
    lines: list[str] = []
    left = room
    for before, pointer, value in elements:
        line = _line(before, pointer, value, left=left, room=room, is_first=not lines)
        if line is None:
            break
        lines.append(line)
        left -= count_tokens(f"{line}\n")
    end = begin + len(lines)
    facts: JsonObject = {"unit": thing, "first": begin, "last": end - 1, "total": total}
    return Page(
        where=f"{thing} {ranged(begin, end - 1)} of {total:,}, counted from 0",
        body="\n".join(lines),
        facts=facts,
        following=Position(end) if end < total else None,
    )


def _line(before: str, pointer: str | None, value: JsonValue, *, left: int, room: int, is_first: bool) -> str | None:
    """The line of one element; None when it is better shown on the next page."""
    whole = whole_json(value, room)
    line = f"{before}{whole}"
    if whole is not None and fits(line, left - 1):
        return line
    if not is_first and ((whole is not None and fits(line, room - 1)) or left < room // _SHARE):
        return None
    # Longer than a page: a third of one is enough to see what it is, and the pointer leads deeper.
    share = room // _SHARE
    deeper = f'  → pointer "{pointer}"' if pointer is not None else ""
    cost = count_tokens(before) + count_tokens(deeper)
    if cost > share:
        before, deeper, cost = "…: ", "", 2
    return f"{before}{shortened(value, max(share - cost, 1))}{deeper}"


def _string_page(text: str, position: Position | None, *, room: int) -> Page:
    begin = _begin(position, len(text))
    window = text[begin : begin + room * _CHARS_PER_TOKEN]
    part = window[: fitting_length(window, room)]
    end = begin + len(part)
    facts: JsonObject = {"unit": "characters", "first": begin, "last": end - 1, "total": len(text)}
    return Page(
        where=f"characters {ranged(begin, end - 1)} of {len(text):,} of one string",
        body=visible(part),
        facts=facts,
        following=Position(end) if end < len(text) else None,
    )


def _shown_pointer(pointer: str) -> str | None:
    """The pointer as it may be shown and sent back: not when it is long, or not what it seems."""
    short = len(pointer) <= _MAX_POINTER_SHOWN and visible(pointer) == pointer and "\n" not in pointer
    return pointer.replace("\\", "\\\\").replace('"', '\\"') if short else None
