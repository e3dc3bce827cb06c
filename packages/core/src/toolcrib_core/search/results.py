"""What a search answers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from toolcrib_core.search.document import Field
from toolcrib_core.search.expansion import Relation

_CONFIG = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class TermMatch(BaseModel):
    """One thing the request said, and the word of the tool that answered it best."""

    model_config = _CONFIG

    said: str
    matched: str
    """The stem of the tool's word."""
    relation: Relation
    fields: tuple[Field, ...]
    """Where the tool has the word, the weightiest field first."""
    score: float


class Explanation(BaseModel):
    """Why a tool got its score."""

    model_config = _CONFIG

    matches: tuple[TermMatch, ...]
    """The contributions of the words, the highest first."""
    exact_name: bool
    """Whether the request is the tool's own name, title or id: such a tool goes in front of all others."""
    names_product: bool
    """Whether the request names the tool's server, which raises the score of all its tools."""
    unmatched: tuple[str, ...]
    """What the request said and the tool does not answer."""


class SearchHit(BaseModel):
    """One tool that was found."""

    model_config = _CONFIG

    id: str
    score: float
    explanation: Explanation | None = None


class SearchResult(BaseModel):
    """The tools that were found, the best first; ties stand in the order of their ids."""

    model_config = _CONFIG

    hits: tuple[SearchHit, ...]
    confidence: float
    """How likely it is that one of the first five is what was asked for, between 0 and 1."""
    confident: bool
    """False where probably no tool fits: the evidence is as weak as of hardly any request that has an answer."""
    relevant: int
    """How many of the hits, from the first on, are not far behind the best: a page of results may end there."""
    truncated: bool
    """Whether the request was longer than is read."""
    total: int
    """How many tools had any evidence for them, before `limit`."""
