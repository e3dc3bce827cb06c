"""`SearchIndex`: an immutable snapshot of what can be found, cheap to change by one server's tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from toolcrib_core.errors import QueryError
from toolcrib_core.search.explain import explain_hit
from toolcrib_core.search.ranking import LexicalScores, Scores, best_rows, lexical_scores
from toolcrib_core.search.results import SearchHit, SearchResult
from toolcrib_core.search.segment import Segment, build_segment, merge_segments

if TYPE_CHECKING:
    from toolcrib_core.definition import ToolDefinition
    from toolcrib_core.search.embedder import Embedder
    from toolcrib_core.search.fusion import FusedScores

MAX_LIMIT = 1_000
CONFIDENT = 0.53
"""Below this confidence a result without a sentence model says that probably nothing fits."""
NEAR = 0.067
"""The same with a sentence model: how much nearer than a meaningless request the nearest of the hits must be.

Both are the largest that keep the note away from 98 of 100 requests whose tool is among the first eight, on the set
of requests by agents for real tools, too: `python bench/retrieval_pages.py [--semantic]`.
"""
RELEVANT = 0.4
"""The share of the best score below which a hit is no longer relevant.

Chosen with the same command: the recall of a page of eight falls by one point; with 0.5, by three and a half.
"""
_FIRST_HITS = 8
_MAX_PREFIX_KEYS = 8
_MAX_REMEMBERED = 65_536
# A segment is merged into the one before it unless that is more than twice as big: few segments, rarely moved.
_GROWTH = 2


@dataclass(frozen=True, repr=False)
class SearchIndex:
    """The tools that can be found.

    It never changes, so any number of threads may search it without a lock; `with_tools` gives a new one that shares
    what stayed the same. Hits and scores depend on the tools in it alone, not on how or in which order they came.
    """

    segments: tuple[Segment, ...] = ()

    @classmethod
    def build(cls, definitions: Iterable[ToolDefinition]) -> SearchIndex:
        """An index of the given tools; of several with one id the last counts."""
        return cls().with_tools(definitions)

    def with_tools(self, added: Iterable[ToolDefinition] = (), removed_ids: Iterable[str] = ()) -> SearchIndex:
        """A new index with some tools removed and others added; an added tool replaces the one with its id."""
        new = {definition.id: definition for definition in added}
        gone = {*removed_ids, *new}
        segments = [segment.without(gone) for segment in self.segments]
        if new:
            segments.append(build_segment([new[each] for each in sorted(new)]))
        return SearchIndex(tuple(_tidied(segments)))

    def holding(self, definitions: Iterable[ToolDefinition]) -> SearchIndex:
        """A new index with exactly these tools; only those that differ from what is here are read."""
        wanted = {definition.id: definition for definition in definitions}
        here = dict(zip(self.ids, self.definitions, strict=True))
        changed = [each for tool_id, each in wanted.items() if not _same(here.get(tool_id), each)]
        return self.with_tools(changed, here.keys() - wanted.keys())

    def __repr__(self) -> str:
        return f"SearchIndex({len(self)} tools)"

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _size(self) -> int:
        return sum(segment.size for segment in self.segments)

    def __contains__(self, tool_id: object) -> bool:
        return any(tool_id in segment.row_of for segment in self.segments)

    @cached_property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools in row order: that of every array a ranking gives."""
        return tuple(
            definition
            for segment in self.segments
            for definition, alive in zip(segment.definitions, segment.alive.tolist(), strict=True)
            if alive
        )

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of `definitions`."""
        return tuple(definition.id for definition in self.definitions)

    def frequency(self, key: str) -> int:
        """How many tools have the key."""
        known = self._frequencies.get(key)
        if known is None:
            known = sum(segment.frequency(key) for segment in self.segments)
            # What is not there is remembered too, since most relatives of a word are not; but what strangers ask for
            # must not fill the memory.
            if known or len(self._frequencies) < _MAX_REMEMBERED:
                self._frequencies[key] = known
        return known

    @cached_property
    def _frequencies(self) -> dict[str, int]:
        return {}

    def keys_with_prefix(self, prefix: str) -> list[str]:
        """The first few longer keys that start with the prefix, in order."""
        found = {key for segment in self.segments for key in segment.with_prefix(prefix, _MAX_PREFIX_KEYS)}
        return sorted(found)[:_MAX_PREFIX_KEYS]

    def words_alike(self, word: str) -> list[tuple[str, float]]:
        """Words of the catalogue that the given one may be a slip for, the closest first."""
        found = {
            pair for segment in self.segments for pair in segment.lexicon.alike(word) if segment.frequency(pair[0])
        }
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def place(self, row: int) -> tuple[Segment, int]:
        """Where the tool of a row lies: its segment, and its row there."""
        for segment in self.segments:
            if row < segment.size:
                return segment, row if segment.whole else int(np.flatnonzero(segment.alive)[row])
            row -= segment.size
        raise IndexError("no such row")

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        explain: bool = False,
        filter: Callable[[ToolDefinition], bool] | None = None,  # noqa: A002  # the word a caller looks for
        embedder: Embedder | None = None,
    ) -> SearchResult:
        """The tools that fit a request, the best first.

        Only tools with evidence are hits: there may be fewer than `limit`, or none. `filter` keeps the tools it is true
        for. With `explain` each hit says which words in which fields earned its score. With an `embedder` closeness in
        meaning counts too.

        Raises:
            QueryError: The request is not text, or `limit` is not between 1 and 1,000.
        """
        limit = _checked_limit(limit)
        lexical = lexical_scores(self, _checked_text(query))
        fused = None if embedder is None else _fused(self, lexical, embedder)
        scores = lexical.scores if fused is None else fused.scores
        rows = _chosen(self, scores, limit, filter)
        return SearchResult(
            hits=tuple(
                SearchHit(
                    id=self.ids[row],
                    score=float(scores[row]),
                    explanation=explain_hit(self, lexical, row) if explain else None,
                )
                for row in rows
            ),
            confidence=lexical.confidence,
            confident=_is_confident(lexical, fused, rows),
            relevant=int((scores[rows] >= RELEVANT * scores[rows[0]]).sum()) if rows else 0,
            truncated=lexical.query.truncated,
            total=int((scores > 0).sum()),
        )


def _checked_text(query: object) -> str:
    if not isinstance(query, str):
        raise QueryError(f"A search request is text, not {type(query).__name__}.", hint="Say in words what is needed.")
    return query


def _checked_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise QueryError(f"`limit` must be a whole number from 1 to {MAX_LIMIT}.", details={"argument": "limit"})
    return limit


def _fused(index: SearchIndex, lexical: LexicalScores, embedder: Embedder) -> FusedScores:
    from toolcrib_core.search.fusion import fused_scores

    return fused_scores(index, lexical, embedder)


def _is_confident(lexical: LexicalScores, fused: FusedScores | None, rows: list[int]) -> bool:
    if not rows or lexical.evidence.exact:
        return bool(rows)
    if fused is None or fused.nearness is None:
        return lexical.confidence >= CONFIDENT
    return bool(fused.nearness[rows[:_FIRST_HITS]].max() >= NEAR)


def _chosen(index: SearchIndex, scores: Scores, limit: int, keep: Callable[[ToolDefinition], bool] | None) -> list[int]:
    if keep is None:
        return best_rows(scores, index.ids, limit)
    ranked = (row for row in best_rows(scores, index.ids, len(scores)) if keep(index.definitions[row]))
    return list(islice(ranked, limit))


def _same(one: ToolDefinition | None, other: ToolDefinition) -> bool:
    return one is other or (one is not None and one.digest == other.digest)


def _tidied(segments: list[Segment]) -> list[Segment]:
    """Drop empty segments, compact half-empty ones, and merge neighbours of like size, the newest first."""
    kept: list[Segment] = []
    for segment in segments:
        if not segment.size:
            continue
        kept.append(segment if _GROWTH * segment.size > len(segment.definitions) else merge_segments(segment))
        while len(kept) > 1 and kept[-2].size <= _GROWTH * kept[-1].size:
            last = kept.pop()
            kept.append(merge_segments(kept.pop(), last))
    return kept
