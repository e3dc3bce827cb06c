"""Output schemas for clients that take objects only."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from toolcrib_mcp.front.wrapping import needs_wrapper, wrapped_schema


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, 1, "x"),
        ({"type": "array", "items": {"$ref": "#/$defs/Row"}, "$defs": {"Row": {"type": "integer"}}}, [1], ["x"]),
        (
            {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]},
            [[None]],
            [[1]],
        ),
        ({"$id": "urn:x", "items": {"$ref": "#/$defs/Row"}, "$defs": {"Row": {"type": "integer"}}}, [1], ["x"]),
        ({"items": {"$ref": "#row"}, "$defs": {"Row": {"$anchor": "row", "type": "integer"}}}, [1], ["x"]),
        ({"prefixItems": [True, False]}, [1], [1, 2]),
        ({"enum": [{"$ref": "#"}]}, {"$ref": "#"}, {"$ref": "#/properties/result"}),
    ],
)
def test_a_wrapped_schema_takes_the_wrapped_value_and_nothing_else(
    schema: dict[str, Any], good: object, bad: object
) -> None:
    validator = Draft202012Validator(wrapped_schema(schema))

    assert validator.is_valid({"result": good})
    assert not validator.is_valid({"result": bad})
    assert not validator.is_valid({})


def test_the_dialect_stays_at_the_root() -> None:
    dialect = "https://json-schema.org/draft/2020-12/schema"

    wrapped = wrapped_schema({"$schema": dialect, "type": "string"})

    assert wrapped["$schema"] == dialect
    assert wrapped["properties"]["result"] == {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "needed"), [({"type": "object"}, False), ({"type": ["object", "null"]}, True), ({}, True)]
)
def test_only_what_may_be_no_object_is_wrapped(schema: dict[str, Any], needed: bool) -> None:  # noqa: FBT001  # a case
    assert needs_wrapper(schema) is needed
