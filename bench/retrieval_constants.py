"""What the constants of ranking are worth: each moved by itself, and chosen anew with one set left out.

`python bench/retrieval_constants.py [--queries 200]` prints the mean recall@5 for every step of every constant, then,
for each set, what it scores with the step that is best for the *other* sets. Where that is no better than what is
shipped, the shipped constants are not fitted to the set.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from retrieval_metrics import DEPTH, quality
from retrieval_sets import RetrievalSet, development_sets

from toolcrib_core.search import SearchIndex, expansion, query, ranking, segment, weights

CONSTANTS = (
    "SATURATION",
    "LENGTH_NORMALISATION",
    "FILLER_WEIGHT",
    "RELATED_WEIGHT",
    "SYNONYM_WEIGHT",
    "PHRASE_WEIGHT",
    "TRANSLATION_WEIGHT",
    "SPELLING_WEIGHT",
    "PREFIX_WEIGHT",
    "ABSENT_BOOST",
    "CLAUSE_WEIGHT",
    "PRODUCT_BOOST",
)
STEPS = (0.6, 1.5)
MODULES = (weights, expansion, query, ranking, segment)
SHIPPED = "as shipped"


def main() -> None:
    """Measure every step on every set, then leave one set out at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=200, help="at most so many of each set")
    sets = [_sampled(each, parser.parse_args().queries) for each in development_sets()]
    table = {SHIPPED: _recalls(sets)}
    _print_row(SHIPPED, table[SHIPPED])
    for name in (*CONSTANTS, *weights.FIELD_WEIGHTS):
        for step in STEPS:
            with _moved(name, step):
                table[f"{name} x{step}"] = _recalls(sets)
            _print_row(f"{name} x{step}", table[f"{name} x{step}"])
    print("\nleft out        as shipped  best step for the others")
    for each in sets:
        others = [other.name for other in sets if other is not each]
        best = max(table, key=lambda row: statistics.fmean(table[row][other] for other in others))
        print(f"{each.name:<16}{table[SHIPPED][each.name]:<12.3f}{table[best][each.name]:.3f} ({best})")


@contextmanager
def _moved(name: str, step: float) -> Iterator[None]:
    if name in weights.FIELD_WEIGHTS:
        fields: dict[str, Any] = dict(weights.FIELD_WEIGHTS)
        weights.FIELD_WEIGHTS.update({name: fields[name] * step})
        try:
            yield
        finally:
            weights.FIELD_WEIGHTS.update(fields)
        return
    users = [module for module in MODULES if hasattr(module, name)]
    shipped = getattr(weights, name)
    try:
        for module in users:
            setattr(module, name, shipped * step)
        yield
    finally:
        for module in users:
            setattr(module, name, shipped)


def _recalls(sets: list[RetrievalSet]) -> dict[str, float]:
    found = {}
    for each in sets:
        index = SearchIndex.build(each.definitions)
        rankings = [[each.ids[hit.id] for hit in index.search(asked.text, limit=DEPTH).hits] for asked in each.queries]
        found[each.name] = float(quality(each.queries, rankings)["recall@5"])
    return found


def _sampled(judged: RetrievalSet, most: int) -> RetrievalSet:
    queries = list(judged.queries)
    random.Random(1).shuffle(queries)
    return replace(judged, queries=tuple(queries[:most]))


def _print_row(name: str, recalls: dict[str, float]) -> None:
    figures = "  ".join(f"{each} {value:.3f}" for each, value in recalls.items())
    print(f"{name:<32}{statistics.fmean(recalls.values()):.4f}  {figures}", flush=True)


if __name__ == "__main__":
    main()
