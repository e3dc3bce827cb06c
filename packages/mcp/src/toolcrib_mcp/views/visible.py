"""Content as text that hides nothing: decoded without loss, shown with its invisible characters spelt out."""

from __future__ import annotations

import json
import re
import unicodedata

from toolcrib_core.tokens import split_tokens

# Controls, the marks that turn the direction of text, separators that some readers take for line breaks, the mark of
# byte order, and the tags that spell out text which nobody sees. Joiners and selectors of emoji stay.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_INVALID = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_JOINER = "\u200d"
_MAX_STEPS_BACK = 16
_LONGEST_CHARACTER = 4


def decoded(raw: bytes) -> str:
    """The text of the bytes; a byte that is no UTF-8 becomes one lone surrogate, so that `encoded` finds it again."""
    return raw.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes that `decoded` made this text of."""
    return text.encode("utf-8", "surrogateescape")


def replaced(text: str) -> str:
    """The text with a replacement character for every lone surrogate; it keeps its length."""
    return text if text.isascii() else _INVALID.sub(_REPLACEMENT, text)


def visible(text: str) -> str:
    """The text as it is shown: line breaks and tabs stay, what cannot be seen is spelt out as in JSON."""
    return _HIDDEN.sub(_escaped, replaced(text)).replace("\r", "\\r")


def is_visible(text: str) -> bool:
    """Whether the text can be shown exactly as it is."""
    return _HIDDEN.search(text) is None and _INVALID.search(text) is None


def character_end(content: bytes, at: int) -> int:
    """The last place at or before `at` that does not lie inside a character."""
    for place in range(at, max(at - _LONGEST_CHARACTER, 0), -1):
        if place == len(content) or content[place] & 0xC0 != 0x80:  # noqa: PLR2004  # the bits of a continuation byte
            return place
    return at


def fitting_length(text: str, room: int) -> int:
    """How many characters of the text can be shown within so many tokens; at least one, and whole ones with marks.

    A beginning is merged anew, and could have a token more than it had as a part of the whole: the page is counted.
    """
    tokens = split_tokens(visible(text))
    if len(tokens) <= room:
        return len(text)
    length = _shown_by(text, len(b"".join(tokens[:room]).decode("utf-8", "ignore")))
    return _whole_characters(text, max(length, 1))


def _shown_by(text: str, characters: int) -> int:
    """How much of the text is shown by so many characters."""
    low, high = 0, min(len(text), characters)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(visible(text[:middle])) <= characters else (low, middle - 1)
    return low


def _whole_characters(text: str, end: int) -> int:
    for cut in range(min(end, len(text) - 1), max(end - _MAX_STEPS_BACK, 0), -1):
        if _JOINER not in (text[cut], text[cut - 1]) and not unicodedata.category(text[cut]).startswith("M"):
            return cut
    return max(end, 1)


def _escaped(hidden: re.Match[str]) -> str:
    """As JSON escapes it, so that JSON remains JSON."""
    return json.dumps(hidden[0])[1:-1] if hidden[0] != "\x7f" else "\\u007f"
