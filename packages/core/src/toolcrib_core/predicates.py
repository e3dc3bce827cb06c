"""Questions about one definition, to be combined and handed to `query(where=…)`.

A predicate is any function from a definition to `True` or `False`; those made here are checked when they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias, get_args

from pydantic import ValidationError

from toolcrib_core.definition import ToolDefinition, ToolKind
from toolcrib_core.errors import InvalidDefinition, QueryError
from toolcrib_core.json_values import freeze_object
from toolcrib_core.risk import ToolRisk
from toolcrib_core.tags import normalize_tags
from toolcrib_core.versions import as_range, parse_version

MAX_TEXT_BYTES = 4096
MAX_WORDS = 32

ToolPredicate: TypeAlias = Callable[[ToolDefinition], bool]
WordMatch: TypeAlias = Literal["all", "any"]


def in_namespace(*namespaces: str) -> ToolPredicate:
    """The tool is in one of these namespaces."""
    wanted = frozenset(namespaces)
    return lambda definition: definition.namespace in wanted


def with_version(version: str) -> ToolPredicate:
    """The tool has exactly this version, or a SemVer version in this range.

    A pre-release is in a range only if the range names a pre-release of the same triple.

    Raises:
        QueryError: The text is written as a range, but is not one.
    """
    wanted = as_range(version)

    def matches(definition: ToolDefinition) -> bool:
        if definition.version is None or wanted is None:
            return definition.version == version
        parsed = parse_version(definition.version)
        return definition.version == version or (parsed is not None and wanted.contains(parsed))

    return matches


def is_deprecated() -> ToolPredicate:
    """The tool is deprecated."""
    return lambda definition: definition.lifecycle.deprecated


def of_kind(*kinds: ToolKind) -> ToolPredicate:
    """The tool is of one of these kinds.

    Raises:
        QueryError: There is no such kind.
    """
    unknown = [kind for kind in kinds if kind not in get_args(ToolKind)]
    if unknown:
        raise QueryError(f"`{unknown[0]}` is not a kind of tool.", hint=f"Use {_listed(get_args(ToolKind))}.")
    wanted = frozenset(kinds)
    return lambda definition: definition.kind in wanted


def with_risk(**expected: str | bool) -> ToolPredicate:
    """The parts of the tool's risk that are named have these values, as in `with_risk(effects="read")`.

    Raises:
        QueryError: There is no such part, or it cannot have that value.
    """
    unknown = [part for part in expected if part not in ToolRisk.model_fields]
    if unknown:
        raise QueryError(f"A risk has no part `{unknown[0]}`.", hint=f"Use {_listed(sorted(ToolRisk.model_fields))}.")
    try:
        ToolRisk.model_validate(expected, strict=True)
    except ValidationError as failure:
        wrong = failure.errors(include_url=False, include_input=False)[0]
        raise QueryError(f"The risk part `{wrong['loc'][0]}` cannot have that value: {wrong['msg']}.") from None
    return lambda definition: all(getattr(definition.risk, part) == value for part, value in expected.items())


def has_tags(*tags_all: str, tags_any: Iterable[str] = (), tags_none: Iterable[str] = ()) -> ToolPredicate:
    """The tool has all of the tags given first, at least one of `tags_any` if there are any, and none of `tags_none`.

    Raises:
        QueryError: A text cannot be a tag.
    """
    every, some, none = _tags(tags_all), _tags(tags_any), _tags(tags_none)

    def matches(definition: ToolDefinition) -> bool:
        tags = definition.tags
        return every.issubset(tags) and none.isdisjoint(tags) and (not some or not some.isdisjoint(tags))

    return matches


def has_parameters(*names: str) -> ToolPredicate:
    """The tool's input has all of these top-level properties."""
    wanted = frozenset(names)
    return lambda definition: wanted <= definition.input_schema.get("properties", {}).keys()


