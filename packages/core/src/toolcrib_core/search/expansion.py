"""From what a request says to the words that tools use for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol, TypeAlias

from toolcrib_core.search.query import Concept
from toolcrib_core.search.related import english_alike, related_words, tool_words
from toolcrib_core.search.weights import (
    PHRASE_WEIGHT,
    PREFIX_WEIGHT,
    RELATED_WEIGHT,
    SPELLING_WEIGHT,
    SYNONYM_WEIGHT,
    TRANSLATION_WEIGHT,
)

Relation: TypeAlias = Literal["exact", "synonym", "related", "prefix", "spelling", "phrase", "translation"]

_MIN_PREFIX = 4
_MAX_ALIKE = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Expansion:
    """A term of the catalogue that a concept may mean, and how far it may count for it."""

    term: str
    weight: float
    relation: Relation


class Catalogue(Protocol):
    """What expansion asks of an index."""

    def frequency(self, key: str) -> int:
        """How many tools have the key."""
        ...

    def keys_with_prefix(self, prefix: str) -> list[str]:
        """The first few longer keys that start with the prefix."""
        ...

    def words_alike(self, word: str) -> list[tuple[str, float]]:
        """Words that the given one may be a slip for, with their closeness."""
        ...


def expand(concept: Concept, catalogue: Catalogue) -> tuple[Expansion, ...]:
    """The terms of the catalogue for a concept, each once with its best weight, ordered by term."""
    best: dict[str, Expansion] = {}
    for candidate in _candidates(concept, catalogue):
        known = best.get(candidate.term)
        if (known is None or candidate.weight > known.weight) and catalogue.frequency(candidate.term):
            best[candidate.term] = candidate
    return tuple(best[term] for term in sorted(best))


def is_slip(concept: Concept, catalogue: Catalogue) -> bool:
    """Whether neither the catalogue nor English has the word, so that it may be mistyped."""
    term = concept.terms[0]
    usual = concept.kind == "word" and concept.repair and term.isalpha()
    return usual and not catalogue.frequency(term) and term not in related_words()


def repaired(concept: Concept, expansions: Sequence[Expansion]) -> str | None:
    """The word that a mistyped one most likely stands for; none where nothing is near."""
    near = [(each.term, each.weight / SPELLING_WEIGHT) for each in expansions if each.relation == "spelling"]
    known, close = max(near, key=lambda pair: pair[1], default=(None, 0.0))
    # The catalogue gives stems, English whole words: those read better wherever they are as close.
    english = next(iter(english_alike(concept.text)), (None, 0.0))
    return english[0] if english[1] >= close else known


def _candidates(concept: Concept, catalogue: Catalogue) -> list[Expansion]:
    if concept.kind == "phrase":
        return [Expansion(term=term, weight=PHRASE_WEIGHT, relation="phrase") for term in concept.terms]
    if concept.kind == "translation":
        return [each for term in concept.terms for each in _for_translation(term)]
    return _for_word(concept, catalogue)


def _for_translation(term: str) -> list[Expansion]:
    synonyms = tool_words().synonyms.get(term, ())
    return [
        Expansion(term=term, weight=TRANSLATION_WEIGHT, relation="translation"),
        *(
            Expansion(term=each, weight=TRANSLATION_WEIGHT * SYNONYM_WEIGHT, relation="translation")
            for each in synonyms
        ),
    ]


def _for_word(concept: Concept, catalogue: Catalogue) -> list[Expansion]:
    term = concept.terms[0]
    found = [Expansion(term=term, weight=1.0, relation="exact"), *_meanings(term, 1.0)]
    if len(term) >= _MIN_PREFIX:
        found += (
            Expansion(term=longer, weight=PREFIX_WEIGHT * len(term) / len(longer), relation="prefix")
            for longer in catalogue.keys_with_prefix(term)
        )
    if is_slip(concept, catalogue):
        found += _repairs(concept, catalogue)
    return found


def _meanings(term: str, weight: float) -> Iterator[Expansion]:
    for other in tool_words().synonyms.get(term, ()):
        yield Expansion(term=other, weight=weight * SYNONYM_WEIGHT, relation="synonym")
    for other, closeness in _related(term):
        yield Expansion(term=other, weight=weight * RELATED_WEIGHT * closeness, relation="related")


@lru_cache(maxsize=4096)
def _related(term: str) -> tuple[tuple[str, float], ...]:
    return tuple(related_words().of(term))


def _repairs(concept: Concept, catalogue: Catalogue) -> list[Expansion]:
    found = [
        Expansion(term=other, weight=SPELLING_WEIGHT * closeness, relation="spelling")
        for other, closeness in catalogue.words_alike(concept.terms[0])[:_MAX_ALIKE]
    ]
    # English is compared as typed: a slip in the ending gives a word another stem.
    english = related_words()
    for word, closeness in english_alike(concept.text)[:_MAX_ALIKE]:
        meant, weight = english.stem_of[word], SPELLING_WEIGHT * closeness
        found += (Expansion(term=meant, weight=weight, relation="spelling"), *_meanings(meant, weight))
    return found
