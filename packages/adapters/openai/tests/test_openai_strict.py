"""Strict mode tells the truth: whatever original and converted schema differ on is in the report."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.adapters.corpus import corpus
from tests.adapters.oracle import CASES, check
from tests.adapters.schemas import input_schemas
from toolcrib_core import Conversion, LossReport, SchemaError, ToolDefinition, VendorDialect, convert_schema
from toolcrib_openai import to_openai_tools
from toolcrib_openai.strict import PLAIN, STRICT

_QUICK = settings(
    max_examples=250 * CASES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.req("AD-2")
@pytest.mark.slow
@_QUICK
@given(input_schemas, st.integers(0, 2**32))
def test_a_made_up_schema_loses_nothing_silently(schema: dict[str, object], seed: int) -> None:
    try:
        original = ToolDefinition(name="t", input_schema=schema).input_schema
    except SchemaError:
        assume(False)  # noqa: FBT003  # hypothesis takes no keyword
    for dialect in (STRICT, PLAIN):
        checked = check(original, convert_schema(original, dialect), seed=seed)
        assert not checked.silent, str(checked.silent[0])


@pytest.mark.req("AD-2")
@pytest.mark.slow
def test_no_tool_of_the_corpus_loses_anything_silently() -> None:
    cases = 0
    for seed, each in enumerate(corpus()):
        for dialect in (STRICT, PLAIN):
            checked = check(each.input_schema, convert_schema(each.input_schema, dialect), seed=seed, number=3)
            assert not checked.silent, str(checked.silent[0])
            cases += checked.cases

    assert cases >= 20 * len(corpus())


@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    ("original", "converted"),
    [
        ({"b": {"const": "v"}}, {"b": {}}),
        ({"b": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}, {"b": {"type": "string"}}),
        (
            {"b": {"type": "object", "additionalProperties": {"type": "string"}}},
            {"b": {"type": "object", "additionalProperties": False}},
        ),
        ({"b": {"type": "integer", "minimum": 2}}, {"b": {"type": "integer"}}),
    ],
)
def test_the_oracle_finds_what_other_converters_lose_silently(
    original: dict[str, object], converted: dict[str, object]
) -> None:
    made = {"type": "object", "properties": converted, "required": ["b"], "additionalProperties": False}
    conversion = Conversion(made, LossReport(), VendorDialect(name="silent"))

    checked = check({**made, "properties": original}, conversion, number=40)

    assert checked.silent


@pytest.mark.req("AD-2")
def test_a_strict_schema_closes_every_object_requires_every_property_and_allows_null_for_optional_ones() -> None:
    schema = {
        "type": "object",
        "properties": {
            "who": {"$ref": "#/$defs/person", "description": "Whom to greet."},
            "tone": {"enum": ["warm", "cool"]},
            "extra": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        },
        "required": ["who"],
        "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"const": 3}}}},
    }

    made = to_openai_tools([ToolDefinition(name="greet", input_schema=schema)], strict=True)

    assert made.tools[0]["strict"] is True
    assert made.tools[0]["parameters"] == {
        "type": "object",
        "properties": {
            "who": {"anyOf": [{"$ref": "#/$defs/person"}], "description": "Whom to greet."},
            "tone": {"type": ["string", "null"], "enum": ["warm", "cool", None]},
            "extra": {"type": ["array", "null"], "items": {"type": "string"}, "description": "(uniqueItems: true)"},
        },
        "required": ["who", "tone", "extra"],
        "additionalProperties": False,
        "$defs": {
            "person": {
                "type": "object",
                "properties": {
                    "name": {"type": ["string", "null"]},
                    "age": {"anyOf": [{"type": "integer", "const": 3}, {"type": "null"}]},
                },
                "required": ["name", "age"],
                "additionalProperties": False,
            }
        },
    }


@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}},
        {"properties": {"anything": {}}},
        {"properties": {"free": {"type": "object"}}},
        {
            "properties": {
                "open": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True}
            }
        },
        {"properties": {"x": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}}}},
        {"properties": {f"p{number}": {"enum": [f"{number}-{at}" for at in range(60)]} for number in range(20)}},
    ],
)
def test_a_schema_that_strict_mode_would_narrow_stays_as_it_is_and_says_why(schema: dict[str, object]) -> None:
    definition = ToolDefinition(name="t", input_schema={"type": "object", **schema})

    made = to_openai_tools([definition], strict=True)

    assert made.tools[0]["strict"] is False
    assert made.tools[0]["parameters"] == definition.input_schema
    assert made.not_strict[definition.id]


@pytest.mark.req("AD-2")
def test_a_schema_too_deep_for_strict_mode_falls_back() -> None:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(12):
        schema = {"type": "object", "properties": {"in": schema}, "required": ["in"], "additionalProperties": False}
    definition = ToolDefinition(name="deep", input_schema=schema)

    made = to_openai_tools([definition], strict=True)

    assert [each.keyword for each in made.not_strict[definition.id]] == ["limit"]


@pytest.mark.req("AD-2")
def test_nulls_that_stand_for_absent_properties_are_told_apart_from_nulls_that_are_meant() -> None:
    report = convert_schema(
        {"type": "object", "properties": {"note": {"type": ["string", "null"]}, "page": {"type": "integer"}}}, STRICT
    )

    assert report.schema["properties"] == {"note": {"type": ["string", "null"]}, "page": {"type": ["integer", "null"]}}
