"""A schema within a number of tokens: first without prose, then without what lies deep; what is missing is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolcrib_core import JsonValue, count_tokens
from toolcrib_core.json_values import thaw
from toolcrib_mcp.rpc.codec import json_text

SCHEMA_TOKENS: Final = 400
"""What one schema may take."""

LEFT_OUT: Final = "…"
"""Stands in place of a part of a schema that was left out."""

_ADDRESSES = frozenset({"$schema", "$id", "$comment"})
_PROSE = _ADDRESSES | {"title", "examples", "markdownDescription"}
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"enum", "const", "default", "required", "dependentRequired"})
_MAX_WORDS = 80
_MAX_OPTIONS = 12


def compact_schema(schema: Mapping[str, Any], *, budget: int = SCHEMA_TOKENS) -> str:
    """The schema as JSON of at most `budget` tokens; the first form that fits is taken.

    Whatever fits whole is whole. Else prose goes first; what is left out beside it is shown as `…`, and the top level
    is kept longest.
    """
    whole = thaw(schema)
    for shorten in _FORMS:
        text = json_text(shorten(whole))
        if count_tokens(text) <= budget:
            return text
    return json_text({"type": "object", LEFT_OUT: "the schema is too large to show"})


def without_prose(schema: Mapping[str, Any]) -> JsonValue:
    """The schema without titles, examples and addresses; descriptions stay."""
    return _without_prose(thaw(schema))


def _without_prose(node: Any, *, words: int | None = None, depth: int = 1_000, named: bool = False) -> JsonValue:
    """The schema without titles and examples; descriptions of at most `words` characters, nothing below `depth`."""
    if isinstance(node, list):
        return [_without_prose(each, words=words, depth=depth) for each in node]
    if not isinstance(node, dict):
        scalar: JsonValue = node
        return scalar
    if depth < 0:
        return LEFT_OUT
    kept: dict[str, JsonValue] = {}
    for key, value in node.items():
        if not named and key in _PROSE:
            continue
        if not named and key == "description" and isinstance(value, str):
            if words is None or words:
                kept[key] = _shortened(value, words)
        elif not named and key in _DATA:
            kept[key] = [*value[:_MAX_OPTIONS], LEFT_OUT] if _is_long(value) and words is not None else value
        else:
            # The names under `properties` are names, whatever they spell.
            is_names = not named and key in _NAMED
            kept[key] = _without_prose(value, words=words, depth=depth - (not is_names), named=is_names)
    return kept


def _shortened(text: str, words: int | None) -> str:
    return text if words is None or len(text) <= words else f"{text[: words - 1].rstrip()}…"


def _is_long(value: object) -> bool:
    return isinstance(value, list) and len(value) > _MAX_OPTIONS


def _names_only(schema: Any) -> JsonValue:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    names = list(properties)[:_MAX_WORDS] if isinstance(properties, dict) else []
    kept: dict[str, JsonValue] = {"type": "object", "properties": dict.fromkeys(names, LEFT_OUT)}
    if isinstance(schema, dict) and isinstance(schema.get("required"), list):
        kept["required"] = schema["required"][:_MAX_WORDS]
    return kept


_FORMS: tuple[Callable[[Any], JsonValue], ...] = (
    lambda schema: schema,
    _without_prose,
    lambda schema: _without_prose(schema, words=_MAX_WORDS),
    lambda schema: _without_prose(schema, words=0),
    lambda schema: _without_prose(schema, words=0, depth=3),
    lambda schema: _without_prose(schema, words=0, depth=1),
    _names_only,
)
