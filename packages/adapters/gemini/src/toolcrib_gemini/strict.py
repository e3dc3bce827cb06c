"""What the schemas of the Gemini API can say: the JSON Schema that its declarations take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.json_values import JsonObject, thaw
from toolcrib_core.providers.conversion import convert_schema
from toolcrib_core.providers.dialects import VendorDialect
from toolcrib_core.providers.losses import Loss
from toolcrib_core.providers.results import as_text

SCHEMA: Final = VendorDialect(
    name="Gemini",
    # The fields of the SDK's `JSONSchema`, without those that the API takes and then ignores (`minLength`,
    # `maxLength`, `minProperties`, `maxProperties`, `uniqueItems`) or reads as something else (`oneOf`).
    keywords=frozenset(
        {
            "type",
            "format",
            "title",
            "description",
            "default",
            "items",
            "minItems",
            "maxItems",
            "enum",
            "properties",
            "required",
            "minimum",
            "maximum",
            "pattern",
            "additionalProperties",
            "anyOf",
            "$ref",
            "$defs",
        }
    ),
    enum_types=frozenset({"string", "integer", "number"}),
    root_combinators=False,
    ref_siblings=False,
    array_items=True,
)
"""There is one dialect: the mode `VALIDATED` of the calling configuration holds a model to the same schema.

Objects stay open, properties stay optional, and a schema may refer to itself; only alternatives at the root are merged
into one."""

_OUTPUT: Final = "output"


def response_schema(schema: Mapping[str, Any]) -> tuple[JsonObject | None, tuple[Loss, ...]]:
    """An output schema as far as the API can say it, and what that loses.

    It only tells the model what to expect, so that no loss of it widens or narrows anything. One that cannot be
    carried over is left out.
    """
    plain: dict[str, Any] = thaw(schema)
    definitions = plain.pop("$defs", {})
    lost = Loss("/outputSchema", "outputSchema", "annotation_only", "The response is described as far as can be said.")
    if _refers_elsewhere(plain, definitions):
        return None, (lost,)
    # Only parameters must be an object at the root: inside one, everything can be said of a response.
    converted = convert_schema({"type": "object", "properties": {_OUTPUT: plain}, "$defs": definitions}, SCHEMA)
    whole: dict[str, Any] = converted.schema
    inner: JsonObject = whole["properties"][_OUTPUT]
    if "$defs" in whole:
        inner = {**inner, "$defs": whole["$defs"]}
    return inner, (lost,) if converted.report else ()


def _refers_elsewhere(schema: dict[str, Any], definitions: dict[str, Any]) -> bool:
    """Whether a reference leads to a place that moves when the schema becomes a part of another."""
    text = as_text([schema, definitions])
    references = sum(text.count(each) for each in ('"$ref":', '"$dynamicRef":', '"$id":'))
    return references != text.count('"$ref":"#/$defs/')
