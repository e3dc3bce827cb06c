"""How good rankings are: recall at several depths, nDCG and MRR over judged queries."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrieval_sets import Judged

DEPTH = 10


def quality(queries: Sequence[Judged], rankings: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The means over the queries; a group is met by any of its tools, and recall is groups met of groups asked for."""
    figures: dict[str, list[float]] = {}
    for query, ranking in zip(queries, rankings, strict=True):
        first = [_first_met(group, ranking) for group in query.groups]
        for depth in (1, 3, 5, 10):
            figures.setdefault(f"recall@{depth}", []).append(sum(at < depth for at in first) / len(first))
        figures.setdefault("all@10", []).append(float(all(at < DEPTH for at in first)))
        figures.setdefault("ndcg@10", []).append(_ndcg(first))
        figures.setdefault("mrr", []).append(1 / (1 + min(first)) if min(first) < DEPTH else 0.0)
    return {name: round(statistics.fmean(values), 4) for name, values in figures.items()}


def _first_met(group: frozenset[str], ranking: Sequence[str]) -> int:
    return next((at for at, each in enumerate(ranking[:DEPTH]) if each in group), DEPTH)


def _ndcg(first: Sequence[int]) -> float:
    gained = sum(1 / math.log2(2 + at) for at in first if at < DEPTH)
    # Groups may share their first tool, so the ideal is the same sum with every group met as early as it can be.
    ideal = sum(1 / math.log2(2 + at) for at in range(min(len(first), DEPTH)))
    return min(1.0, gained / ideal)
