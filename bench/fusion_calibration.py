"""Fits the weights of `toolcrib_core.search.fusion`, and says what they are worth on a set they were not fitted on.

    python bench/fusion_calibration.py

Every development set counts the same, whatever its size. The fit lowers the cross-entropy of the tools that answer a
request among the best hundred; recall is only reported. `metatool` and `metatool_multi` share a catalogue, so they are
left out together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from retrieval_sets import DATA, RetrievalSet, development_sets

from toolcrib_core.search import SearchIndex
from toolcrib_core.search.dense import DocumentVectors
from toolcrib_core.search.fusion import WEIGHTS, FusionWeights, Signals, combine, gather_signals
from toolcrib_core.search.ranking import lexical_scores
from toolcrib_semantic import open_embedder

MAX_QUERIES = 250
CANDIDATES = 100
# Spreads the sums so that a softmax over them gives sensible odds; the fit hardly depends on it.
SHARPNESS = 0.5
# Keeps a coefficient at 0 unless the sets agree that it helps.
SHRINKAGE = 0.003
SMALLEST_STEP = 0.02
FAMILIES = {"metatool_multi": "metatool"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A judged request with what both sides say about its best candidates."""

    signals: Signals
    groups: tuple[NDArray[np.int64], ...]
    """For each thing asked for, the candidates that answer it."""


def main() -> int:
    """Fit on all sets and on all but one, and print weights and recall."""
    sets = development_sets()
    if not sets:
        print(f"No retrieval sets: {DATA / 'retrieval'} is absent.", file=sys.stderr)
        return 1
    embedder = DocumentVectors(open_embedder())
    cases = {each.name: gather_cases(each, embedder) for each in sets}
    everything = fit(list(cases.values()))
    print("fitted on all sets:", everything)
    print(f"{'set':<16}{'shipped':>16}{'all sets':>16}{'left out':>16}   recall@5 / recall@10")
    for name, held_out in cases.items():
        family = FAMILIES.get(name, name)
        others = fit([found for other, found in cases.items() if FAMILIES.get(other, other) != family])
        columns = (_recalls(held_out, weights) for weights in (WEIGHTS, everything, others))
        print(f"{name:<16}" + "".join(f"{column:>16}" for column in columns), flush=True)
    return 0


def gather_cases(judged: RetrievalSet, embedder: DocumentVectors) -> list[Case]:
    """The cases of a set, evenly thinned out to a few hundred."""
    index = SearchIndex.build(judged.definitions)
    row_of = {judged.ids[tool_id]: row for row, tool_id in enumerate(index.ids)}
    stride = -(-len(judged.queries) // MAX_QUERIES)
    cases = []
    for query in judged.queries[::stride]:
        signals = gather_signals(index, lexical_scores(index, query.text), embedder)
        wanted = [[row_of[each] for each in sorted(group) if each in row_of] for group in query.groups]
        cases.append(_case(signals, wanted))
    return cases


def fit(sets: Sequence[Sequence[Case]]) -> FusionWeights:
    """The weights with the lowest cost, by steps along one coefficient at a time."""
    best = FusionWeights(base=0.7, coverage=0.0, specificity=0.0, gap=0.0, unknown=0.0, steps=1.0)
    lowest, step = cost(sets, best), 0.4
    while step >= SMALLEST_STEP:
        tried = [
            replace(best, **{each.name: getattr(best, each.name) + move})
            for each in fields(best)
            for move in (step, -step)
        ]
        costs = [cost(sets, weights) for weights in tried]
        if min(costs) < lowest - 1e-6:
            lowest, best = min(zip(costs, tried, strict=True), key=lambda pair: pair[0])
        else:
            step /= 2
    return best


def cost(sets: Sequence[Sequence[Case]], weights: FusionWeights) -> float:
    """The mean cross-entropy over sets, and the price of every coefficient that is not 0."""
    if weights.steps < 0:
        return float("inf")
    evidence = astuple(weights)[1:-1]
    return float(np.mean([np.mean([_surprise(case, weights) for case in cases]) for cases in sets])) + SHRINKAGE * sum(
        value * value for value in evidence
    )


def _surprise(case: Case, weights: FusionWeights) -> float:
    odds = SHARPNESS * combine(case.signals, weights)
    highest = odds.max()
    shares = np.exp(odds - highest)
    shares /= shares.sum()
    return float(np.mean([-np.log(shares[group].sum() + 1e-12) for group in case.groups]))


def _recalls(cases: Sequence[Case], weights: FusionWeights) -> str:
    return " / ".join(f"{_mean(cases, lambda case, at=at: _recall(case, weights, at)):.3f}" for at in (5, 10))


def _mean(cases: Sequence[Case], measure: Callable[[Case], float]) -> float:
    return float(np.mean([measure(case) for case in cases]))


def _recall(case: Case, weights: FusionWeights, depth: int) -> float:
    first = np.argsort(-combine(case.signals, weights), kind="stable")[:depth]
    return float(np.mean([np.isin(first, group).any() for group in case.groups]))


def _case(signals: Signals, wanted: Sequence[Sequence[int]]) -> Case:
    """Keep the best candidates by either side, and every tool that answers."""
    sides = [signals.words, signals.meaning, *([] if signals.steps is None else [signals.steps])]
    best = np.max(sides, axis=0)
    best[[row for group in wanted for row in group]] += 1_000
    kept = np.sort(np.argsort(-best, kind="stable")[:CANDIDATES])
    return Case(
        signals=replace(
            signals,
            words=signals.words[kept],
            meaning=signals.meaning[kept],
            steps=None if signals.steps is None else signals.steps[kept],
            nearness=signals.nearness[kept],
        ),
        groups=tuple(np.searchsorted(kept, group) for group in wanted if group),
    )


if __name__ == "__main__":
    raise SystemExit(main())
