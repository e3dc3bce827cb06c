"""Ranking: what each tool scores for a request, and how good the evidence is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from toolcrib_core.search.evidence import Evidence, confidence_of, gather_evidence
from toolcrib_core.search.expansion import Expansion, expand, is_slip, repaired
from toolcrib_core.search.query import Concept, Query, read_query
from toolcrib_core.search.segment import LITERAL_MARK, NAME_MARK, PRODUCT_MARK, TITLE_MARK, Segment, squeezed
from toolcrib_core.search.weights import (
    ABSENT_BOOST,
    CLAUSE_WEIGHT,
    MAX_CLAUSES_WEIGHT,
    MIN_CLAUSE_WORDS,
    NAME_PREFIX_BONUS,
    PRODUCT_BOOST,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from toolcrib_core.search.index import SearchIndex

Scores: TypeAlias = "NDArray[np.float64]"

MAX_REPAIRS = 8
"""Words of a request that are looked up as slips: each is compared with the whole vocabulary."""

DECIMALS = 6
"""To which scores are rounded, so that the last bits of a sum decide nothing."""

_BY_MEANING = frozenset({"synonym", "related", "prefix"})
_MAX_NAME_LENGTH = 300
_MIN_NAME_PREFIX = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Meaning:
    """A concept with the terms of the catalogue it may mean, each with what a full impact of it is worth."""

    concept: Concept
    expansions: tuple[Expansion, ...]
    values: tuple[float, ...]
    slip: bool
    repaired: str | None
    rarity: float
    """The inverse document frequency of the concept's own term: the highest there is where no tool has it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LexicalScores:
    """What every tool scores for a request; rows are those of `SearchIndex.definitions`."""

    query: Query
    meanings: tuple[Meaning, ...]
    ids: tuple[str, ...]
    scores: Scores
    """0 where there is no evidence."""
    product_boosts: Scores
    """Between 0 and 1: how clearly the request names the tool's server."""
    name_tiers: Scores
    """Above 0 where the request is the tool's own name, title or id."""
    evidence: Evidence

    @property
    def clauses(self) -> tuple[str, ...]:
        """The parts the request was split into."""
        return self.query.clauses

    @property
    def corrected(self) -> str:
        """The request with mistyped words repaired, for whoever reads it as a sentence."""
        text = self.query.text
        for meaning in self.meanings:
            if meaning.repaired is not None:
                text = re.sub(rf"\b{re.escape(meaning.concept.text)}\b", meaning.repaired, text, flags=re.IGNORECASE)
        return text

    @property
    def confidence(self) -> float:
        """How likely it is that one of the first five tools is what was asked for."""
        return confidence_of(self.evidence)


def lexical_scores(index: SearchIndex, text: str) -> LexicalScores:
    """Score every tool of the index for a request."""
    query = read_query(text, knows=lambda term: index.frequency(term) > 0)
    meanings = _meanings(query, index)
    parts = _joined([_segment_scores(segment, meanings, len(query.clauses)) for segment in index.segments])
    boosts = _gathered(index, _product_keys(meanings, index))
    tiers = _gathered(index, _name_keys(query.text))
    scores = _with_clauses(parts, query) * (1 + PRODUCT_BOOST * boosts)
    scores += _gathered(index, _name_prefix_keys(query.text, index))
    # The tiers are wider than any score, so a tool is first for its own name whatever else matches.
    scores = np.round(scores + tiers * (scores.max(initial=0.0) + 1), DECIMALS)
    return LexicalScores(
        query=query,
        meanings=meanings,
        ids=index.ids,
        scores=scores,
        product_boosts=boosts,
        name_tiers=tiers,
        evidence=gather_evidence(index, meanings, scores, best=best_rows(scores, index.ids, 2), tiers=tiers),
    )


