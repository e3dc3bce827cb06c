"""Pieces of content as they may be shown: short, on one line, nothing invisible, and never cut inside a character."""

from __future__ import annotations

import unicodedata
from typing import Final

LINE_CHARS: Final = 140
"""What is shown of one line of content."""

_JOINER = "\u200d"
_MAX_STEPS_BACK = 16
_MAX_INDENT = 8
_NOT_WORTH_CUTTING = 8
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """The text with control, bidirectional and other invisible characters written as escapes."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def clipped(text: str, limit: int = LINE_CHARS) -> str:
    """The text made visible, and at most its first `limit` characters; `…` says that there is more."""
    limit = _affordable(text, limit)
    if len(text) <= limit:
        return visible(text)
    return f"{visible(text[: _cut_before(text, limit)]).rstrip()}…"


def clipped_bytes(raw: bytes, limit: int = LINE_CHARS) -> str:
    """As `clipped`, of UTF-8 of any length, with its indentation: no more of it is decoded than is shown."""
    # A character takes at most four bytes, so that one which is cut in two lies beyond the limit.
    text = raw[: 4 * limit + 4].decode("utf-8", "replace").rstrip()
    inner = text.lstrip(" \t")
    indent = text[: len(text) - len(inner)].expandtabs(2)[:_MAX_INDENT]
    return f"{indent}{clipped(inner, limit)}"


def json_string(text: str, limit: int = 40) -> str:
    """The text as a JSON string; of a much longer one its beginning as a whole JSON string, and `…` behind it.

    What stands between the quotes is always a string that JSON can read.
    """
    limit = _affordable(text, limit)
    if len(text) <= limit + _NOT_WORTH_CUTTING:
        return _in_quotes(text)
    return f"{_in_quotes(text[: _cut_before(text, limit)])}…"


def pointer_part(key: str) -> str:
    """A key as one part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _in_quotes(text: str) -> str:
    return f'"{visible(text.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34)))}"'


def _escape(character: str) -> str:
    code = ord(character)
    if code > 0xFFFF:  # noqa: PLR2004  # JSON writes what lies beyond as two surrogates
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return _SHORT_ESCAPES.get(character) or f"\\u{code:04x}"


def _affordable(text: str, limit: int) -> int:
    """How many of the first `limit` characters to show: fewer of those that take a token or more each."""
    beginning = text[:limit]
    if beginning.isascii():
        return limit
    room = 1.5 * limit
    for index, each in enumerate(beginning):
        room -= 1 if each.isascii() else 2 if each.isprintable() else 6
        if room < 0:
            return max(index, 1)
    return limit


def _cut_before(text: str, limit: int) -> int:
    """Where to cut so that no mark is parted from its letter; a letter with too many marks is cut all the same."""
    for cut in range(limit, max(limit - _MAX_STEPS_BACK, 0), -1):
        if text[cut] != _JOINER and text[cut - 1] != _JOINER and not unicodedata.category(text[cut]).startswith("M"):
            return cut
    return limit
