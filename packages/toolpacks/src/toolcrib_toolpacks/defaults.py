"""The defaults of a schema, filled in where a call leaves them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.json_values import thaw
from toolcrib_core.schema.pointers import MISSING, look_up, split_pointer

_MAX_DEPTH: Final = 16


def with_defaults(schema: Mapping[str, Any], arguments: Mapping[str, object]) -> dict[str, Any]:
    """The arguments with the defaults of all properties that they leave out, in objects within them, too."""
    filled = _filled(schema, dict(arguments), schema, 0)
    return dict(filled)


def subschemas(schema: object, root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A schema with all that it refers to or combines by `allOf`."""
    found: list[Mapping[str, Any]] = []
    waiting = [schema]
    while waiting and len(found) < _MAX_DEPTH:
        one = waiting.pop()
        if not isinstance(one, Mapping):
            continue
        found.append(one)
        reference = one.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            target = look_up(root, split_pointer(reference[1:]))
            waiting.append(None if target is MISSING else target)
        waiting += one.get("allOf", ())
    return found


def _filled(schema: object, value: Any, root: Mapping[str, Any], depth: int) -> Any:
    if depth > _MAX_DEPTH or not isinstance(value, dict | list):
        return value
    for each in subschemas(schema, root):
        if isinstance(value, list):
            items = each.get("items")
            value = value if items is None else [_filled(items, one, root, depth + 1) for one in value]
            continue
        for name, described in each.get("properties", {}).items():
            if name not in value:
                default = _default_of(described, root)
                if default is MISSING:
                    continue
                value = {**value, name: default}
            value = {**value, name: _filled(described, value[name], root, depth + 1)}
    return value


def _default_of(schema: object, root: Mapping[str, Any]) -> Any:
    return next((thaw(each["default"]) for each in subschemas(schema, root) if "default" in each), MISSING)
