"""How well and how fast search finds tools: `python bench/retrieval.py --all`, or `--tools T.jsonl --queries Q.jsonl`.

Times are CPU time of this process. Peers run in throw-away environments of their own (`bench/peers/`).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from retrieval_metrics import DEPTH, quality
from retrieval_pages import page_figures, requests_elsewhere
from retrieval_peers import PEERS, run_peer
from retrieval_sets import DATA, RetrievalSet, development_sets, read_set

from toolcrib_core.search import SearchIndex

MOST_PAGES = 120
"""Requests of each kind whose pages are looked at."""


def main() -> int:
    """Run the bench and print a table, or JSON lines."""
    options = _options()
    sets = [read_set(options.tools, options.queries, name=options.name)] if options.tools else development_sets()
    if not sets:
        print(f"No retrieval sets: {DATA / 'retrieval'} is absent. Give --tools and --queries.", file=sys.stderr)
        return 1
    embedder = _embedder() if options.semantic else None
    for each in sets:
        rows = [measure_ours(each, embedder)]
        rows[0] |= page_figures(each, requests_elsewhere(each, sets), embedder, most=MOST_PAGES)
        if options.peers:
            rows += measure_peers(each)
        for row in rows:
            print(json.dumps(row) if options.json else _line(row), flush=True)
    return 0


def measure_ours(judged: RetrievalSet, embedder: Any = None) -> dict[str, Any]:
    """Quality, speed and size of our own search on one set."""
    started = time.process_time()
    index = SearchIndex.build(judged.definitions)
    built = time.process_time() - started
    if embedder is not None:
        index.search("warm up", embedder=embedder)

    def ranked(text: str) -> list[str]:
        return [judged.ids[hit.id] for hit in index.search(text, limit=DEPTH, embedder=embedder).hits]

    rankings, seconds = _timed(ranked, [query.text for query in judged.queries])
    system = "ours" if embedder is None else f"ours + {embedder.name}"
    return {
        "set": judged.name,
        "system": system,
        "tools": len(judged.definitions),
        "queries": len(judged.queries),
        **quality(judged.queries, rankings),
        **_times(built, seconds),
        "index_mb": round(index_megabytes(judged), 1),
    }


def measure_peers(judged: RetrievalSet) -> list[dict[str, Any]]:
    """The same figures for every peer that can be had; a notice for each that cannot."""
    rows = []
    for peer in PEERS:
        found = run_peer(peer, judged, depth=DEPTH)
        if isinstance(found, str):
            print(f"peer {peer.name}: {found}", file=sys.stderr)
            continue
        rows.append(
            {
                "set": judged.name,
                "system": found.version,
                "tools": len(judged.definitions),
                "queries": len(found.rankings),
                **quality(judged.queries[: len(found.rankings)], found.rankings),
                **_times(found.build_seconds, found.query_seconds),
            }
        )
    return rows


def index_megabytes(judged: RetrievalSet) -> float:
    """What building the index allocates and keeps, the definitions themselves not counted."""
    SearchIndex.build(judged.definitions[:1]).search("load the shipped tables")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    index = SearchIndex.build(judged.definitions)
    index.search("mispelt wrods need the lexicn")
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / 1e6


def _timed(ranked: Callable[[str], list[str]], texts: Sequence[str]) -> tuple[list[list[str]], list[float]]:
    for text in texts[:5]:
        ranked(text)
    rankings, seconds = [], []
    for text in texts:
        started = time.process_time()
        rankings.append(ranked(text))
        seconds.append(time.process_time() - started)
    return rankings, seconds


def _times(built: float, seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        "build_cpu_s": round(built, 3),
        "query_p50_ms": round(1e3 * statistics.median(ordered), 3),
        "query_p95_ms": round(1e3 * ordered[math.ceil(0.95 * len(ordered)) - 1], 3),
    }


def _line(row: dict[str, Any]) -> str:
    shown = ("recall@1", "recall@3", "recall@5", "recall@10", "all@10", "ndcg@10", "mrr")
    figures = "  ".join(f"{name} {row[name]:.3f}" for name in shown)
    times = f"build {row['build_cpu_s']:.2f} s  query {row['query_p50_ms']:.1f}/{row['query_p95_ms']:.1f} ms"
    size = f"  {row['index_mb']} MB" if "index_mb" in row else ""
    return f"{row['set']:<15}{row['system']:<36} {figures}  {times}{size}"


def _embedder() -> Any:
    from toolcrib_core.search.dense import DocumentVectors

    try:
        from toolcrib_semantic import open_embedder
    except ImportError as failure:
        sys.exit(f"--semantic needs the package toolcrib-semantic and its dependencies: {failure}")
    return DocumentVectors(open_embedder())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every development set beside the checkout")
    parser.add_argument("--tools", type=Path, help="a catalogue, one tool a line")
    parser.add_argument("--queries", type=Path, help="judged queries, one a line")
    parser.add_argument("--name", default="given", help="what to call the given set")
    parser.add_argument("--semantic", action="store_true", help="add the embedder of toolcrib-semantic")
    parser.add_argument("--peers", action="store_true", help="measure the peers too")
    parser.add_argument("--json", action="store_true", help="one flat object per set and system")
    options = parser.parse_args()
    if bool(options.tools) != bool(options.queries) or not (options.all or options.tools):
        parser.error("give --all, or --tools and --queries")
    for path in filter(None, (options.tools, options.queries)):
        if not path.is_file():
            parser.error(f"there is no file {path}")
    return options


if __name__ == "__main__":
    sys.exit(main())
