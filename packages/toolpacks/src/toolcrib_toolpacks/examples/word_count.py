"""Counting what a text is made of."""

from __future__ import annotations

import re
from typing import Any

_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_SENTENCE_END = re.compile(r"[.!?…]+(?=\s|$)")


def count(text: str, wordsPerMinute: int = 230) -> dict[str, Any]:  # noqa: N803  # the property of the input
    """The numbers of words, characters, lines and sentences, and the minutes of reading."""
    words = len(_WORD.findall(text))
    return {
        "words": words,
        "characters": len(text),
        "lines": len(text.splitlines()),
        "sentences": len(_SENTENCE_END.findall(text)) or int(words > 0),
        "minutes": round(words / wordsPerMinute, 2),
    }
