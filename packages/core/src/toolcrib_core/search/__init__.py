"""Search: ranked retrieval over a catalogue without a model, and the place for a dense signal beside it."""

from __future__ import annotations

from toolcrib_core.search.dense import DocumentVectors, VectorCache
from toolcrib_core.search.embedder import Embedder
from toolcrib_core.search.findability import CaseFinding, ConfusablePair, FindabilityReport, findability
from toolcrib_core.search.index import SearchIndex
from toolcrib_core.search.results import Explanation, SearchHit, SearchResult, TermMatch

__all__ = [
    "CaseFinding",
    "ConfusablePair",
    "DocumentVectors",
    "Embedder",
    "Explanation",
    "FindabilityReport",
    "SearchHit",
    "SearchIndex",
    "SearchResult",
    "TermMatch",
    "VectorCache",
    "findability",
]
