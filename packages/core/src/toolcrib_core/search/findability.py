"""Findability: does a request lead to the tool it was written for, and which tools stand in each other's way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from toolcrib_core.errors import QueryError, UnknownTool
from toolcrib_core.search.document import document_fields
from toolcrib_core.search.results import Explanation, SearchHit

if TYPE_CHECKING:
    from toolcrib_core.search.index import SearchIndex

CASES_KEY = "searchCases"
"""The key of a definition's metadata under which its author lists requests that must find it."""
DEPTH = 10
MAX_SELF_QUERIES = 2_000
MAX_CASES = 10_000

_CONFIG = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class CaseFinding(BaseModel):
    """Where a tool came out for a request that was written for it."""

    model_config = _CONFIG

    tool_id: str
    request: str
    rank: int | None
    """1 for the first hit; none when it is not among the first ten."""
    in_front: tuple[str, ...]
    """The tools that came out before it."""
    why_first: Explanation | None
    """What earned the first hit its place, when that is another tool."""


class ConfusablePair(BaseModel):
    """Two tools that search cannot tell apart by what they say of themselves: each finds the other first."""

    model_config = _CONFIG

    first: str
    second: str


class FindabilityReport(BaseModel):
    """The cases, the worst first, and the pairs of tools that get in each other's way."""

    model_config = _CONFIG

    cases: tuple[CaseFinding, ...]
    confusable: tuple[ConfusablePair, ...]
    self_queries: int
    """How many tools were asked for by their own description: at most 2,000, in the order of their ids."""

    @property
    def missed(self) -> tuple[CaseFinding, ...]:
        """The cases whose tool is not the first hit."""
        return tuple(case for case in self.cases if case.rank != 1)


def findability(index: SearchIndex, cases: Mapping[str, Sequence[str]] | None = None) -> FindabilityReport:
    """Ask for tools by the requests written for them, and for every tool by its own description.

    `cases` has requests by tool id; those that definitions carry in `metadata["searchCases"]` are added.

    Raises:
        UnknownTool: A case is about a tool that is not in the index.
        QueryError: There are more than 10,000 cases.
    """
    asked = sorted({*_given(index, cases or {}), *_carried(index)})
    if len(asked) > MAX_CASES:
        raise QueryError(f"There are {len(asked)} search cases; at most {MAX_CASES} are run at once.")
    findings = [_finding(index, tool_id, request) for tool_id, request in asked]
    rivals = dict(_rivals(index))
    return FindabilityReport(
        cases=tuple(sorted(findings, key=lambda case: (-(case.rank or DEPTH + 1), case.tool_id, case.request))),
        confusable=tuple(
            ConfusablePair(first=tool_id, second=rival)
            for tool_id, rival in sorted(rivals.items())
            if tool_id < rival and rivals.get(rival) == tool_id
        ),
        self_queries=min(len(index), MAX_SELF_QUERIES),
    )


def _given(index: SearchIndex, cases: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for tool_id, requests in cases.items():
        if tool_id not in index:
            raise UnknownTool(f"There is a search case for `{tool_id}`, which is not in the index.")
        yield from ((tool_id, request) for request in requests)


def _carried(index: SearchIndex) -> Iterator[tuple[str, str]]:
    for definition in index.definitions:
        requests = definition.metadata.get(CASES_KEY)
        if isinstance(requests, list):
            yield from ((definition.id, request) for request in requests if isinstance(request, str))


def _finding(index: SearchIndex, tool_id: str, request: str) -> CaseFinding:
    hits = index.search(request, limit=DEPTH, explain=True).hits
    ids = [hit.id for hit in hits]
    rank = ids.index(tool_id) + 1 if tool_id in ids else None
    return CaseFinding(
        tool_id=tool_id,
        request=request,
        rank=rank,
        in_front=tuple(ids if rank is None else ids[: rank - 1]),
        why_first=hits[0].explanation if hits and rank != 1 else None,
    )


def _rivals(index: SearchIndex) -> Iterator[tuple[str, str]]:
    """For each tool, the best other one for its own words, where that does at least as well."""
    by_id = dict(zip(index.ids, index.definitions, strict=True))
    for tool_id in sorted(by_id)[:MAX_SELF_QUERIES]:
        fields = document_fields(by_id[tool_id])
        hits = index.search(fields.get("summary") or fields["name"], limit=2).hits
        rival = _rival(tool_id, hits)
        if rival is not None:
            yield tool_id, rival


def _rival(tool_id: str, hits: Sequence[SearchHit]) -> str | None:
    own = next((hit.score for hit in hits if hit.id == tool_id), 0.0)
    best = next((hit for hit in hits if hit.id != tool_id), None)
    return best.id if best is not None and best.score >= own else None
