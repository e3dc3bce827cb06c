"""Queries: which tools fit, which page of them, and what to show of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict

from toolcrib_core.definition import ToolDefinition, ToolKind
from toolcrib_core.errors import QueryError
from toolcrib_core.predicates import (
    ToolPredicate,
    WordMatch,
    has_parameters,
    has_tags,
    holds,
    in_namespace,
    is_deprecated,
    metadata_matches,
    none_of,
    of_kind,
    text_contains,
    with_risk,
    with_version,
)
from toolcrib_core.wording import listed, nearest, quoted


class QueryFilters(TypedDict, total=False):
    """What `query` can filter by: a tool must pass every filter given; one that is `None` or empty lets all pass."""

    namespace: str | Collection[str] | None
    """One of these namespaces."""
    version: str | None
    """Exactly this version, or a SemVer version in this range."""
    deprecated: bool | None
    risk: Mapping[str, str | bool] | None
    """The parts of the risk that are named, as in `{"effects": "read"}`."""
    tags_any: Collection[str]
    tags_all: Collection[str]
    tags_none: Collection[str]
    kind: ToolKind | Collection[ToolKind] | None
    schema_keys: Collection[str]
    """Every one of these top-level parameters."""
    metadata: Mapping[str, object] | None
    """Each of these values, compared as JSON."""
    metadata_has: Collection[str]
    """Every one of these keys, with any value."""
    text: str | None
    """These words, literally and in any case, in the id, title, description, tags or parameter names."""
    text_match: WordMatch
    """Whether all words must occur, which is the default, or any."""
    where: ToolPredicate | None
    """A predicate of `toolcrib_core.predicates`, or any function from a definition to a boolean."""
    limit: int | None
    offset: int


@dataclass(frozen=True, kw_only=True)
class ToolSummary:
    """What a list of tools shows of each."""

    id: str
    title: str | None
    description: str
    tags: tuple[str, ...]
    parameters: tuple[str, ...]
    deprecated: bool


Selection: TypeAlias = Literal["definition", "id", "name", "summary"]


def run_query(
    definitions: Sequence[ToolDefinition],
    filters: QueryFilters,
    select: Selection | Callable[[ToolDefinition], object],
) -> tuple[Any, ...]:
    """The definitions that pass, in the order given, cut to the page and shown as selected.

    Raises:
        QueryError: A filter is unknown or malformed, or a predicate or the selection failed.
        NotJson: A value of `metadata` is not JSON.
    """
    _check_names(filters)
    show = _shown_by(select)
    predicates = tuple(_predicates(filters))
    offset, limit = _count("offset", filters.get("offset", 0)), filters.get("limit")
    stop = None if limit is None else offset + _count("limit", limit)
    shown: list[Any] = []
    passed = 0
    for definition in definitions:
        if stop is not None and passed >= stop:
            break
        if all(holds(predicate, definition) for predicate in predicates):
            if passed >= offset:
                shown.append(show(definition))
            passed += 1
    return tuple(shown)


def _predicates(filters: QueryFilters) -> Iterator[ToolPredicate]:
    """One predicate for each filter given, the cheap ones first."""
    if namespaces := _several(filters.get("namespace")):
        yield in_namespace(*namespaces)
    if kinds := _several(filters.get("kind")):
        yield of_kind(*kinds)
    if (deprecated := filters.get("deprecated")) is not None:
        if not isinstance(deprecated, bool):
            raise QueryError("The filter `deprecated` must be `True` or `False`.")
        yield is_deprecated() if deprecated else none_of(is_deprecated())
    if risk := filters.get("risk"):
        yield with_risk(**risk)
    every, some, none = (_several(filters.get(name)) for name in ("tags_all", "tags_any", "tags_none"))
    if every or some or none:
        yield has_tags(*every, tags_any=some, tags_none=none)
    if version := filters.get("version"):
        yield with_version(version)
    if parameters := _several(filters.get("schema_keys")):
        yield has_parameters(*parameters)
    values, keys = filters.get("metadata"), _several(filters.get("metadata_has"))
    if values or keys:
        yield metadata_matches(values, has=keys)
    if text := filters.get("text"):
        yield text_contains(text, match=filters.get("text_match", "all"))
    if (where := filters.get("where")) is not None:
        yield where


def _several(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Collection):
        raise QueryError(f"A filter must be one text or several, not a value of type `{type(value).__name__}`.")
    return tuple(value)


def _count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise QueryError(f"`{name}` must be a whole number of at least 0.")
    return value


def _check_names(filters: QueryFilters) -> None:
    known = sorted(QueryFilters.__annotations__)
    for name in filters:
        if name not in known:
            meant = nearest(name, known)
            hint = f"Did you mean {quoted(meant)}?" if meant else f"There are {listed(known)}."
            raise QueryError(f"`query` has no filter {quoted(name)}.", hint=hint)


def _shown_by(select: Selection | Callable[[ToolDefinition], object]) -> Callable[[ToolDefinition], object]:
    if callable(select):
        return _guarded(select)
    if select not in _SELECTIONS:
        raise QueryError(
            "`select` must be a function or the name of a selection.",
            hint=f"Use {', '.join(f'`{name}`' for name in _SELECTIONS)}.",
        )
    return _SELECTIONS[select]


def _guarded(select: Callable[[ToolDefinition], object]) -> Callable[[ToolDefinition], object]:
    def show(definition: ToolDefinition) -> object:
        try:
            return select(definition)
        except Exception as failure:
            raise QueryError(
                f"The selection `{getattr(select, '__qualname__', type(select).__name__)}` raised "
                f"`{type(failure).__name__}` for `{definition.id}`."
            ) from failure

    return show


def _summary(definition: ToolDefinition) -> ToolSummary:
    return ToolSummary(
        id=definition.id,
        title=definition.title,
        description=definition.description,
        tags=definition.tags,
        parameters=tuple(definition.input_schema.get("properties", ())),
        deprecated=definition.lifecycle.deprecated,
    )


_SELECTIONS: dict[Selection, Callable[[ToolDefinition], object]] = {
    "definition": lambda definition: definition,
    "id": lambda definition: definition.id,
    "name": lambda definition: definition.name,
    "summary": _summary,
}
