"""Words about values from elsewhere: bounded, printable, and without the values themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

MAX_SHOWN: Final = 20
"""How many names or options a message lists before it only counts them."""

_MAX_TEXT = 80
_MAX_COMPARED_LENGTH = 128
_MAX_COMPARED_PAIRS = 40_000
"""How many pairs of characters are compared to find the nearest option, at up to 45 ns each: an error may list a
thousand violations."""


def quoted(text: str) -> str:
    """Text from elsewhere, in backticks: shortened, on one line, and with nothing in it that cannot be seen."""
    return f"`{shown(text).replace('`', chr(39))}`"


def shown(text: str) -> str:
    """Text from elsewhere, shortened, on one line, and with nothing in it that cannot be seen."""
    if len(text) <= _MAX_TEXT and text.isprintable():
        return text
    shortened = text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shortened)


def listed(texts: Iterable[str]) -> str:
    """Texts from elsewhere in backticks, the first twenty of them."""
    every = list(texts)
    shown = ", ".join(map(quoted, every[:MAX_SHOWN]))
    return f"{shown} and {len(every) - MAX_SHOWN} more" if len(every) > MAX_SHOWN else shown


def kind_of(value: object) -> str:
    """What a value is, without saying which."""
    match value:
        case None | bool():
            return "null" if value is None else "a boolean"
        case int() | float():
            return "an integer" if isinstance(value, int) else "a number"
        case str():
            return f"a string of {count(len(value), 'character')}"
        case list() | tuple():
            return f"a list of {count(len(value), 'item')}"
        case dict():
            return f"an object with {count(len(value), 'property', 'properties')}"
    return "a value that is not JSON"


def nearest(word: str, options: Iterable[str]) -> str | None:
    """The option that the word was probably meant to be."""
    if len(word) > _MAX_COMPARED_LENGTH:
        return None
    comparable, left = [], _MAX_COMPARED_PAIRS // max(1, len(word))
    for each in options:
        if len(each) <= _MAX_COMPARED_LENGTH:
            left -= len(each)
            if left < 0:
                break
            comparable.append(each)
    folded = {each.casefold(): each for each in reversed(comparable)}
    close = get_close_matches(word.casefold(), folded, n=1)
    return folded[close[0]] if close else None


def either(options: Sequence[str]) -> str:
    """The options as words: `a, b or c`."""
    return options[0] if len(options) == 1 else f"{', '.join(options[:-1])} or {options[-1]}"


def count(number: int, one: str, many: str | None = None) -> str:
    """A number of things, as words: `1 item`, `2,000 items`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
