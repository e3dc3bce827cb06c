"""What a page of search results shows: how many cards, how many of them are noise, and when it says "none may fit".

`python bench/retrieval_pages.py [--semantic] [--queries 120]` prints, for every development set, the figures of the
page as it is, and what other values of the constants in `toolcrib_core.search.index` would do. Requests without an
answer are those of the set over a catalogue without the tools that answer them, without all tools of their servers,
and requests of another set. The values were chosen on all of these sets; none was held out.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from retrieval_sets import DATA, Judged, RetrievalSet, development_sets

from toolcrib_core.search import SearchIndex, SearchResult, index

PAGE = 8
FEWEST_SERVERS = 5
ELSEWHERE = {"cw83": "bfcl", "metatool": "cw83", "toolalpaca": "cw83", "nestful": "bfcl", "bfcl": "cw83"}
"""For a set another one of a wholly different domain."""
_DEFAULT_ELSEWHERE = "nestful"


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page and what it is worth: `needs` is empty where nothing answers the request."""

    result: SearchResult
    shown: tuple[str, ...]
    needs: tuple[frozenset[str], ...]

    @property
    def is_answered(self) -> bool:
        """Whether a tool that was asked for is on the page."""
        return any(each & set(self.shown) for each in self.needs)

    @property
    def noise(self) -> int:
        """How many of the cards nobody asked for."""
        return len(set(self.shown) - frozenset().union(*self.needs))


def page_figures(judged: RetrievalSet, others: Sequence[Judged], embedder: Any, *, most: int) -> dict[str, float]:
    """The figures of a set's pages; `others` are requests of another domain."""
    made = SearchIndex.build(judged.definitions)
    queries = _sample(judged.queries, most)
    pages = [_page(made, judged, each.text, each.groups, embedder) for each in queries]
    answered = [each for each in pages if each.is_answered]
    unanswered = [*_without_answer(made, judged, queries, embedder)]
    unanswered += [_page(made, judged, each.text, (), embedder) for each in _sample(others, most)]
    whole = [frozenset(judged.ids[hit.id] for hit in each.result.hits[:PAGE]) for each in pages]
    return {
        "page_cards": round(statistics.fmean(len(each.shown) for each in pages), 2),
        "page_recall": _mean(_met(each.needs, frozenset(each.shown)) for each in pages),
        "page_recall_uncut": _mean(_met(each.needs, all_of) for each, all_of in zip(pages, whole, strict=True)),
        "page_all": _mean(_met(each.needs, frozenset(each.shown)) == 1 for each in pages),
        "page_noise": round(sum(each.noise for each in answered) / sum(len(each.shown) for each in answered), 4),
        "noted_answered": _mean(not each.result.confident for each in answered),
        "noted_unanswered": _mean(not each.result.confident for each in unanswered),
    }


def requests_elsewhere(judged: RetrievalSet, sets: Sequence[RetrievalSet]) -> Sequence[Judged]:
    """Requests of another domain than the set's; none where that set is not there."""
    name = ELSEWHERE.get(judged.name, _DEFAULT_ELSEWHERE)
    return next((each.queries for each in sets if each.name == name), ())


def _without_answer(
    made: SearchIndex, judged: RetrievalSet, queries: Sequence[Judged], embedder: Any
) -> Iterator[Page]:
    by_given = {given: tool_id for tool_id, given in judged.ids.items()}
    servers: dict[str, set[str]] = {}
    for each in judged.definitions:
        servers.setdefault(each.namespace, set()).add(each.id)
    server_of = {tool_id: tools for tools in servers.values() for tool_id in tools}
    for query in queries:
        tools = {by_given[each] for group in query.groups for each in group if each in by_given}
        yield _page(made.with_tools(removed_ids=tools), judged, query.text, (), embedder)
        if len(servers) > FEWEST_SERVERS:
            whole = set().union(*(server_of[each] for each in tools))
            yield _page(made.with_tools(removed_ids=whole), judged, query.text, (), embedder)


def _page(made: SearchIndex, judged: RetrievalSet, text: str, needs: tuple[frozenset[str], ...], embedder: Any) -> Page:
    result = made.search(text, limit=PAGE, embedder=embedder)
    return Page(result=result, shown=tuple(judged.ids[hit.id] for hit in result.hits[: result.relevant]), needs=needs)


def _met(needs: tuple[frozenset[str], ...], shown: frozenset[str]) -> float:
    return sum(bool(each & shown) for each in needs) / len(needs)


def _mean(values: Iterator[float]) -> float:
    return round(statistics.fmean([*values] or [0.0]), 4)


def _sample(queries: Sequence[Judged], most: int) -> list[Judged]:
    every = list(queries)
    random.Random(5).shuffle(every)
    return every[:most]


def main() -> int:
    """Print the figures as they are, and with the constants moved one at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=120, help="at most so many of each kind and set")
    parser.add_argument("--semantic", action="store_true", help="add the embedder of toolcrib-semantic")
    options = parser.parse_args()
    sets = development_sets()
    if not sets:
        print(f"No retrieval sets: {DATA / 'retrieval'} is absent.", file=sys.stderr)
        return 1
    embedder = None
    if options.semantic:
        from toolcrib_core.search.dense import DocumentVectors
        from toolcrib_semantic import open_embedder

        embedder = DocumentVectors(open_embedder())
    note = "NEAR" if embedder else "CONFIDENT"
    shipped = {name: getattr(index, name) for name in (note, "RELEVANT")}
    steps = [
        {},
        *({name: round(value * by, 3)} for name, value in shipped.items() for by in (0.75, 0.9, 1.1, 1.25, 1.5)),
    ]
    for moved in steps:
        for name, value in (shipped | moved).items():
            setattr(index, name, value)
        for judged in sets:
            figures = page_figures(judged, requests_elsewhere(judged, sets), embedder, most=options.queries)
            shown = "  ".join(f"{name} {value:g}" for name, value in figures.items())
            print(f"{moved or 'as shipped'!s:<24}{judged.name:<16}{shown}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
