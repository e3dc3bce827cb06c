"""The postings of one batch of tools: built once, never changed, merged with others of its size."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from toolcrib_core.search.document import Field, document_fields
from toolcrib_core.search.spelling import Lexicon
from toolcrib_core.search.text import all_terms, terms
from toolcrib_core.search.weights import FIELD_LENGTHS, FIELD_WEIGHTS, LENGTH_NORMALISATION, SATURATION
from toolcrib_core.wire_names import WireNames

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from toolcrib_core.definition import ToolDefinition

Rows: TypeAlias = "NDArray[np.int32]"
Impacts: TypeAlias = "NDArray[np.float32]"

# Marks in front of keys that are not words; no word can hold them.
PRODUCT_MARK = "@"
NAME_MARK = "="
LITERAL_MARK = "!"
TITLE_MARK = "~"

_NAME_FIELDS: frozenset[Field] = frozenset({"name", "title", "tags", "namespace"})
_NO_ROWS: Rows = np.empty(0, np.int32)
_NO_IMPACTS: Impacts = np.empty(0, np.float32)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Segment:
    """Some tools, and for every word the rows of the tools that have it with the word's impact on each."""

    definitions: tuple[ToolDefinition, ...]
    keys: dict[str, int]
    starts: NDArray[np.int64]
    rows: Rows
    impacts: Impacts
    alive: NDArray[np.bool_]

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each tool that is still there, by id."""
        return {each.id: row for row, each in enumerate(self.definitions) if self.alive[row]}

    @cached_property
    def size(self) -> int:
        """How many tools are still there."""
        return int(self.alive.sum())

    @cached_property
    def whole(self) -> bool:
        """Whether no tool was removed."""
        return self.size == len(self.definitions)

    @cached_property
    def in_order(self) -> list[str]:
        """All keys in order: those with one mark stand together."""
        return sorted(self.keys)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words among the keys, ready to be asked for those spelt alike."""
        return Lexicon.of([key for key in self.in_order if key[0].isalnum()])

    def postings(self, key: str) -> tuple[Rows, Impacts]:
        """The rows that have the key, removed tools included, and its impact on each."""
        at = self.keys.get(key)
        if at is None:
            return _NO_ROWS, _NO_IMPACTS
        span = slice(self.starts[at], self.starts[at + 1])
        return self.rows[span], self.impacts[span]

    def frequency(self, key: str) -> int:
        """How many tools that are still there have the key."""
        rows, _ = self.postings(key)
        return len(rows) if self.whole else int(self.alive[rows].sum())

    def impact(self, key: str, row: int) -> float:
        """The impact of a key on one tool; 0 where the tool does not have it."""
        rows, impacts = self.postings(key)
        at = int(np.searchsorted(rows, row))
        return float(impacts[at]) if at < len(rows) and rows[at] == row else 0.0

    def with_prefix(self, prefix: str, most: int) -> list[str]:
        """The first few longer keys that start with the prefix, in order, of tools that are still there."""
        found: list[str] = []
        for at in range(bisect_left(self.in_order, prefix), len(self.in_order)):
            key = self.in_order[at]
            if len(found) == most or not key.startswith(prefix):
                break
            if key != prefix and self.frequency(key):
                found.append(key)
        return found

    def without(self, ids: Iterable[str]) -> Segment:
        """The same postings with some tools marked as removed."""
        gone = [row for each in ids if (row := self.row_of.get(each)) is not None]
        if not gone:
            return self
        alive = self.alive.copy()
        alive[gone] = False
        return replace(self, alive=alive)


def build_segment(definitions: Sequence[ToolDefinition]) -> Segment:
    """Read the tools and invert them."""
    keys: dict[str, int] = {}
    found, rows, impacts = array("i"), array("i"), array("f")
    for row, definition in enumerate(definitions):
        for key, impact in _impacts(definition).items():
            found.append(keys.setdefault(key, len(keys)))
            rows.append(row)
            impacts.append(impact)
    return _inverted(
        tuple(definitions),
        keys,
        np.frombuffer(found, np.int32),
        np.frombuffer(rows, np.int32),
        np.frombuffer(impacts, np.float32),
    )


