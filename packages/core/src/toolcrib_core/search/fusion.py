"""Fusion of words and meaning: how far each is trusted is decided for every request.

Both signals are put on one scale by how far a tool stands out from the rest of the catalogue (z-scores), so a request
whose words single out a tool is decided by its words, and one whose words are everywhere by its meaning. On top of that
the evidence moves the weight of meaning: down when the best tool shares rare words with the request or leads clearly,
up when no tool knows words of the request, and up with coverage, because words that are all found stand out by
themselves. Ranks are never fused: on large catalogues that loses to words alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from toolcrib_core.search.dense import EmbeddedTools, remembering
from toolcrib_core.search.ranking import DECIMALS, LexicalScores, Scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from toolcrib_core.search.embedder import Embedder
    from toolcrib_core.search.evidence import Evidence
    from toolcrib_core.search.index import SearchIndex

# In a large catalogue a few matching words stand out by any measure: beyond this they are not better evidence.
_MOST_OUTSTANDING = 12.0
_MIN_CLAUSE_WORDS = 2
_MAX_GLOSS_WORDS = 24


@dataclass(frozen=True, kw_only=True)
class FusionWeights:
    """How far meaning is trusted against words: the exponential of `base` plus each coefficient times its evidence."""

    base: float
    coverage: float
    specificity: float
    gap: float
    unknown: float
    steps: float
    """Of the best step of a request of several, against the request as a whole."""


WEIGHTS: Final = FusionWeights(base=0.82, coverage=0.85, specificity=-0.38, gap=-0.55, unknown=0.45, steps=1.08)
"""Fitted by `bench/fusion_calibration.py` on the development sets, each also left out in turn.

The length of a request was offered to the fit too, and earned nothing.
"""


@dataclass(frozen=True, kw_only=True)
class Signals:
    """What the two sides say about every tool, and what speaks for the words; rows are those of the index."""

    words: Scores
    meaning: Scores
    steps: Scores | None
    """None where the request has one step."""
    nearness: Scores
    """How much nearer in meaning the tool is than a request that means nothing would be; 0 and less is no evidence."""
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class FusedScores:
    """What every tool scores by words and meaning together; rows are those of the index."""

    scores: Scores
    """0 for a tool that neither speaks for."""
    nearness: Scores | None
    """As in `Signals`; None where the request says nothing to embed."""


def fused_scores(index: SearchIndex, lexical: LexicalScores, embedder: Embedder) -> FusedScores:
    """Score every tool by words and meaning together.

    Raises:
        EmbedderUnusable: The embedder gives another shape than it promises, or numbers that are not finite.
    """
    if not len(index) or not lexical.query.text.strip():
        return FusedScores(scores=lexical.scores, nearness=None)
    signals = gather_signals(index, lexical, embedder)
    # Above 0 for every tool and rising with the sum: a tool below the average of its catalogue may still be a hit.
    scores: Scores = np.logaddexp(0.0, combine(signals))
    scores[~((lexical.scores > 0) | (signals.nearness > 0))] = 0.0
    # Wider than any score, so a tool is first for its own name whatever else is near.
    named: Scores = lexical.name_tiers * (scores.max(initial=0.0) + 1)
    return FusedScores(scores=np.round(scores + named, DECIMALS), nearness=signals.nearness)


def gather_signals(index: SearchIndex, lexical: LexicalScores, embedder: Embedder) -> Signals:
    """Both signals for a request, on one scale.

    Raises:
        EmbedderUnusable: The embedder gives another shape than it promises, or numbers that are not finite.
    """
    memory = remembering(embedder)
    tools = memory.tools(index.definitions)
    requests = (_meant(lexical), *_steps(lexical))
    closeness = _closeness(tools, memory.embed(requests))
    steps = closeness[1:].max(axis=0) if len(requests) > 1 else None
    highest = closeness[0] if steps is None else np.maximum(closeness[0], steps)
    return Signals(
        words=np.minimum(_outstanding(lexical.scores), _MOST_OUTSTANDING),
        meaning=_outstanding(closeness[0]),
        steps=None if steps is None else _outstanding(steps),
        nearness=highest - tools.noise,
        evidence=lexical.evidence,
    )


def combine(signals: Signals, weights: FusionWeights = WEIGHTS) -> Scores:
    """The sum of words and meaning, meaning weighted by the evidence; 0 is the average of the catalogue."""
    meaning = signals.meaning
    if signals.steps is not None:
        meaning = (meaning + weights.steps * signals.steps) / (1 + weights.steps)
    return signals.words + trust_in_meaning(signals.evidence, weights) * meaning


def trust_in_meaning(evidence: Evidence, weights: FusionWeights = WEIGHTS) -> float:
    """How much meaning counts against words for a request."""
    return math.exp(
        weights.base
        + weights.coverage * evidence.coverage
        + weights.specificity * evidence.specificity
        + weights.gap * evidence.gap
        + weights.unknown * evidence.unknown
    )


def _meant(lexical: LexicalScores) -> str:
    """The request as it is embedded: mistyped words repaired, words of other languages repeated in English."""
    gloss = [term for each in lexical.meanings if each.concept.kind == "translation" for term in each.concept.terms]
    return " ".join((lexical.corrected, *dict.fromkeys(gloss[:_MAX_GLOSS_WORDS])))


def _steps(lexical: LexicalScores) -> Sequence[str]:
    steps = [clause for clause in lexical.clauses if len(clause.split()) >= _MIN_CLAUSE_WORDS]
    return steps if len(steps) > 1 else ()


def _closeness(tools: EmbeddedTools, requests: NDArray[np.float32]) -> Scores:
    # Not `@`: BLAS would start threads of its own, and on a busy machine wait 8 ms for them to do 1 ms of work.
    lines = [np.einsum("ij,j->i", tools.rows, request) for request in requests]
    return np.asarray(lines, dtype=np.float64)


def _outstanding(values: Scores) -> Scores:
    """How many standard deviations each value is above the mean; all 0 where the values are equal."""
    # Sorted first: the sums, and so the last digits, must not depend on the order in which tools were registered.
    ordered = np.sort(values)
    spread = ordered.std()
    return (values - ordered.mean()) / spread if spread > 0 else np.zeros_like(values)
