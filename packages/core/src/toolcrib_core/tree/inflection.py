"""Singular and plural of English nouns, as far as cluster names need them.

The rules need not be good English for every word. They must be consistent: `singular` is idempotent, and
`singular(plural(word)) == word` for every word that `singular` returned. Clusters that differ therefore never share a
name, and a path may say either form.
"""

from __future__ import annotations

import re

# Where the rules below would part a plural from its singular, or make a plural of a word that has none.
_IRREGULAR = {
    "aliases": "alias",
    "alias": "alias",
    "analyses": "analysis",
    "caches": "cache",
    "children": "child",
    "cookies": "cookie",
    "criteria": "criterion",
    "indices": "index",
    "matrices": "matrix",
    "movies": "movie",
    "people": "person",
    "vertices": "vertex",
}
_UNCOUNTABLE = frozenset(
    {
        "code",
        "content",
        "data",
        "documentation",
        "feedback",
        "guidance",
        "health",
        "help",
        "history",
        "info",
        "information",
        "kubernetes",
        "media",
        "metadata",
        "news",
        "performance",
        "pricing",
        "series",
        "software",
        "storage",
        "text",
        "traffic",
        "weather",
    }
)
_SHORTEST_PLURAL = 3
_ES_STEM = re.compile(r".*(?:ss|us|x|ch|sh)")
_KEEPS_S = re.compile(r".*(?:ss|us|is)")


def singular(word: str) -> str:
    """The singular of a noun; a word that is no plural stays as it is."""
    shorn = word if word in _IRREGULAR or word in _UNCOUNTABLE else _shorn(word)
    return _IRREGULAR.get(shorn, shorn)


def plural(word: str) -> str:
    """The plural of a noun in the singular, or the word itself where its plural would not lead back to it."""
    if word in _UNCOUNTABLE:
        return word
    grown = _grown(word)
    return grown if singular(grown) == word else word


def _shorn(word: str) -> str:
    if len(word) < _SHORTEST_PLURAL or _KEEPS_S.fullmatch(word) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    if word.endswith("es") and _ES_STEM.fullmatch(word[:-2]):
        return word[:-2]
    return word[:-1]


def _grown(word: str) -> str:
    if re.fullmatch(r".*[^aeiou]y", word):
        return f"{word[:-1]}ies"
    if _ES_STEM.fullmatch(word) or word == "alias":
        return f"{word}es"
    return f"{word}s"