def metadata_matches(values: Mapping[str, object] | None = None, *, has: Iterable[str] = ()) -> ToolPredicate:
    """The tool's metadata has these values, compared as JSON (`True` is not `1`), and the keys of `has`.

    Raises:
        NotJson: A value is not JSON, and so cannot be in any metadata.
    """
    wanted = freeze_object(values or {}, "metadata")
    keys = frozenset(has) | wanted.keys()

    def matches(definition: ToolDefinition) -> bool:
        metadata = definition.metadata
        return keys <= metadata.keys() and all(_same_json(metadata[key], value) for key, value in wanted.items())

    return matches


def text_contains(text: str, *, match: WordMatch = "all") -> ToolPredicate:
    """The words of the text stand in the tool's id, title, description, tags or parameter names.

    Words are taken literally, in any case, and also as part of a longer word; a text without words fits every tool.

    Raises:
        QueryError: The text is over 4 KiB or has more than 32 different words.
    """
    if match not in get_args(WordMatch):
        raise QueryError(f"`{match}` is not a way to match words.", hint=f"Use {_listed(get_args(WordMatch))}.")
    words, enough = _words(text), all if match == "all" else any

    def matches(definition: ToolDefinition) -> bool:
        if not words:
            return True
        haystack = _searchable_text(definition)
        return enough(word in haystack for word in words)

    return matches


def all_of(*predicates: ToolPredicate) -> ToolPredicate:
    """Every one of these holds; so does `all_of()`."""
    return lambda definition: all(holds(predicate, definition) for predicate in predicates)


def any_of(*predicates: ToolPredicate) -> ToolPredicate:
    """At least one of these holds; `any_of()` never does."""
    return lambda definition: any(holds(predicate, definition) for predicate in predicates)


def none_of(*predicates: ToolPredicate) -> ToolPredicate:
    """None of these holds: the way to say `not`."""
    return lambda definition: not any(holds(predicate, definition) for predicate in predicates)


def holds(predicate: ToolPredicate, definition: ToolDefinition) -> bool:
    """Ask a predicate about a definition.

    Raises:
        QueryError: The predicate raised, or answered with something that is not a boolean; the message names it.
    """
    try:
        answer = predicate(definition)
    except QueryError:
        raise
    except Exception as failure:
        raise _broken(predicate, definition, f"raised `{type(failure).__name__}`") from failure
    if not isinstance(answer, bool):
        raise _broken(predicate, definition, f"answered with a value of type `{type(answer).__name__}`")
    return answer


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _tags(texts: Iterable[str]) -> frozenset[str]:
    try:
        return frozenset(normalize_tags(texts))
    except InvalidDefinition as failure:
        raise QueryError(failure.message, hint=failure.hint) from None


def _same_json(one: object, other: object) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same_json, one, other))
    return one == other


def _words(text: str) -> tuple[str, ...]:
    if not isinstance(text, str):
        raise QueryError(f"The text of a query must be text, not {type(text).__name__}.")
    if len(text) > MAX_TEXT_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        raise QueryError("The text of the query is too long.", hint=f"At most {MAX_TEXT_BYTES} bytes are allowed.")
    words = tuple(dict.fromkeys(text.casefold().split()))
    if len(words) > MAX_WORDS:
        raise QueryError(
            f"The text of the query has {len(words)} different words.", hint=f"At most {MAX_WORDS} are allowed."
        )
    return words


def _searchable_text(definition: ToolDefinition) -> str:
    parameters = definition.input_schema.get("properties", ())
    fields = (definition.id, definition.name, definition.title or "", definition.description)
    # No word holds white space, so a word never matches across two fields.
    return "\n".join((*fields, *definition.tags, *parameters)).casefold()


def _broken(predicate: ToolPredicate, definition: ToolDefinition, how: str) -> QueryError:
    name = getattr(predicate, "__qualname__", type(predicate).__name__)
    return QueryError(
        f"The predicate `{name}` {how} for `{definition.id}`.",
        hint="A predicate must answer `True` or `False` for every definition.",
        details={"predicate": name, "id": definition.id},
    )
