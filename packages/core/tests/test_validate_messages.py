"""The words for violations: where, what is allowed, what kind was found, and never the value itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import InvalidArguments, InvalidOutput, ToolErrorCategory
from toolcrib_core.schema.validate import MAX_VIOLATIONS, iter_violations, validate_arguments, validate_value

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
TWENTY = ", ".join(f"`{at}`" for at in range(20))


def message_of(schema: dict[str, Any], arguments: Any) -> str:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(schema, arguments)
    return caught.value.message


@pytest.mark.req("AR-5.3")
@pytest.mark.fault("B10")
def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(FORECAST, {"city": "Rome", "dayz": 3})

    assert caught.value.message == (
        "`weather:forecast` got an argument it does not know: `dayz`. Did you mean `days`? Allowed: `city`, `days`."
    )
    assert caught.value.details["violations"] == [
        {
            "pointer": "",
            "keyword": "additionalProperties",
            "message": caught.value.message,
            "schemaPointer": "/additionalProperties",
            "expected": ["city", "days"],
            "didYouMean": "days",
        }
    ]


@pytest.mark.req("AR-5.3")
@pytest.mark.fault("B10")
def test_a_value_is_never_coerced() -> None:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(FORECAST, {"city": "Rome", "days": "3"})

    assert caught.value.message == (
        "The arguments of `weather:forecast` have a fault. `/days` must be an integer, not a string of 1 character."
    )


@pytest.mark.req("AR-5.3")
def test_every_violation_is_told_at_once() -> None:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(FORECAST, {"citty": "Rome", "days": 15})

    assert caught.value.message == (
        "The arguments of `weather:forecast` have 3 faults. "
        "`weather:forecast` got an argument it does not know: `citty`. Did you mean `city`? Allowed: `city`, `days`. "
        "`weather:forecast` needs the argument `city`, which is missing. "
        "`/days` must be at most 14."
    )
    assert caught.value.hint == "Correct every place listed, and nothing else."
    assert caught.value.to_dict()["code"] == "toolbox.invalid-arguments"


@pytest.mark.req("AR-5.3")
@pytest.mark.parametrize(
    ("rule", "value", "sentence"),
    [
        ({"type": ["string", "null"]}, [], "`/a` must be null or a string, not a list of 0 items."),
        ({"type": "boolean"}, 1.5, "`/a` must be true or false, not a number."),
        (
            {"enum": ["celsius", 1, None]},
            "celcius",
            "`/a` must be one of `celsius`, `1`, `null`, not another one. Did you mean `celsius`?",
        ),
        ({"enum": list(range(30))}, True, f"`/a` must be one of {TWENTY} and 10 more, not a boolean."),
        ({"const": {"b": 1}}, 2, '`/a` must be `{"b":1}`.'),
        ({"minimum": 2}, 1, "`/a` must be at least 2."),
        ({"exclusiveMaximum": 2}, 2, "`/a` must be less than 2."),
        ({"multipleOf": 0.5}, 0.3, "`/a` must be a multiple of 0.5."),
        ({"minLength": 3}, "ab", "`/a` must have at least 3 characters, but has 2."),
        ({"maxItems": 1}, [1, 2], "`/a` must have at most 1 item, but has 2."),
        ({"minProperties": 1}, {}, "`/a` must have at least 1 property, but has 0."),
        ({"pattern": "^[a-z]+$"}, "A", "`/a` must match the pattern `^[a-z]+$`."),
        ({"uniqueItems": True}, [1, 1], "`/a` must not hold the same item twice."),
        ({"contains": {"const": 1}}, [], "`/a` must hold at least 1 item of the kind that its schema asks for."),
        (
            {"contains": True, "maxContains": 2},
            [1, 1, 1],
            "`/a` must hold at most 2 items of the kind that its schema asks for.",
        ),
        ({"not": {"type": "null"}}, None, "`/a` is of a form that is excluded."),
        (False, 1, "`/a` must not be given."),
        ({"propertyNames": False}, {"x": 1}, "`/a` must have no properties."),
        ({"additionalProperties": False}, {"x": 1}, "`/a` has a property it does not know: `x`."),
        ({"dependentSchemas": {"x": False}}, {"x": 1}, "`/a` must not be given."),
        ({"required": ["x"]}, {}, "`/a` needs `x`, which is missing."),
        ({"dependentRequired": {"x": ["y"]}}, {"x": 1}, "`/a` needs `y` wherever it has `x`."),
        (
            {"propertyNames": {"maxLength": 2}},
            {"abc": 1},
            (
                "`/a` has the property name `abc`, which is not allowed. "
                "The name must have at most 2 characters, but has 3."
            ),
        ),
        (
            {"properties": {"x": {}}, "additionalProperties": False},
            {"y": 1, "z": 2},
            "`/a` has 2 properties it does not know: `y`, `z`. Allowed: `x`.",
        ),
        (
            {"patternProperties": {"^x-": {}}, "additionalProperties": False},
            {"y": 1},
            "`/a` has a property it does not know: `y`. Also allowed: names that match `^x-`.",
        ),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2, 3], "`/a` has 2 items more than it may have."),
        (
            {"oneOf": [{"type": "integer"}, {"minimum": 0}, {"type": "null"}]},
            1,
            "`/a` fits 2 of its 3 allowed forms (1, 2), and must fit exactly one.",
        ),
        (
            {"anyOf": [{"type": "string"}, {"required": ["x", "y"], "type": "object"}]},
            {"x": 1},
            "`/a` fits none of its 2 allowed forms. The closest is form 2: `/a` needs `y`, which is missing.",
        ),
    ],
)
def test_a_violation_says_where_what_is_allowed_and_what_kind_was_found(rule: Any, value: Any, sentence: str) -> None:
    (violation,) = iter_violations({"properties": {"a": rule}}, {"a": value})

    assert violation.message == sentence
    assert violation.pointer == "/a"


def test_the_closest_form_is_the_variant_that_the_value_names() -> None:
    variants = [
        {"properties": {"kind": {"const": kind}, **rules}, "required": ["kind", *rules]}
        for kind, rules in {"circle": {"r": {"type": "number"}}, "box": {"w": {}, "h": {"type": "number"}}}.items()
    ]

    message = message_of({"properties": {"shape": {"oneOf": variants}}}, {"shape": {"kind": "box", "h": "9"}})

    assert "The closest is form 2" in message
    assert "`/shape/h` must be a number" in message
    assert "`/shape` needs `w`" in message


@pytest.mark.req("AR-5.3")
@pytest.mark.parametrize(
    "rule",
    [
        {"type": "integer"},
        {"enum": ["hunter3"]},
        {"const": 1},
        {"pattern": "^x"},
        {"maxLength": 3},
        {"anyOf": [{"type": "null"}, {"enum": [1]}]},
        {"not": {}},
        False,
        {"allOf": [{"oneOf": [{"const": "x"}]}]},
    ],
)
def test_no_message_holds_the_value(rule: Any) -> None:
    schema = {"properties": {"secret": rule, "list": {"items": rule}}}

    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(schema, {"secret": "hunter2", "list": ["hunter2"]})

    assert "hunter2" not in json.dumps(caught.value.to_dict())


def test_a_long_or_invisible_name_is_shortened_and_escaped() -> None:
    message = message_of({"additionalProperties": False}, {"a\n\u202e`" + "x" * 500: 1})

    assert message.startswith("The tool got an argument it does not know: `a\\n\\u202e'xxx")
    assert len(message) < 200


def test_many_violations_are_listed_in_part_and_counted() -> None:
    schema = {"properties": {"a": {"items": {"type": "string"}}}}

    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(schema, {"a": [1] * 5_000})

    violations: Any = caught.value.details["violations"]
    assert caught.value.message.startswith("The arguments have 1,000 faults.")
    assert caught.value.message.endswith("And 990 more.")
    assert len(violations) == MAX_VIOLATIONS


@pytest.mark.req("CT-14", "RT-11")
def test_a_wrong_output_has_its_own_code_and_category() -> None:
    with pytest.raises(InvalidOutput) as caught:
        validate_value({"type": "object", "required": ["t"]}, {}, what="output", tool="weather:forecast")

    assert caught.value.code == InvalidOutput.default_code == "toolbox.invalid-output"
    assert caught.value.category is ToolErrorCategory.OUTPUT_VALIDATION
    assert caught.value.message == "The output of `weather:forecast` needs `t`, which is missing."


def test_a_property_that_is_named_like_a_keyword_is_told_apart_from_it() -> None:
    schema = {"properties": {"propertyNames": False, "properties": {"propertyNames": False}}}

    violations = iter_violations(schema, {"propertyNames": {}, "properties": {"x": 1}})

    assert {each.pointer: each.keyword for each in violations} == {
        "/propertyNames": "false",
        "/properties": "propertyNames",
    }
