"""Tools of other servers that a text gives orders about: how one server's tool gets between a model and another's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

_TOKEN: Final = re.compile(r"[A-Za-z0-9](?:[\w.:/#@-]{0,198}\w)?")
# A name of one plain word (`search`) is a word like any other, unless it is set apart or called a tool.
_TELLING: Final = re.compile(r"[_:./-]|[a-z][A-Z]|\d")
_QUOTES: Final = "`'\"\u201c\u2018"
_NOUN: Final = re.compile(r"\W{1,3}(?:tool|function|command)s?\b", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|\n\s*\n")
_AROUND: Final = 200
_ORDER: Final = re.compile(
    r"\b(?:when|whenever|before|after|instead|rather|never|not|don.?t|must|always|deprecated|broken|unsafe|compromised"
    r"|insecure|replaces?d?|supersedes?|first|avoid|also|every|each|prefer|redirect|override)\b",
    re.IGNORECASE,
)


def mentions_of(text: str, names: Collection[str]) -> tuple[str, ...]:
    """Which of these names a text gives orders about, ascending.

    `names` are those of other servers' tools, as their servers call them or as ids; in a set, one look costs the same
    however many there are. A server may well say how its own tools belong together, so those should not be among them.
    """
    return tuple(sorted({token for token, start, end in _tokens(text, names) if _is_order(text, start, end)}))


def _tokens(text: str, names: Collection[str]) -> Iterator[tuple[str, int, int]]:
    for found in _TOKEN.finditer(text):
        token, start, end = found[0], found.start(), found.end()
        if token in names and (_TELLING.search(token) or _is_set_apart(text, start, end)):
            yield token, start, end


def _is_set_apart(text: str, start: int, end: int) -> bool:
    return (start > 0 and text[start - 1] in _QUOTES) or _NOUN.match(text, end) is not None


def _is_order(text: str, start: int, end: int) -> bool:
    """Whether the sentence that the name stands in tells the reader to do something."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    ends = [found.end() for found in _SENTENCE_END.finditer(before)]
    rest = _SENTENCE_END.search(after)
    sentence = before[ends[-1] if ends else 0 :] + " " + after[: rest.start() if rest else None]
    return _ORDER.search(sentence) is not None
