"""How far a ranking can be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from toolcrib_core.search.index import SearchIndex
    from toolcrib_core.search.ranking import Meaning

_MANY_TERMS = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What speaks for the best tool of a ranking, mostly as shares between 0 and 1."""

    coverage: float
    """How much of what was said the tool has in the same words, rare words counting more."""
    soft_coverage: float
    """The same, with related words, repaired spelling and beginnings of words."""
    specificity: float
    """How rare the rarest word is that request and tool share."""
    gap: float
    """How far the second tool is behind."""
    terms: int
    """How many things the request said."""
    unknown: float
    """The share of them that no tool says."""
    exact: bool


NO_EVIDENCE = Evidence(coverage=0.0, soft_coverage=0.0, specificity=0.0, gap=0.0, terms=0, unknown=0.0, exact=False)


def gather_evidence(
    index: SearchIndex,
    meanings: tuple[Meaning, ...],
    scores: NDArray[np.float64],
    *,
    best: list[int],
    tiers: NDArray[np.float64],
) -> Evidence:
    """Look at the best tool of a ranking; `best` has the first two rows of it, or fewer."""
    if not best:
        return NO_EVIDENCE
    said = [meaning for meaning in meanings if meaning.concept.kind == "word"]
    first, second = scores[best[0]], scores[best[1]] if len(best) > 1 else 0.0
    segment, row = index.place(best[0])
    weight = sum(each.concept.weight * each.rarity for each in said) or 1.0
    literal = [each for each in said if segment.impact(each.concept.terms[0], row)]
    soft = [each for each in said if any(segment.impact(expansion.term, row) for expansion in each.expansions)]
    return Evidence(
        coverage=sum(each.concept.weight * each.rarity for each in literal) / weight,
        soft_coverage=sum(each.concept.weight * each.rarity for each in soft) / weight,
        specificity=max((each.rarity for each in literal), default=0.0) / math.log(2 * len(index) + 2),
        gap=float((first - second) / first),
        terms=len(said),
        unknown=sum(not index.frequency(each.concept.terms[0]) for each in said) / (len(said) or 1),
        exact=bool(tiers.max() > 0),
    )


def confidence_of(evidence: Evidence) -> float:
    """How likely it is that one of the first five tools is what was asked for.

    A logistic fit over the development sets, each counting the same: from 0.8 on nine of ten results hold what was
    asked for, below it two of three.
    """
    if evidence.exact:
        return 1.0
    if evidence.terms == 0:
        return 0.0
    said = min(evidence.terms, _MANY_TERMS) / _MANY_TERMS
    odds = -1.15 + 2.4 * evidence.coverage + 0.8 * evidence.soft_coverage + 1.5 * evidence.gap + 2.4 * said
    return round(1 / (1 + math.exp(-odds)), 4)
