"""Letters of one script that pass for letters of another: `path` with a Cyrillic letter in it.

Whole texts in any script are fine. What is found is a word that mixes Latin letters with others that look like Latin
ones. Science writes Greek letters at the ends of words (interferon alpha, kappa B), so small ones count only between
Latin letters; the ones that nobody can tell apart count anywhere.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from toolcrib_core.wording import quoted

_CYRILLIC: Final = (
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0455\u0456\u0458\u04bb\u0501\u051b\u051d\u0475\u050d\u04cf\u0433"
    "\u043a\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u0425\u0423\u04ae\u050c"
    "\u051a\u051c\u0474\u04c0"
)
_GREEK: Final = (
    "\u03bf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03f2\u03f3\u03f9"
)
_GREEK_SYMBOLS: Final = "\u03b1\u03bd\u03c1\u03c5\u03b9\u03ba\u03b3\u03b7\u03c9\u03c4\u03c3\u03b5"
_ARMENIAN: Final = "\u0585\u0570\u0578\u057d\u0581\u0566\u0584\u0555\u054f\u054d"
_CHEROKEE: Final = (
    "\u13a0\u13a1\u13a2\u13a5\u13a9\u13aa\u13ab\u13ac\u13b3\u13b7\u13bb\u13bd\u13c0\u13c2\u13c3\u13ce\u13cf\u13d2"
    "\u13d4\u13d5\u13d9\u13da\u13de\u13df\u13e2\u13e6\u13e7"
)
_ALIKE: Final = f"{_CYRILLIC}{_GREEK}{_ARMENIAN}{_CHEROKEE}"
_LATIN: Final = "A-Za-z\u00c0-\u024f"
_OTHER_FORMS: Final = "\uff21-\uff5a\U0001d400-\U0001d7ff"
_GATE: Final = re.compile(f"[{_ALIKE}{_GREEK_SYMBOLS}{_OTHER_FORMS}]")
_OTHER_FORM: Final = re.compile(f"[{_OTHER_FORMS}]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_LATIN_LETTER: Final = re.compile(f"[{_LATIN}]")
_ANYWHERE: Final = re.compile(f"[{_ALIKE}]")
_ONLY_ALIKE: Final = re.compile(f"[{_ALIKE}]+")
_BETWEEN: Final = re.compile(f"(?<=[{_LATIN}])[{_GREEK_SYMBOLS}](?=[{_LATIN}])")


def may_be_confusable(text: str) -> bool:
    """Whether any letter of a text may pass for a Latin one: a quick question about a lot of text."""
    return not text.isascii() and _GATE.search(text) is not None


def mixed_word(text: str) -> str | None:
    """The first word of a text that mixes Latin letters with others that look like Latin ones."""
    if text.isascii() or _GATE.search(text) is None:
        return None
    return next((found[0] for found in _WORD.finditer(text) if not found[0].isascii() and _is_mixed(found[0])), None)


def passes_for_latin(name: str) -> str | None:
    """Why a name can be taken for another, in words; None if it cannot.

    As well as a mixed word, a name must not have a word made of look-alikes only, nor letters that are plain ones in
    another form: full width, mathematical bold.
    """
    if name.isascii():
        return None
    for word in _WORD.findall(name):
        if _is_mixed(word) or _ONLY_ALIKE.fullmatch(word):
            return f"{quoted(word)} looks like Latin and has {letters_in(word)}"
        if _OTHER_FORM.search(word):
            return f"{quoted(word)} is another form of {quoted(unicodedata.normalize('NFKC', word))}"
    return None


def letters_in(word: str) -> str:
    """The first letter of a word that passes for a Latin one, in words."""
    found = _ANYWHERE.search(word) or _BETWEEN.search(word)
    letter = found[0] if found else word[0]
    return f"U+{ord(letter):04X} ({unicodedata.name(letter, 'unnamed')})"


def _is_mixed(word: str) -> bool:
    if _LATIN_LETTER.search(word) is None:
        return False
    return _ANYWHERE.search(word) is not None or _BETWEEN.search(word) is not None