def merge_segments(*segments: Segment) -> Segment:
    """One segment with the tools that are still there; nothing is read again."""
    keys: dict[str, int] = {}
    kept: list[ToolDefinition] = []
    parts: list[tuple[Rows, Rows, Impacts]] = []
    for segment in segments:
        parts.append(_renumbered(segment, keys, len(kept)))
        kept += (segment.definitions[row] for row in np.flatnonzero(segment.alive))
    found, rows, impacts = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _inverted(tuple(kept), keys, found, rows, impacts)


def field_terms(field: Field, text: str) -> list[str]:
    """The index terms of one field: in names every word counts, in prose grammar does not."""
    return all_terms(text) if field in _NAME_FIELDS else terms(text)


def squeezed(text: str) -> str:
    """A name without case and separators: `create_issue`, `createIssue` and `Create issue` are the same."""
    return "".join(char for char in text.casefold() if char.isalnum())


def _impacts(definition: ToolDefinition) -> dict[str, float]:
    weights: dict[str, float] = {}
    fields = document_fields(definition)
    for field, text in fields.items():
        found = field_terms(field, text)
        stretch = 1 - LENGTH_NORMALISATION + LENGTH_NORMALISATION * len(found) / FIELD_LENGTHS[field]
        weight = FIELD_WEIGHTS[field] / stretch
        for term in found:
            weights[term] = weights.get(term, 0.0) + weight
    impacts = {term: weight / (SATURATION + weight) for term, weight in weights.items()}
    for key in _identity_keys(definition, fields.get("namespace", "")):
        impacts[key] = 1.0
    return impacts


def _identity_keys(definition: ToolDefinition, product: str) -> set[str]:
    """Every form in which the tool is named: bare, with its server, as an id with or without version and hash, as sent.

    Names match without case and separators, so the wire name `server__name` is the name with its server.
    """
    tool_id, name, sent = definition.id, definition.name, definition.upstream_name or definition.name
    qualified = [f"{definition.namespace}:{each}" for each in (name, sent)]
    unversioned = f"{qualified[0]}#{tool_id.rpartition('#')[2]}"
    literal = (
        name,
        sent,
        *qualified,
        tool_id,
        tool_id.partition("#")[0],
        unversioned,
        WireNames((tool_id,)).encode(tool_id),
    )
    keys = {LITERAL_MARK + text.casefold() for text in literal}
    keys |= {NAME_MARK + squeezed(text) for text in (name, sent, *qualified, tool_id, unversioned)}
    if definition.title:
        keys.add(TITLE_MARK + squeezed(definition.title))
    return keys | {PRODUCT_MARK + term for term in all_terms(product)}


def _inverted(
    definitions: tuple[ToolDefinition, ...], keys: dict[str, int], found: Rows, rows: Rows, impacts: Impacts
) -> Segment:
    order = np.argsort(found, kind="stable")
    counts = np.bincount(found, minlength=len(keys))
    return Segment(
        definitions=definitions,
        keys=keys,
        starts=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        rows=rows[order].astype(np.int32),
        impacts=impacts[order].astype(np.float32),
        alive=np.ones(len(definitions), np.bool_),
    )


def _renumbered(segment: Segment, keys: dict[str, int], offset: int) -> tuple[Rows, Rows, Impacts]:
    kept = segment.alive[segment.rows]
    used = np.repeat(np.arange(len(segment.keys)), np.diff(segment.starts))[kept]
    # A key whose tools are all gone goes too, so that a merged segment equals one built afresh.
    present = set(np.unique(used).tolist())
    new_key = np.full(len(segment.keys), -1, np.int32)
    for key, old in segment.keys.items():
        if old in present:
            new_key[old] = keys.setdefault(key, len(keys))
    new_row = (np.cumsum(segment.alive) - 1 + offset).astype(np.int32)
    return new_key[used], new_row[segment.rows[kept]], segment.impacts[kept]
