"""How search grows with the catalogue: build, query, memory, and the change of one server's tools.

`python bench/search_scale.py [--json] [--sizes 100 1000 10000 100000]`. Tools are made up, as long as real ones.
Times are CPU time of this process, medians of several rounds.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.search import SearchIndex
from toolcrib_core.search.related import related_words

SIZES = (100, 1_000, 10_000, 100_000)
SERVER_SIZE = 25
QUERIES = 200
ROUNDS = 5
TARGETS = {
    (10_000, "query p95"): ("ms", 10.0),
    (10_000, "build"): ("s", 3.0),
    (10_000, "index"): ("MB", 100.0),
    (100_000, "query p95"): ("ms", 50.0),
}
MOST_OF_A_BUILD = 0.05

VERBS = "create list get update delete search archive restore export import assign merge validate publish".split()


class Workshop:
    """Makes up servers: each has a product name, a few objects it is about, and the words of its trade."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = [word for word in related_words().stems if len(word) > 3]

    def server(self) -> list[ToolDefinition]:
        """The tools of one server."""
        product = "".join(self._random.choices("bcdfgklmnprstvz", k=3)) + self._words_of(1)
        trade = [self._words_of(1) for _ in range(30)]
        return [self._tool(product, trade, number) for number in range(SERVER_SIZE)]

    def query(self, tools: list[ToolDefinition]) -> str:
        """A request for some tool: half of it words of the tool, half others, one of them mistyped."""
        said = self._random.choice(tools).description.split()
        own = self._random.sample(said, min(3, len(said)))
        other = self._words_of(3).split()
        return " ".join([*own, *other, other[0][:-2] + "qx"])

    def _tool(self, product: str, trade: list[str], number: int) -> ToolDefinition:
        pick = self._random
        thing = pick.choice(trade)
        parameters = {
            f"{pick.choice(trade)}_{part}": {"type": "string", "description": self._prose(trade, 9)}
            for part in ("id", "name", "filter", "limit")
        }
        return ToolDefinition(
            namespace=product,
            name=f"{pick.choice(VERBS)}_{thing}_{number}",
            description=f"{self._prose(trade, 12).capitalize()}. {self._prose(trade, 20).capitalize()}.",
            input_schema={"type": "object", "properties": parameters},
        )

    def _prose(self, trade: list[str], size: int) -> str:
        usual = "the a of to in for with by this that which from and returns given".split()
        chosen = [
            self._random.choice(trade) if self._random.random() < 0.5 else self._random.choice(usual)
            for _ in range(size)
        ]
        return " ".join([self._random.choice(VERBS), *chosen, self._words_of(1)])

    def _words_of(self, count: int) -> str:
        # Squared, so that some words are common and most are rare, as in prose.
        return " ".join(self._words[int(self._random.random() ** 2 * len(self._words))] for _ in range(count))


def measure(size: int) -> list[dict[str, Any]]:
    """All figures for one size."""
    workshop = Workshop(size)
    tools = [tool for _ in range(size // SERVER_SIZE) for tool in workshop.server()]
    server = workshop.server()
    rounds = ROUNDS if size <= 10_000 else 1
    build, index = _median_seconds(lambda: SearchIndex.build(tools), rounds)
    index.search("warm up the shipped tables wrod")
    queries = [workshop.query(tools) for _ in range(QUERIES)]
    seconds = sorted(_seconds(partial(index.search, query))[0] for query in queries)
    add, grown = _median_seconds(lambda: index.with_tools(server), ROUNDS)
    remove, _ = _median_seconds(lambda: grown.with_tools(removed_ids=[tool.id for tool in server]), ROUNDS)
    grown.search("warm up")
    figures = {
        "build": build,
        "query p50": 1e3 * statistics.median(seconds),
        "query p95": 1e3 * seconds[math.ceil(0.95 * QUERIES) - 1],
        "index": _megabytes(tools),
        "add one server": add / build,
        "remove one server": remove / build,
    }
    return [_row(size, what, value) for what, value in figures.items()]


def _row(size: int, what: str, value: float) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": f"search-{size}",
        "what": f"{what}, {size:,} tools",
        "ours": round(value, 4),
        "peers": {},
    }
    if "server" in what:
        # A server is a quarter of 100 tools: only where it is a small part does the target mean something.
        target = MOST_OF_A_BUILD if size >= 10_000 else None
        row["unit"] = "of a build"
    else:
        unit = "s" if what == "build" else "MB" if what == "index" else "ms"
        row["unit"], target = TARGETS.get((size, what), (unit, None))
    if target is not None:
        row |= {"target": f"<= {target:g}", "met": value <= target}
    return row


def _seconds(act: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    made = act()
    return time.process_time() - started, made


def _median_seconds(act: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    timed = [_seconds(act) for _ in range(rounds)]
    return statistics.median(seconds for seconds, _ in timed), timed[-1][1]


def _megabytes(tools: list[ToolDefinition]) -> float:
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    index = SearchIndex.build(tools)
    index.search("somethng mistyped so that the lexicon is there")
    size = (tracemalloc.get_traced_memory()[0] - before) / 1e6
    tracemalloc.stop()
    return size


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one object for the whole bench")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        for row in measure(size):
            rows.append(row)
            if not options.json:
                verdict = {True: "met", False: "MISSED", None: ""}[row.get("met")]
                print(
                    f"{row['what']:<36}{row['ours']:>10} {row['unit']:<12}{row.get('target', ''):<10}{verdict}",
                    flush=True,
                )
    if options.json:
        print(json.dumps({"bench": "search-scale", "rows": rows}))


if __name__ == "__main__":
    main()
