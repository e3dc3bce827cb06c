"""Results that are no objects, for clients of the handshake era: these take an object only, so one is put around."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.json_values import thaw
from toolcrib_core.schema.rebuilding import with_subschemas
from toolcrib_core.schema.refs import REFERENCES

WRAPPER: Final = "result"
"""The only member of the object that is put around a value; the official SDK calls it so, too."""


def needs_wrapper(schema: Mapping[str, Any]) -> bool:
    """Whether a schema may allow something else than an object."""
    return schema.get("type") != "object"


def wrapped_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the wrapper around a value of this schema; references still lead where they led."""
    inner: dict[str, Any] = thaw(schema)
    dialect = {"$schema": inner.pop("$schema")} if "$schema" in inner else {}
    return {**dialect, "type": "object", "properties": {WRAPPER: _moved(inner)}, "required": [WRAPPER]}


def _moved(schema: Any) -> Any:
    # With an id it is a document of its own, and its references start there.
    if not isinstance(schema, dict) or "$id" in schema:
        return schema
    moved = with_subschemas(schema, lambda inner, _: _moved(inner))
    for keyword in REFERENCES:
        reference = moved.get(keyword)
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            moved[keyword] = f"#/properties/{WRAPPER}{reference[1:]}"
    return moved
