"""A request taken apart: its clauses, and in each the words that say what is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias

from toolcrib_core.search.related import related_words, tool_words
from toolcrib_core.search.stop_words import FUNCTION_WORDS, REQUEST_FILLER
from toolcrib_core.search.text import runs, stem, words
from toolcrib_core.search.translation import FOREIGN_GRAMMAR, dictionary, is_foreign
from toolcrib_core.search.weights import FILLER_WEIGHT

MAX_QUERY_LENGTH = 4_096
"""Characters of a request that are read; what is beyond is not searched for."""
MAX_CONCEPTS = 64
MAX_CLAUSES = 12

ConceptKind: TypeAlias = Literal["word", "phrase", "translation"]

_BREAK = re.compile(r"[.;!?,](?=\s|$)|[。、；？！，\n]|\b(?:and|then|also|after|before|plus|finally)\b", re.IGNORECASE)  # noqa: RUF001  # full-width marks part clauses too
_FILLER = frozenset(stem(word) for word in REQUEST_FILLER)
_GRAMMAR = frozenset(stem(word) for word in FUNCTION_WORDS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Concept:
    """One thing the request says: a word, or a phrase that stands for the words of a tool."""

    text: str
    terms: tuple[str, ...]
    kind: ConceptKind
    weight: float
    clauses: frozenset[int]
    repair: bool = True
    """Whether the word may be a slip: foreign words only look like one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A request as ranking reads it."""

    text: str
    truncated: bool
    clauses: tuple[str, ...]
    concepts: tuple[Concept, ...]


def read_query(text: str, *, knows: Callable[[str], bool]) -> Query:
    """Take a request apart; `knows` says whether a term occurs in the catalogue."""
    read = text[:MAX_QUERY_LENGTH]
    foreign = is_foreign(read)
    clauses = tuple(clause.strip() for clause in _BREAK.split(read) if runs(clause))[:MAX_CLAUSES]
    said: dict[tuple[ConceptKind, tuple[str, ...]], Concept] = {}
    for number, clause in enumerate(clauses):
        for concept in _concepts(clause, number, knows, foreign=foreign):
            known = said.get((concept.kind, concept.terms))
            if known is not None:
                said[concept.kind, concept.terms] = replace(known, clauses=known.clauses | concept.clauses)
            elif len(said) < MAX_CONCEPTS:
                said[concept.kind, concept.terms] = concept
    return Query(text=read, truncated=len(text) > len(read), clauses=clauses, concepts=_telling(tuple(said.values())))


def _concepts(clause: str, number: int, knows: Callable[[str], bool], *, foreign: bool) -> Iterator[Concept]:
    here = frozenset({number})
    found = runs(clause)
    for run in found:
        yield from _translations(run, here, knows, foreign=foreign)
        for word in words(run):
            if not (foreign and word in FOREIGN_GRAMMAR):
                weight = _weight(stem(word))
                yield Concept(
                    text=word, terms=(stem(word),), kind="word", weight=weight, clauses=here, repair=not foreign
                )
    for one, other in pairwise(found):
        joined = stem((one + other).lower())
        if knows(joined):
            yield Concept(text=f"{one} {other}", terms=(joined,), kind="word", weight=1.0, clauses=here)
    yield from _phrases(found, here)


def _translations(run: str, here: frozenset[int], knows: Callable[[str], bool], *, foreign: bool) -> Iterator[Concept]:
    known = dictionary()
    pairs = list(known.within(run)) if not run.isascii() else []
    # In an English request only a word that English does not have may be meant in another language.
    word = words(run)[0]
    if foreign or not (knows(stem(word)) or stem(word) in related_words()):
        pairs += [(run, meant)] if (meant := known.of(word)) else []
    for text, meant in pairs:
        yield Concept(text=text, terms=meant, kind="translation", weight=1.0, clauses=here)


def _phrases(found: list[str], here: frozenset[int]) -> Iterator[Concept]:
    known = tool_words()
    stems = tuple(stem(words(run)[0]) for run in found)
    for size in range(2, known.longest_phrase + 1):
        for at in range(len(stems) - size + 1):
            meant = known.phrases.get(stems[at : at + size])
            if meant:
                text = " ".join(found[at : at + size])
                yield Concept(text=text, terms=meant, kind="phrase", weight=1.0, clauses=here)


def _weight(term: str) -> float:
    if term in _GRAMMAR:
        return 0.0
    return FILLER_WEIGHT if term in _FILLER else 1.0


def _telling(concepts: tuple[Concept, ...]) -> tuple[Concept, ...]:
    strongest = max((concept.weight for concept in concepts), default=0.0)
    if strongest == 1.0:
        return tuple(concept for concept in concepts if concept.weight)
    # Nothing but filler, or nothing but grammar: then that is what the request is about.
    return tuple(replace(concept, weight=1.0) for concept in concepts if concept.weight == strongest)
