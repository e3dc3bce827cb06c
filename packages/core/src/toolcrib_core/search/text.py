"""Words of tools and requests: identifiers split, case folded, English stemmed, unspaced scripts cut into bigrams."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from snowballstemmer.english_stemmer import EnglishStemmer  # type: ignore[import-untyped]  # it ships no types

from toolcrib_core.search.stop_words import FUNCTION_WORDS

MAX_WORD_LENGTH = 64
"""A longer run of letters is cut: it is data (a hash, an encoded blob), not a word anyone types."""

_RUN = re.compile(r"[^\W_]+")
# `HTTPServer2go` -> HTTP Server 2 go
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Scripts written without spaces: Thai, Lao, Khmer, Hiragana, Katakana, Han, and Hangul, whose particles stick to nouns.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]+"
)


def terms(text: str) -> list[str]:
    """The index terms of a text in reading order, function words left out."""
    return [term for run in runs(text) for term in _run_terms(run) if term not in _FUNCTION_STEMS]


def all_terms(text: str) -> list[str]:
    """The index terms of a text in reading order, function words included: for names, where every word counts."""
    return [term for run in runs(text) for term in _run_terms(run)]


def runs(text: str) -> list[str]:
    """Maximal runs of letters and digits, case kept."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _RUN.findall(text)


def is_unspaced(text: str) -> bool:
    """Whether the text is in a script that is written without spaces."""
    return _UNSPACED.fullmatch(text) is not None


@lru_cache(maxsize=65_536)
def words(run: str) -> tuple[str, ...]:
    """The folded words in one run: the run itself, then its parts where it is an identifier (`GitHub`, `base64`)."""
    run = run[:MAX_WORD_LENGTH]
    if not run.isascii():
        return _script_pieces(run) or (_folded(run),)
    whole = run.lower()
    parts = [part.lower() for part in _PART.findall(run)]
    if len(parts) < 2:  # noqa: PLR2004  # one part: a plain word
        return (whole,)
    return (whole, *(part for part in parts if len(part) > 1))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a folded word; words that are not plain English letters stay as they are."""
    if len(word) < 3 or not word.isascii() or not word.isalpha():  # noqa: PLR2004  # `is`, `s3`: nothing to cut
        return word
    # One stemmer per call: it keeps its word in itself, so threads must not share one.
    stemmed: str = EnglishStemmer().stemWord(word)
    return stemmed


@lru_cache(maxsize=65_536)
def _run_terms(run: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in words(run))


def _script_pieces(run: str) -> tuple[str, ...]:
    pieces: list[str] = []
    end = 0
    for match in _UNSPACED.finditer(run):
        pieces += words(run[end : match.start()]) if match.start() > end else ()
        pieces += _bigrams(match.group())
        end = match.end()
    if end == 0:
        return ()
    return (*pieces, *(words(run[end:]) if end < len(run) else ()))


def _bigrams(text: str) -> tuple[str, ...]:
    return tuple(text[at : at + 2] for at in range(len(text) - 1)) or (text,)


def _folded(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    # Accents are dropped, as people drop them when they type.
    return "".join(char for char in decomposed if not unicodedata.combining(char)) or word


_FUNCTION_STEMS = frozenset(stem(word) for word in FUNCTION_WORDS)