def best_rows(scores: Scores, ids: tuple[str, ...], most: int) -> list[int]:
    """The rows with the highest scores above 0, the best first, ties by id."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > most:
        least = np.partition(scores[rows], len(rows) - most)[len(rows) - most]
        rows = rows[scores[rows] >= least]
    return sorted(rows.tolist(), key=lambda row: (-scores[row], ids[row]))[:most]


def rarity(frequency: int, total: int) -> float:
    """The inverse document frequency of a key that so many of all tools have."""
    return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))


def _meanings(query: Query, index: SearchIndex) -> tuple[Meaning, ...]:
    found: list[Meaning] = []
    for concept in query.concepts:
        slips = sum(meaning.slip for meaning in found)
        found.append(_meaning(concept if slips < MAX_REPAIRS else replace(concept, repair=False), index))
    return tuple(found)


def _meaning(concept: Concept, index: SearchIndex) -> Meaning:
    total = len(index)
    frequency = index.frequency(concept.terms[0]) if concept.kind == "word" else 0
    own = rarity(frequency, total)
    expansions = expand(concept, index)
    raised = ABSENT_BOOST if concept.kind == "word" and not frequency else 1.0
    slip = is_slip(concept, index)
    return Meaning(
        concept=concept,
        expansions=expansions,
        # A rare synonym of a common word must not weigh more than the word that was said.
        values=tuple(
            concept.weight
            * each.weight
            * (raised if each.relation in _BY_MEANING else 1.0)
            * min(rarity(index.frequency(each.term), total), own)
            for each in expansions
        ),
        slip=slip,
        repaired=repaired(concept, expansions) if slip else None,
        rarity=own,
    )


def _segment_scores(segment: Segment, meanings: tuple[Meaning, ...], clauses: int) -> Scores:
    """One line of totals, then one per clause, over the tools of a segment that are still there."""
    lines = np.zeros((1 + clauses, len(segment.definitions)))
    best = np.zeros(len(segment.definitions))
    for meaning in meanings:
        found = False
        for expansion, value in zip(meaning.expansions, meaning.values, strict=True):
            rows, impacts = segment.postings(expansion.term)
            if len(rows):
                # The best of its terms counts, not their sum: five synonyms are no better evidence than one.
                best[rows] = np.maximum(best[rows], value * impacts)
                found = True
        if found:
            lines[0] += best
            for clause in meaning.concept.clauses if clauses > 1 else ():
                lines[1 + clause] += best
            best[:] = 0.0
    return lines if segment.whole else lines[:, segment.alive]


def _joined(parts: list[Scores]) -> Scores:
    return np.concatenate(parts, axis=1) if parts else np.zeros((1, 0))


def _with_clauses(lines: Scores, query: Query) -> Scores:
    """Add what the best clause says: a tool need answer only one step of a request of several."""
    totals: Scores = lines[0]
    highest = totals.max(initial=0.0)
    if len(query.clauses) < 2 or highest <= 0:  # noqa: PLR2004  # one clause is the whole request
        return totals
    best = np.zeros_like(totals)
    heard = 0
    for number, line in enumerate(lines[1:]):
        said = sum(number in concept.clauses for concept in query.concepts)
        top = line.max(initial=0.0)
        if said >= MIN_CLAUSE_WORDS and top > 0:
            # Half way to equal say for every clause: a short step of a long request must be heard as well.
            best = np.maximum(best, line * math.sqrt(highest / top))
            heard += 1
    raised: Scores = totals + min(CLAUSE_WEIGHT * heard, MAX_CLAUSES_WEIGHT) * best
    return raised


def _gathered(index: SearchIndex, keys: dict[str, float]) -> Scores:
    """For each tool the highest value among the keys that it has."""
    parts = []
    for segment in index.segments:
        values = np.zeros(len(segment.definitions))
        for key, value in keys.items():
            rows, _ = segment.postings(key)
            values[rows] = np.maximum(values[rows], value)
        parts.append(values if segment.whole else values[segment.alive])
    return np.concatenate(parts) if parts else np.zeros(0)


def _product_keys(meanings: tuple[Meaning, ...], index: SearchIndex) -> dict[str, float]:
    """Words of the request that name a server, with the share of their tools that are that server's, squared.

    A word that other servers' tools use as well names no product.
    """
    keys: dict[str, float] = {}
    for meaning in meanings:
        if meaning.concept.weight == 1.0 and meaning.concept.kind == "word":
            for term in _possible_names(meaning):
                named = index.frequency(PRODUCT_MARK + term)
                if named:
                    keys[PRODUCT_MARK + term] = (named / index.frequency(term)) ** 2
    return keys


def _possible_names(meaning: Meaning) -> Iterator[str]:
    yield meaning.concept.terms[0]
    if meaning.slip:
        yield from (each.term for each in meaning.expansions if each.relation == "spelling")


def _name_keys(text: str) -> dict[str, float]:
    typed = text.strip()
    if not typed or len(typed) > _MAX_NAME_LENGTH:
        return {}
    keys = {LITERAL_MARK + typed.casefold(): 3.0}
    if plain := squeezed(typed):
        keys |= {NAME_MARK + plain: 2.0, TITLE_MARK + plain: 1.0}
    return keys


def _name_prefix_keys(text: str, index: SearchIndex) -> dict[str, float]:
    typed = squeezed(text) if len(text) <= _MAX_NAME_LENGTH else ""
    if len(typed) < _MIN_NAME_PREFIX:
        return {}
    longer = index.keys_with_prefix(NAME_MARK + typed)
    return {key: NAME_PREFIX_BONUS * len(typed) / (len(key) - 1) for key in longer}
