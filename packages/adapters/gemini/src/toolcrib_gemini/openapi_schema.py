"""The `Schema` of the Gemini API, a dialect of OpenAPI 3.0, as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.providers.fields import fields_of

_NAMES: Final = {
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "min_length": "minLength",
    "max_length": "maxLength",
    "any_of": "anyOf",
    "additional_properties": "additionalProperties",
    "defs": "$defs",
    "ref": "$ref",
}
_NUMBERS: Final = frozenset("minItems maxItems minProperties maxProperties minLength maxLength".split())
_DROPPED: Final = frozenset({"type", "nullable", "example", "property_ordering", "propertyOrdering"})


def as_json_schema(schema: object) -> dict[str, Any]:
    """The schema in the words of JSON Schema: lower-case types, `null` as a type, and counts that are numbers.

    It is the SDK's object or a dict in either spelling.
    """
    fields = {name: value for name, value in fields_of(schema).items() if value is not None}
    result: dict[str, Any] = {}
    kind = str(getattr(fields.get("type"), "value", fields.get("type") or "")).lower()
    if kind and kind != "type_unspecified":
        result["type"] = [kind, "null"] if fields.get("nullable") else kind
    for name, value in fields.items():
        keyword = _NAMES.get(name, name)
        if name not in _DROPPED:
            result[keyword] = _value(keyword, value)
    if "enum" in result:
        # The API writes every value of an enum as text.
        read = _read_as(kind)
        result["enum"] = [*map(read, result["enum"]), *([None] if fields.get("nullable") else [])]
    if "example" in fields:
        result["examples"] = [fields["example"]]
    return result


def _value(keyword: str, value: Any) -> Any:
    match keyword:
        case "properties" | "$defs":
            return {name: as_json_schema(each) for name, each in fields_of(value).items()}
        case "items":
            return as_json_schema(value)
        case "anyOf":
            return [as_json_schema(each) for each in value]
        case "additionalProperties" if not isinstance(value, bool):
            return as_json_schema(value)
        case _ if keyword in _NUMBERS:
            return int(value)
    return value


def _read_as(kind: str) -> Any:
    readers: Mapping[str, Any] = {"integer": int, "number": float}
    return readers.get(kind, lambda text: text)
