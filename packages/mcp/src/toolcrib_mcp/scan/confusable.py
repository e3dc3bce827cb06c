"""Letters of one script that pass for letters of another: `path` with a Cyrillic letter in it.

Whole texts in any script are fine. In prose, what is found is a word that mixes Latin letters with others that look
like Latin ones. Science writes Greek letters at the ends of words (interferon alpha, kappa B), and some languages put
a particle before a Latin word, so these count only between Latin letters. A name is looked at more closely: it must
not look like ASCII as a whole without being ASCII.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.scan.look_alikes import LOOK_ALIKES

# Scripts with many letters that cannot be told from Latin ones, and a few letters that Unicode's list lacks.
_NEAR_SCRIPTS: Final = re.compile("[\u0370-\u058f\u13a0-\u13ff\ua640-\ua69f\uab70-\uabbf]")
_ALSO_NEAR: Final = "\u0433\u043a\u043d\u0442\u050d\u051a\u04ae\u13ce"
_LATIN_SCRIPT: Final = re.compile("[\u0100-\u02af\u1d00-\u1dbf\u1e00-\u1eff\ua720-\ua7ff\uab30-\uab6f]")
_GREEK_SYMBOLS: Final = "\u03b1\u03bd\u03c1\u03c5\u03b9\u03ba\u03b3\u03b7\u03c9\u03c4\u03c3\u03b5"
# Latin letters that languages are written with today, such as the Turkish one without a dot.
_SPELT: Final = "\u0131\u0196\u01c0\u0263\u0269\u028b"
_NEAR: Final = "".join(sorted({*filter(_NEAR_SCRIPTS.match, LOOK_ALIKES), *_ALSO_NEAR}.difference(_GREEK_SYMBOLS)))
_FAR: Final = "".join(
    each for each in LOOK_ALIKES if not (_NEAR_SCRIPTS.match(each) or _LATIN_SCRIPT.match(each)) and each.isalpha()
)
_LATIN: Final = "A-Za-z\u00c0-\u024f"
_OTHER_FORMS: Final = re.compile("[\uff21-\uff5a\U0001d400-\U0001d7ff]")
_WORD: Final = re.compile(r"[^\W\d_]+")
# In a name, whatever is not ASCII belongs to a word, digits and symbols as well.
_PIECE: Final = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")
_ASCII_LETTER: Final = re.compile("[A-Za-z]")
_LATIN_LETTER: Final = re.compile(f"[{_LATIN}]")
_ANYWHERE: Final = re.compile(f"[{_NEAR}]")
_ONLY_NEAR: Final = re.compile(f"[{_NEAR}]+")
_BETWEEN: Final = re.compile(f"(?<=[{_LATIN}])[{_GREEK_SYMBOLS}{_FAR}](?=[{_LATIN}])")
_SURE_CATEGORIES: Final = "LMN"
# A stroke or a ring is a letter in every script: only with others does it pass for Latin.
_STROKES_AND_RINGS: Final = frozenset("loOiI0123456789")
_RAISED: Final = ("<super>", "<sub>", "<circle>", "<square>")
_DOT: Final = "\u0307"


def may_be_confusable(text: str) -> bool:
    """Whether any letter of a text may pass for a Latin one: a quick question about a lot of text."""
    return not text.isascii() and any(map(_may_pass, set(text)))


def mixed_word(text: str) -> str | None:
    """The first word of a text that mixes Latin letters with others that look like Latin ones."""
    if text.isascii():
        return None
    return next((found[0] for found in _WORD.finditer(text) if not found[0].isascii() and _is_mixed(found[0])), None)


def passes_for_latin(name: str) -> str | None:
    """Why a name can be taken for another, in words; None if it cannot.

    As well as a mixed word, a name must not have a word that looks like ASCII as a whole, nor letters that are plain
    ones in another form: full width, mathematical bold.
    """
    if name.isascii():
        return None
    for piece in _PIECE.findall(name):
        if piece.isascii():
            continue
        if _OTHER_FORMS.search(piece):
            return f"{quoted(piece)} is another form of {quoted(unicodedata.normalize('NFKC', piece))}"
        if _is_mixed(piece) or _ONLY_NEAR.fullmatch(piece) or _surely_looks_ascii(piece):
            return f"{quoted(piece)} looks like Latin and has {letters_in(piece)}"
    return None


def may_pass_for_latin(name: str) -> str | None:
    """Why a name could be taken for another although it may be meant well, in words: `file` with a Turkish i.

    The letters are Latin ones of a living language, Greek ones at the end of a word, symbols, Roman numerals, and
    letters of any script that are no more than a stroke or a ring.
    """
    if name.isascii():
        return None
    among_latin = _ASCII_LETTER.search(name) is not None
    for piece in _PIECE.findall(name):
        if not piece.isascii() and _looks_ascii(piece) and (among_latin or not _is_plain(piece)):
            return f"{quoted(piece)} looks like ASCII and has {letters_in(piece)}"
    return None


def letters_in(word: str) -> str:
    """The first letter of a word that passes for a Latin one, in words."""
    found = _ANYWHERE.search(word) or _BETWEEN.search(word)
    letter = found[0] if found else next((each for each in word if _may_pass(each)), word[0])
    return f"U+{ord(letter):04X} ({unicodedata.name(letter, 'unnamed')})"


def _is_mixed(word: str) -> bool:
    if _LATIN_LETTER.search(word) is None:
        return False
    return _ANYWHERE.search(word) is not None or _BETWEEN.search(word) is not None


def _surely_looks_ascii(piece: str) -> bool:
    """Whether a piece looks like ASCII, and one of its letters has no other good reason to stand there."""
    return any(map(_is_sure, piece)) and _looks_ascii(piece) and not _is_plain(piece)


def _looks_ascii(piece: str) -> bool:
    return all(each.isascii() or _passes_for(each) for each in piece)


def _is_plain(piece: str) -> bool:
    """Whether a piece has no ASCII letter, and looks like strokes and rings only."""
    return _ASCII_LETTER.search(piece) is None and _STROKES_AND_RINGS.issuperset("".join(map(_passes_for, piece)))


def _is_sure(character: str) -> bool:
    if character.isascii() or character in _SPELT or character in _GREEK_SYMBOLS or character == _DOT:
        return False
    category = unicodedata.category(character)
    return category[0] in _SURE_CATEGORIES and category != "Nl"


def _may_pass(character: str) -> bool:
    return not character.isascii() and (character in _ALSO_NEAR or _passes_for(character) != "")


@lru_cache(maxsize=4_096)
def _passes_for(character: str) -> str:
    """The ASCII letters and digits that a character looks like; nothing if it looks like none."""
    if character in LOOK_ALIKES or character == _DOT:
        return LOOK_ALIKES.get(character, ".")
    if unicodedata.decomposition(character).startswith(_RAISED):
        return ""
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain.isascii() and plain.isalnum() else ""
