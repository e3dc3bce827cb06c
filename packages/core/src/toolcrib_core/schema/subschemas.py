"""Where a draft 2020-12 schema holds schemas; all else in it (property names, enums, defaults, examples) is data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

Form: TypeAlias = Literal["one", "list", "map"]
"""How a keyword holds schemas: one, a list of them, or an object whose values they are."""

IN_PLACE: Final[Mapping[str, Form]] = {
    "allOf": "list",
    "anyOf": "list",
    "oneOf": "list",
    "not": "one",
    "if": "one",
    "then": "one",
    "else": "one",
    "dependentSchemas": "map",
}
"""The keywords whose schemas apply to the same value as the schema they stand in."""

APPLICATORS: Final[Mapping[str, Form]] = {
    **IN_PLACE,
    "properties": "map",
    "patternProperties": "map",
    "additionalProperties": "one",
    "unevaluatedProperties": "one",
    "propertyNames": "one",
    "prefixItems": "list",
    "items": "one",
    "contains": "one",
    "unevaluatedItems": "one",
    "contentSchema": "one",
    "$defs": "map",
    "definitions": "map",
}
"""Every keyword that holds schemas."""


def subschemas(
    schema: Mapping[str, Any], *, forms: Mapping[str, Form] = APPLICATORS
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The schemas directly inside a schema, each with the keys that lead to it.

    What does not have the form of its keyword is passed over.
    """
    for keyword, value in schema.items():
        form = forms.get(keyword)
        if form is None:
            continue
        if form == "one":
            if isinstance(value, (dict, bool)):
                yield (keyword,), value
        elif form == "list" and isinstance(value, list):
            yield from (((keyword, at), item) for at, item in enumerate(value) if isinstance(item, (dict, bool)))
        elif form == "map" and isinstance(value, dict):
            yield from (((keyword, key), item) for key, item in value.items() if isinstance(item, (dict, bool)))
