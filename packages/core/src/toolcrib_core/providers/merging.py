"""Two schemas made one that says both, where that can be said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from toolcrib_core.providers.dialects import ANNOTATIONS, ASSERTIONS

_LARGEST = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_SMALLEST = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_OF_OTHERS = frozenset({"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "patternProperties"})
_MAX_COMPARED = 100_000  # pairs of values, at about 0.3 us each
_NUMBERS = {"integer", "number"}


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any] | None:
    """A schema that takes what both take, or None where no single schema says it. Annotations of `one` win."""
    if _speaks_of_others(one, other) or _speaks_of_others(other, one):
        return None
    result = dict(one)
    for keyword, theirs in other.items():
        if keyword not in one:
            result[keyword] = theirs
            continue
        if keyword in ANNOTATIONS or keyword not in ASSERTIONS or one[keyword] == theirs:
            continue
        both = _both(keyword, one[keyword], theirs)
        if both is None:
            return None
        result[keyword] = both
    return result


def types_of(schema: dict[str, Any]) -> list[str]:
    """What `type` lists; empty where it is not there."""
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def unique(schemas: Iterable[Any]) -> list[Any]:
    """The schemas without those that are there already."""
    return list({orjson.dumps(each): each for each in schemas}.values())


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are one in JSON, where true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _speaks_of_others(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether `one` has a rule for properties or items that it does not name, and `other` names some of them."""
    if not _OF_OTHERS & one.keys():
        return False
    named = other.get("properties", {}).keys() - one.get("properties", {}).keys()
    return bool(named) or "patternProperties" in other or "prefixItems" in other


def _both(keyword: str, ours: Any, theirs: Any) -> Any:
    if keyword in _LARGEST or keyword in _SMALLEST:
        return max(ours, theirs) if keyword in _LARGEST else min(ours, theirs)
    rule = _RULES.get(keyword)
    return None if rule is None else rule(ours, theirs)


def _common_values(ours: list[Any], theirs: list[Any]) -> list[Any] | None:
    if len(ours) * len(theirs) > _MAX_COMPARED:
        return None
    return [each for each in ours if any(same_json(each, other) for other in theirs)] or None


def _all_members(ours: list[Any], theirs: list[Any]) -> list[Any]:
    return unique([*ours, *theirs])


def _all_properties(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    return ours | {
        name: {"allOf": [ours[name], schema]} if name in ours and ours[name] != schema else schema
        for name, schema in theirs.items()
    }


def _common_types(ours: Any, theirs: Any) -> Any:
    first, second = types_of({"type": ours}), types_of({"type": theirs})
    common = [each for each in first if each in second]
    if _NUMBERS & set(first) and _NUMBERS & set(second) and not _NUMBERS & set(common):
        common.append("integer")
    if not common:
        return None
    return common[0] if len(common) == 1 else common


_RULES: Mapping[str, Callable[[Any, Any], Any]] = {
    "type": _common_types,
    "enum": _common_values,
    "required": _all_members,
    "properties": _all_properties,
    "allOf": _all_members,
}
