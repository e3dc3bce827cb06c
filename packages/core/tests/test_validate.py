"""Validation: the verdicts of the reference implementation, every violation at once, and words a model can act on."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_strategies import documents, instances
from referencing import Registry

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import (
    ArgumentsTooLarge,
    InvalidArguments,
    InvalidSchema,
    MalformedJson,
)
from toolcrib_core.schema.compiled import compile_schema
from toolcrib_core.schema.validate import (
    is_valid,
    iter_violations,
    validate_arguments,
    validate_value,
)

FORECAST = ToolDefinition(
    namespace="weather",
    name="forecast",
    input_schema={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 14}},
        "required": ["city"],
        "additionalProperties": False,
    },
)


def named_alike(keyword: str) -> str:
    # The two engines do not agree which of the three it is that a list with too few or too many breaks.
    return "contains" if keyword in {"minContains", "maxContains"} else keyword


def oracle_faults(schema: dict[str, Any], value: Any) -> set[tuple[str, str]]:
    """Place and keyword of every fault that `jsonschema` finds, in our words."""
    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    faults = set()
    for error in validator(schema, registry=Registry()).iter_errors(value):
        keyword = error.validator or "false"
        # Where a name is wrong, `jsonschema` tells what the name breaks, and we that a name is wrong.
        if "propertyNames" in error.relative_schema_path:
            keyword = "propertyNames"
        # `jsonschema` loses the place of a schema that is just `false`.
        place = "" if keyword == "false" else "".join(f"/{key}" for key in error.absolute_path)
        faults.add((place, named_alike(keyword)))
    return faults


def our_faults(schema: dict[str, Any], value: Any) -> set[tuple[str, str]]:
    try:
        validate_value(schema, value)
    except InvalidArguments as failure:
        violations: Any = failure.details["violations"]
        keywords = [(each["pointer"], named_alike(each["keyword"])) for each in violations]
        return {("" if keyword == "false" else pointer, keyword) for pointer, keyword in keywords}
    return set()


def message_of(schema: dict[str, Any], arguments: Any) -> str:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(schema, arguments)
    return caught.value.message


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.req("AR-6.4", "D1-1c")
@settings(max_examples=80, deadline=None)
@given(documents("2020-12"), st.lists(instances, min_size=1, max_size=4))
def test_the_verdict_and_the_faults_are_those_of_the_reference(schema: dict[str, Any], values: list[Any]) -> None:
    for value in values:
        assert our_faults(schema, value) == oracle_faults(schema, value)


@pytest.mark.req("AR-6.4")
@settings(max_examples=40, deadline=None)
@given(documents("draft-07"), st.dictionaries(st.sampled_from("abc"), instances, max_size=3))
def test_a_schema_of_an_older_dialect_is_applied_by_its_own_rules(schema: dict[str, Any], value: Any) -> None:
    assert is_valid(schema, value) == (not oracle_faults(schema, value))


@pytest.mark.req("AR-6.4", "AR-5.3")
def test_the_faults_in_arguments_of_real_tools_are_those_of_the_reference(shared_catalog: list[dict[str, Any]]) -> None:
    schemas = {json.dumps(row["tool"]["inputSchema"]): row["tool"]["inputSchema"] for row in shared_catalog}
    checked = 0
    for schema in schemas.values():
        try:
            compile_schema(schema)
        except InvalidSchema:
            continue
        good = {name: _sample(rule) for name, rule in schema.get("properties", {}).items()}
        bad = {name: [value] for name, value in good.items()} | {"no-such-argument": 1}
        for arguments in (good, bad, {}, dict.fromkeys(good)):
            expected = oracle_faults(schema, arguments)
            checked += bool(expected)
            assert our_faults(schema, arguments) == expected

    assert checked > 100


def _sample(rule: Any) -> Any:
    if "enum" in rule:
        return rule["enum"][0]
    samples = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    return samples.get(rule.get("type") if isinstance(rule.get("type"), str) else "", "text")


@pytest.mark.parametrize("form", [dict, MappingProxyType, json.dumps, lambda each: json.dumps(each).encode()])
def test_arguments_may_come_as_a_mapping_or_as_text(form: Any) -> None:
    arguments = validate_arguments(FORECAST, form({"city": "Rome", "days": 3}))

    assert arguments == {"city": "Rome", "days": 3}
    assert type(arguments) is dict


@pytest.mark.fault("B8")
def test_malformed_text_is_refused_before_validation() -> None:
    with pytest.raises(MalformedJson) as caught:
        validate_arguments(FORECAST, '{"city": "Rome", "city": "Paris"}')

    assert caught.value.details["column"] == 18


@pytest.mark.req("CT-7")
@pytest.mark.fault("B8")
@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [
        ({"city": "a\x00"}, "/city"),
        ({"city": "\x00" + "x" * 1_000}, "/city"),
        ({"city": "Rome", "more": [{"a": 1}, {"b": ["ok", "\x00"]}]}, "/more/1/b/1"),
        ({"city": "Rome", "more": {"a\x00": 1}}, "/more"),
    ],
)
def test_a_nul_character_is_refused_in_an_object_as_in_text(arguments: dict[str, Any], pointer: str) -> None:
    schema = {"properties": {"city": {"type": "string"}}}

    with pytest.raises(MalformedJson, match="a NUL character"):
        validate_arguments(schema, json.dumps(arguments))
    for validate in (validate_arguments, lambda *case: validate_value(*case, what="arguments")):
        with pytest.raises(InvalidArguments) as caught:
            validate(schema, arguments)
        assert [each["pointer"] for each in caught.value.details["violations"]] == [pointer]
        assert "a NUL character" in caught.value.message
    assert [each.pointer for each in iter_violations(schema, arguments)] == [pointer]
    assert not is_valid(schema, arguments)


@pytest.mark.req("CT-7")
def test_what_a_tool_gives_may_hold_a_nul_character() -> None:
    validate_value({"type": "string"}, "a\x00", what="output")


@pytest.mark.parametrize("arguments", [[], None, 3, "[1]", "null"])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    assert "must be an object" in message_of({}, arguments)


@pytest.mark.fault("B3")
def test_a_pattern_that_would_backtrack_without_end_is_matched_at_once() -> None:
    schema = {"properties": {"a": {"pattern": "^(a+)+$"}}}

    assert not is_valid(schema, {"a": "a" * 50_000 + "!"})
    assert is_valid(schema, {"a": "a" * 50_000})


@pytest.mark.fault("B4")
def test_a_value_that_branching_recursion_would_take_too_long_for_is_refused() -> None:
    schema = {"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}

    assert is_valid(schema, nested(10))
    assert not is_valid(schema, nested(40))
    with pytest.raises(ArgumentsTooLarge, match="applied too often"):
        validate_arguments(schema, nested(40))


@pytest.mark.fault("B4")
def test_alternatives_that_would_take_too_long_to_explain_are_only_judged() -> None:
    alternatives: dict[str, Any] = {
        f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}, {"$ref": f"#/$defs/d{at + 1}"}]} for at in range(10)
    }
    schema = {"items": {"$ref": "#/$defs/d0"}, "$defs": {**alternatives, "d10": {"type": "string"}}}

    validate_value(schema, ["a"] * 500)
    with pytest.raises(InvalidArguments, match="too many alternatives to say where"):
        validate_value(schema, [1] * 500)


@pytest.mark.fault("B5")
@pytest.mark.parametrize(
    ("rule", "items"),
    [
        ({"uniqueItems": True}, [{"i": at} for at in range(100_000)]),
        ({"contains": {"const": -1}}, [[at] for at in range(100_000)]),
    ],
)
def test_a_list_of_a_hundred_thousand_is_too_large(rule: Any, items: list[Any]) -> None:
    with pytest.raises(ArgumentsTooLarge, match="100,000 values"):
        validate_arguments({"properties": {"a": rule}}, {"a": items})


@pytest.mark.fault("B5")
def test_unique_items_and_an_absurd_minimum_are_judged_in_linear_time() -> None:
    many = [{"i": at, "text": str(at)} for at in range(30_000)]

    assert is_valid({"properties": {"a": {"uniqueItems": True}}}, {"a": many})
    assert not is_valid({"properties": {"a": {"uniqueItems": True}}}, {"a": [*many, many[0]]})
    assert not is_valid({"properties": {"a": {"minItems": 10**9}}}, {"a": many})


@pytest.mark.fault("B6")
@pytest.mark.parametrize(
    "arguments",
    [nested(10_000), nested(201), {"a": "x" * (50 * 1024 * 1024)}, {str(at): None for at in range(10**6)}],
    ids=["deep", "one too deep", "50 MB", "million keys"],
)
def test_arguments_over_a_bound_are_refused_before_validation(arguments: Any) -> None:
    with pytest.raises(ArgumentsTooLarge) as caught:
        validate_arguments({"additionalProperties": {"$ref": "#"}}, arguments)

    assert caught.value.code == "toolbox.arguments-too-large"
    assert not is_valid({}, arguments)


def test_arguments_that_contain_themselves_are_refused() -> None:
    arguments: dict[str, Any] = {}
    arguments["self"] = arguments

    with pytest.raises(ArgumentsTooLarge, match="nested deeper than 200"):
        validate_arguments({}, arguments)


@pytest.mark.fault("B7", "B9")
@pytest.mark.parametrize(
    "number",
    [float("nan"), float("inf"), -float("inf"), 10**400, 2**64],
    ids=["nan", "inf", "-inf", "400 digits", "65 bits"],
)
def test_a_number_that_is_not_json_is_refused_with_its_place(number: float) -> None:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments({"properties": {"n": {"multipleOf": 0.01}}}, {"n": number, "none": None})

    violations: Any = caught.value.details["violations"]
    assert [(each["pointer"], each["keyword"]) for each in violations] == [("/n", "json")]


@pytest.mark.fault("B7")
def test_a_large_integer_is_compared_exactly() -> None:
    schema = {"properties": {"n": {"maximum": 2**53}}}

    assert is_valid(schema, {"n": 2**53})
    assert not is_valid(schema, {"n": 2**53 + 1})
    assert is_valid({"properties": {"n": {"maximum": 2**63 - 1}}}, {"n": 2**63 - 1})


@pytest.mark.fault("B9")
def test_a_multiple_of_zero_is_refused_with_the_schema() -> None:
    with pytest.raises(InvalidSchema):
        validate_arguments({"properties": {"n": {"multipleOf": 0}}}, {"n": 1})


@pytest.mark.fault("B12")
@pytest.mark.parametrize("name", ["__proto__", "constructor", "__class__", "$ref", "toString"])
def test_a_peculiar_name_is_an_ordinary_name(name: str) -> None:
    schema = {"properties": {name: {"type": "string"}}, "required": [name], "additionalProperties": False}

    assert validate_arguments(schema, {name: "x"}) == {name: "x"}
    assert not is_valid(schema, {name: 1})
    assert not is_valid(schema, {})


@pytest.mark.parametrize(
    "value",
    [{"a": b"x"}, {"a": {1}}, {"a": object()}, {1: 2}, {"a": "\ud800"}, {"\ud800": 1}],
    ids=lambda each: type(each).__name__,
)
def test_arguments_that_are_not_json_are_refused(value: Any) -> None:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments({}, value)

    json.dumps(caught.value.to_dict()).encode()


def test_format_is_an_annotation() -> None:
    assert is_valid({"properties": {"a": {"format": "date"}}}, {"a": "no date"})


@pytest.mark.req("AR-6.4")
def test_a_schema_is_compiled_once() -> None:
    again = ToolDefinition(namespace="weather", name="other", input_schema=FORECAST.input_schema)

    assert compile_schema(FORECAST) is compile_schema(FORECAST)
    assert compile_schema(again) is compile_schema(FORECAST)
    assert compile_schema(dict(FORECAST.input_schema)) is compile_schema(FORECAST)


def test_a_plain_schema_that_was_changed_is_compiled_again() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"type": "string"}}}
    before = is_valid(schema, {"a": 1})

    schema["properties"]["a"]["type"] = "integer"

    assert not before
    assert is_valid(schema, {"a": 1})
