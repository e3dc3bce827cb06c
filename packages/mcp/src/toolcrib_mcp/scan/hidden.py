"""Characters that a person does not see and a model does.

Refused are the categories Cc, Cf, Co, Cs and Cn, and the characters of other categories that Unicode says to draw as
nothing or that are blank: variation selectors, fillers, a grapheme joiner, the blank Braille cell, the blank note. Of
the 1,417 tools of real servers that this was decided with (100,405 texts), four texts had any, all of them the selector
that makes a warning sign an emoji. So what people need is let through where it is drawn, and only in prose:

- U+FE0F after a symbol, and within a keycap: it picks the coloured form.
- U+200D between two symbols, which are then drawn as one.
- U+200C and U+200D between two letters of Arabic, Syriac or the scripts of India: spelling needs them there.
- A carriage return before a line feed: such lines come from files written under Windows.

A name must not have a space of another width either: it looks like an ordinary space, or like nothing. Only the wide
one of East Asia may stand between two letters that are not ASCII.

No mark at the beginning, soft hyphen or flag made of tag characters occurred, so none is let through.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from toolcrib_mcp.scan.texts import TextRole

_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
_DRAWN_AS_NOTHING: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00016fe4\U0001d159"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
_LINE_BREAKS: Final = frozenset("\n\t\u2028\u2029")
_SPACES: Final = re.compile(
    "[\u00a0\u1680\u2000-\u200a\u202f\u205f]|(?<![^\x00-\x7f\u3000])\u3000|\u3000(?![^\x00-\x7f\u3000])"
)
_NEEDED_IN_PROSE: Final = frozenset("\r\ufe0f\u200c\u200d")
# Blocks of symbols, each of which is drawn; an unassigned place of the last one is an emoji of a later Unicode than
# this Python's, so that the same text is not refused by 3.11 and let through by 3.13.
_PICTURES: Final = "\U0001f000-\U0001faff"
_SYMBOLS: Final = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    f"\u3030\u303d\u3297\u3299{_PICTURES}"
)
_JOINING_LETTERS: Final = "\u0600-\u07bf\u08a0-\u0dff"
_SHOWN: Final = re.compile(
    "\r(?=\n)"
    f"|(?<=[{_SYMBOLS}])\ufe0f(?!\ufe0f)"
    "|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    f"|(?<=[{_SYMBOLS}\ufe0f])\u200d(?=[{_SYMBOLS}])"
    f"|(?<=[{_JOINING_LETTERS}])[\u200c\u200d](?=[{_JOINING_LETTERS}])"
)
_KNOWN_AS: Final = {
    "\x00": "NUL",
    "\x08": "BACKSPACE",
    "\t": "TAB",
    "\n": "LINE FEED",
    "\r": "CARRIAGE RETURN",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
}
_CATEGORY_NAMES: Final = {"Cc": "control character", "Co": "private use", "Cs": "lone surrogate", "Cn": "unassigned"}


def hidden_characters(text: str, role: TextRole) -> tuple[str, ...]:
    """The characters of a text that must not be in a text of this role, each once, ascending."""
    found = {each for each in set(text) if is_hidden(each)}
    if role == "name":
        found |= _LINE_BREAKS & set(text)
        found.update(_SPACES.findall(text))
    elif role == "prose" and found & _NEEDED_IN_PROSE:
        found -= _NEEDED_IN_PROSE
        found |= _NEEDED_IN_PROSE & set(_SHOWN.sub("", text))
    return tuple(sorted(found))


def may_have_hidden(text: str) -> bool:
    """Whether `hidden_characters` may find any in a text of whatever role: a quick question about a lot of text."""
    # A space of another width is not printable.
    return not text.isprintable() or (not text.isascii() and not _DRAWN_AS_NOTHING.isdisjoint(text))


@lru_cache(maxsize=4_096)
def is_hidden(character: str) -> bool:
    """Whether a character is not drawn; a line feed and a tab are."""
    if character in _DRAWN_AS_NOTHING:
        return True
    category = unicodedata.category(character)
    if category not in _HIDDEN_CATEGORIES or character in {"\n", "\t"}:
        return False
    return not (category == "Cn" and "\U0001f000" <= character <= "\U0001faff")


def character_name(character: str) -> str:
    """A character that is not drawn, in words: `U+200B (ZERO WIDTH SPACE)`."""
    category = _CATEGORY_NAMES.get(unicodedata.category(character), "unnamed")
    return f"U+{ord(character):04X} ({_KNOWN_AS.get(character) or unicodedata.name(character, category)})"
