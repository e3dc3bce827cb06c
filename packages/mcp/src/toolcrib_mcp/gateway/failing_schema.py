"""The schema of what was wrong with some arguments, small enough to go with the error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolcrib_core import count_tokens
from toolcrib_core.schema.pointers import split_pointer
from toolcrib_mcp.browse.compact_schema import compact_schema, without_prose
from toolcrib_mcp.rpc.codec import decode, json_text

FAILING_TOKENS: Final = 300
"""What the schema in an error may take."""

_DEFINITIONS = ("$defs", "definitions")


def failing_schema(schema: Mapping[str, Any], violations: Iterable[object], *, budget: int = FAILING_TOKENS) -> Any:
    """The schema as JSON, whole where that fits without losing more than prose; else of the failing parameters alone.

    What is left out is shown as `…`.
    """
    whole = without_prose(schema)
    if count_tokens(json_text(whole)) <= budget:
        return whole
    return decode(compact_schema(_about(schema, violations), budget=budget).encode())


def _about(schema: Mapping[str, Any], violations: Iterable[object]) -> dict[str, Any]:
    """The schema with only those properties that failed or are required; with all if the fault lies in none of them."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return dict(schema)
    required = schema.get("required")
    wanted = set(required) if isinstance(required, list) else set()
    failing = {name for each in violations for name in _parameters(each)}
    if not failing & properties.keys():
        return dict(schema)
    kept = {name: each for name, each in properties.items() if name in failing | wanted}
    about = {key: value for key, value in schema.items() if key not in _DEFINITIONS} | {"properties": kept}
    return about | _needed_definitions(schema, about)


def _parameters(violation: object) -> list[str]:
    """The parameter that a violation is about: at its place, or missing there."""
    if not isinstance(violation, Mapping):
        return []
    pointer, expected = violation.get("pointer"), violation.get("expected")
    if isinstance(pointer, str) and pointer:
        return split_pointer(pointer)[:1]
    named = expected if isinstance(expected, list) else [expected]
    return [each for each in (*named, violation.get("didYouMean")) if isinstance(each, str)]


def _needed_definitions(schema: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    needed: dict[str, dict[str, Any]] = {}
    rest = [about]
    while rest:
        text = json_text(rest.pop())
        for key in _DEFINITIONS:
            definitions = schema.get(key)
            for name, each in definitions.items() if isinstance(definitions, Mapping) else ():
                if f'"#/{key}/{name}"' in text and name not in needed.get(key, {}):
                    needed.setdefault(key, {})[name] = each
                    rest.append({"": each})
    return needed
