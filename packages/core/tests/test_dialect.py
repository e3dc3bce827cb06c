"""Older dialects: rewritten as 2020-12 without a change of meaning."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_strategies import DIALECTS, documents, instances
from referencing import Registry

from toolcrib_core.schema.check import check_schema, upgrade_schema
from toolcrib_core.schema.dialect import Dialect, dialect_of, upgrade_dialect

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_6 = "http://json-schema.org/draft-06/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def oracle_says(schema: dict[str, Any], instance: Any) -> bool:
    validator = jsonschema.validators.validator_for(schema)
    return bool(validator(schema, registry=Registry()).is_valid(instance))


def upgraded_body(schema: dict[str, Any]) -> dict[str, Any]:
    upgraded = upgrade_dialect(schema)

    assert upgraded.pop("$schema") == DRAFT_2020
    return upgraded


@pytest.mark.req("AR-6.1", "CT-2")
@pytest.mark.parametrize("dialect", DIALECTS[:-1])
@settings(max_examples=50, deadline=None)
@given(st.data(), st.lists(instances, min_size=1, max_size=4))
def test_an_upgraded_schema_gives_the_same_verdicts(dialect: str, data: st.DataObject, values: list[Any]) -> None:
    schema = data.draw(documents(dialect))
    upgraded = upgrade_schema(schema)

    check_schema(upgraded)
    for value in values:
        assert oracle_says(upgraded, value) == oracle_says(schema, value)


@pytest.mark.req("AR-6.1")
@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"$schema": DRAFT_4, "minimum": 3, "exclusiveMinimum": True}, [4], [3, 2]),
        ({"$schema": DRAFT_4, "maximum": 3, "exclusiveMaximum": False}, [3], [4]),
        ({"$schema": DRAFT_4, "const": 1, "contains": {"type": "null"}}, [2, []], []),
        (
            {
                "$schema": DRAFT_4,
                "id": "http://x/a",
                "definitions": {"b": {"id": "b", "type": "null"}},
                "items": {"$ref": "b"},
            },
            [[None]],
            [[1]],
        ),
        ({"$schema": DRAFT_4, "properties": {"id": {"type": "string"}}}, [{"id": "a"}], [{"id": 1}]),
        ({"$schema": DRAFT_6, "if": {"type": "null"}, "then": False, "const": None}, [None], [1]),
        ({"$schema": DRAFT_7, "items": [{"type": "null"}], "additionalItems": False}, [[None], []], [[None, 1], [1]]),
        ({"$schema": DRAFT_7, "items": [], "additionalItems": {"type": "null"}}, [[None]], [[1]]),
        ({"$schema": DRAFT_7, "items": {"type": "null"}, "additionalItems": False}, [[None, None]], [[1]]),
        (
            {"$schema": DRAFT_7, "dependencies": {"a": ["b"], "c": {"minProperties": 2}}},
            [{"a": 1, "b": 2}],
            [{"a": 1}, {"c": 1}],
        ),
        ({"$schema": DRAFT_7, "unevaluatedProperties": False, "dependentRequired": {"a": ["b"]}}, [{"a": 1}], []),
        (
            {"$schema": DRAFT_7, "$ref": "#/definitions/n", "type": "string", "definitions": {"n": {"type": "null"}}},
            [None],
            ["a"],
        ),
        ({"$schema": DRAFT_7, "$defs": {"n": {"items": [False]}}, "not": {"$ref": "#/$defs/n"}}, [[1]], [[], 1]),
        (
            {
                "$schema": DRAFT_7,
                "definitions": {"a/b": {"definitions": {"x y": {"items": [{"type": "null"}]}}}},
                "$ref": "#/definitions/a~1b/definitions/x%20y/items/0",
            },
            [None],
            [1],
        ),
        (
            {"$schema": DRAFT_7, "definitions": {"n": {"$id": "#n", "type": "null"}}, "items": {"$ref": "#n"}},
            [[None]],
            [[1]],
        ),
        (
            {"$schema": DRAFT_7, "dependencies": {"a": {"required": ["b"]}}, "not": {"$ref": "#/dependencies/a"}},
            [{}],
            [{"b": 1}, {"a": 1}],
        ),
        (
            {
                "$schema": DRAFT_2019,
                "$recursiveAnchor": True,
                "properties": {"next": {"$recursiveRef": "#"}},
                "required": ["v"],
            },
            [{"v": 1, "next": {"v": 2}}],
            [{"v": 1, "next": {}}],
        ),
        (
            {"$schema": DRAFT_2019, "properties": {"n": {"$recursiveRef": "#"}}, "maxProperties": 1},
            [{"n": {}}],
            [{"n": {"a": 1, "b": 1}}],
        ),
        ({"$schema": DRAFT_2019, "items": [{"type": "null"}], "unevaluatedItems": False}, [[None]], [[None, 1]]),
        ({"$schema": DRAFT_2019, "dependencies": {"a": ["b"]}, "prefixItems": [False]}, [{"a": 1}, [1]], []),
    ],
)
def test_what_an_old_keyword_meant_still_holds(schema: dict[str, Any], valid: list[Any], invalid: list[Any]) -> None:
    upgraded = upgrade_dialect(schema)

    check_schema(upgraded)
    for one, verdict in [(each, True) for each in valid] + [(each, False) for each in invalid]:
        assert oracle_says(schema, one) is verdict
        assert oracle_says(upgraded, one) is verdict


def test_definitions_become_defs_and_the_pointers_follow() -> None:
    schema = {
        "$schema": DRAFT_7,
        "definitions": {"tree": {"items": [{"$ref": "#/definitions/tree"}, {"$ref": "#/definitions/tree/items/0"}]}},
        "properties": {"definitions": {"$ref": "#/definitions/tree"}},
    }

    assert upgraded_body(schema) == {
        "$defs": {"tree": {"prefixItems": [{"$ref": "#/$defs/tree"}, {"$ref": "#/$defs/tree/prefixItems/0"}]}},
        "properties": {"definitions": {"$ref": "#/$defs/tree"}},
    }


def test_data_that_looks_like_a_schema_is_left_alone() -> None:
    data = {"items": [1], "definitions": {}, "$ref": "#/definitions/x", "additionalItems": 1}
    schema = {"$schema": DRAFT_7, "default": data, "enum": [data], "const": data, "examples": [data]}

    assert upgraded_body(schema) == {"default": data, "enum": [data], "const": data, "examples": [data]}


@pytest.mark.parametrize(
    "schema",
    [
        {"definitions": {"a": {}}, "$ref": "#/definitions/a"},
        {"$schema": DRAFT_2020, "definitions": {"a": {}}, "items": {"$ref": "#/definitions/a"}},
        {"$schema": "http://example.com/own", "items": [{}]},
        {"$schema": 7},
    ],
)
def test_a_schema_of_no_older_dialect_comes_back_as_it_is(schema: dict[str, Any]) -> None:
    assert upgrade_dialect(schema) is schema


@pytest.mark.parametrize(
    "schema",
    [
        {"items": 5, "dependencies": [], "definitions": 3, "$ref": 1, "id": 4},
        {"properties": {"a": 1}, "allOf": "x", "items": [1, None], "additionalItems": 7},
        {"$id": "http://[", "properties": {"a": {"$ref": "http://[#/definitions/x"}}},
        {"$ref": "#/nowhere/0", "definitions": {"$ref": []}},
    ],
)
def test_a_malformed_old_schema_is_not_the_business_of_the_upgrade(schema: dict[str, Any]) -> None:
    assert upgrade_dialect({"$schema": DRAFT_7, **schema})["$schema"] == DRAFT_2020


@pytest.mark.parametrize(
    ("uri", "dialect"),
    [
        ("http://json-schema.org/draft-07/schema", Dialect.DRAFT_7),
        ("https://json-schema.org/draft-07/schema#", Dialect.DRAFT_7),
        ("https://json-schema.org/draft/2020-12/schema#", Dialect.DRAFT_2020_12),
        ("http://json-schema.org/draft-03/schema#", None),
    ],
)
def test_a_dialect_is_known_with_or_without_its_empty_fragment(uri: str, dialect: Dialect | None) -> None:
    assert dialect_of({"$schema": uri}) is dialect


@pytest.mark.req("AR-6.1")
def test_every_schema_of_the_catalogues_upgrades_to_a_valid_one(shared_catalog: list[dict[str, Any]]) -> None:
    schemas = [
        row["tool"][key] for row in shared_catalog for key in ("inputSchema", "outputSchema") if key in row["tool"]
    ]
    old = [schema for schema in schemas if "draft-07" in schema.get("$schema", "")]

    for schema in old:
        check_schema(upgrade_dialect(schema))

    assert len(old) > 50
