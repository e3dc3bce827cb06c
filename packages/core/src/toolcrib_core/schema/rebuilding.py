"""A schema made anew with other subschemas, its data untouched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolcrib_core.schema.subschemas import APPLICATORS, subschemas

Rebuild: TypeAlias = Callable[[Any, tuple[str | int, ...]], Any]
"""Gets a subschema and the keys that lead to it, and gives what stands there instead."""


def with_subschemas(schema: Mapping[str, Any], rebuild: Rebuild) -> dict[str, Any]:
    """A copy of the schema in which each direct subschema is replaced by what `rebuild` makes of it."""
    copied = {keyword: _shallow(value) if keyword in APPLICATORS else value for keyword, value in schema.items()}
    for keys, inner in subschemas(schema):
        place: Any = copied
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = rebuild(inner, keys)
    return copied


def _shallow(value: Any) -> Any:
    if isinstance(value, dict):
        return dict(value)
    return list(value) if isinstance(value, list) else value
