"""Compatibility of definitions: single changes and their verdicts, reports, versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from inline_snapshot import snapshot

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.schema.compare import Comparison, compare

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NULL: Schema = {"type": "null"}


def closed(required: tuple[str, ...] = (), /, **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def opened(required: tuple[str, ...] = (), /, **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def tool(**fields: Any) -> ToolDefinition:
    return ToolDefinition(**{"name": "tool", "version": "1.0.0", **fields})


def compare_inputs(old: Schema, new: Schema) -> Comparison:
    return compare(tool(input_schema=old), tool(input_schema=new))


def compare_outputs(old: Schema | None, new: Schema | None) -> Comparison:
    return compare(tool(output_schema=old), tool(output_schema=new))


def tagged(kind: str, **more: Any) -> Schema:
    return closed(("kind",), kind={"const": kind}, **more)


def listed(item: Schema, name: str = "List") -> Schema:
    """A linked list of items."""
    node = closed(("item",), item=item, next={"$ref": f"#/$defs/{name}"})
    return {**closed(head={"$ref": f"#/$defs/{name}"}), "$defs": {name: node}}


# old, new, verdict for the input from old to new, and from new to old.
INPUTS: dict[str, tuple[Any, Any, str, str]] = {
    "optional parameter added": (closed(a=TEXT), closed(a=TEXT, b=TEXT), "additive", "breaking"),
    "required parameter added": (closed(a=TEXT), closed(("b",), a=TEXT, b=TEXT), "breaking", "breaking"),
    "parameter now required": (closed(a=TEXT), closed(("a",), a=TEXT), "breaking", "additive"),
    "optional parameter added to an open object": (opened(a=TEXT), opened(a=TEXT, b=TEXT), "breaking", "additive"),
    "opened": (closed(a=TEXT), opened(a=TEXT), "additive", "breaking"),
    "type widened": (closed(a=TEXT), closed(a={"type": ["string", "null"]}), "additive", "breaking"),
    "type widened by an alternative": (closed(a=TEXT), closed(a={"anyOf": [TEXT, NULL]}), "additive", "breaking"),
    "type list written as alternatives": (
        closed(a={"type": ["string", "null"]}),
        closed(a={"anyOf": [TEXT, NULL]}),
        "compatible",
        "compatible",
    ),
    "type changed": (closed(a=TEXT), closed(a=WHOLE), "breaking", "breaking"),
    "whole numbers to numbers": (closed(a=WHOLE), closed(a={"type": "number"}), "additive", "breaking"),
    "enum widened": (closed(a={"enum": ["x"]}), closed(a={"enum": ["x", "y"]}), "additive", "breaking"),
    "enum to its type": (closed(a={"enum": ["x"]}), closed(a=TEXT), "additive", "breaking"),
    "enum in another order": (
        closed(a={"enum": ["x", "y"]}),
        closed(a={"enum": ["y", "x"]}),
        "compatible",
        "compatible",
    ),
    "true is not one": (closed(a={"const": True}), closed(a={"const": 1}), "breaking", "breaking"),
    "one is one point zero": (closed(a={"const": 1.0}), closed(a={"const": 1}), "compatible", "compatible"),
    "bound widened": (closed(a={"minimum": 2}), closed(a={"minimum": 1}), "additive", "breaking"),
    "bound opened": (closed(a={"exclusiveMinimum": 1}), closed(a={"minimum": 1}), "additive", "breaking"),
    "length widened": (closed(a={"maxLength": 2}), closed(a={"maxLength": 3}), "additive", "breaking"),
    "bound that does not apply": (closed(a=TEXT), closed(a={**TEXT, "minimum": 3}), "compatible", "compatible"),
    "multiple widened": (closed(a={"multipleOf": 4}), closed(a={"multipleOf": 2}), "additive", "breaking"),
    "pattern added": (closed(a=TEXT), closed(a={**TEXT, "pattern": "^a"}), "breaking", "additive"),
    "pattern changed": (closed(a={"pattern": "^a"}), closed(a={"pattern": "^."}), "breaking", "breaking"),
    "format added": (closed(a=TEXT), closed(a={**TEXT, "format": "date"}), "breaking", "additive"),
    "item widened": (
        closed(a={"type": "array", "items": WHOLE}),
        closed(a={"type": "array", "items": {"type": "number"}}),
        "additive",
        "breaking",
    ),
    "place in a tuple added": (
        closed(a={"type": "array", "prefixItems": [TEXT]}),
        closed(a={"type": "array", "prefixItems": [TEXT, WHOLE]}),
        "breaking",
        "additive",
    ),
    "unique items": (
        closed(a={"type": "array"}),
        closed(a={"type": "array", "uniqueItems": True}),
        "breaking",
        "additive",
    ),
    "alternative added": (closed(a={"anyOf": [TEXT]}), closed(a={"anyOf": [TEXT, WHOLE]}), "additive", "breaking"),
    "alternatives in another order": (
        closed(a={"anyOf": [TEXT, WHOLE]}),
        closed(a={"anyOf": [WHOLE, TEXT]}),
        "compatible",
        "compatible",
    ),
    "tagged alternative added": (
        closed(a={"oneOf": [tagged("x"), tagged("y")]}),
        closed(a={"oneOf": [tagged("x"), tagged("y"), tagged("z")]}),
        "additive",
        "breaking",
    ),
    "untagged exclusive alternative added": (
        closed(a={"oneOf": [TEXT]}),
        closed(a={"oneOf": [TEXT, {"maxLength": 3}]}),
        "breaking",
        "breaking",
    ),
    "condition added": (closed(a=TEXT), closed(a={"allOf": [TEXT, {"minLength": 1}]}), "breaking", "additive"),
    "negation narrowed": (
        closed(a={"not": {"type": "string"}}),
        closed(a={"not": {"type": ["string", "null"]}}),
        "breaking",
        "additive",
    ),
    "everything to nothing": (closed(a=True), closed(a=False), "breaking", "additive"),
    "recursive, another name": (listed(TEXT), listed(TEXT, "Chain"), "compatible", "compatible"),
    "recursive, widened": (listed(WHOLE), listed({"type": "number"}, "Chain"), "additive", "breaking"),
    "definition inlined": (
        {**closed(a={"$ref": "#/$defs/T"}), "$defs": {"T": TEXT}},
        closed(a=TEXT),
        "compatible",
        "compatible",
    ),
    "pattern properties": (
        {"type": "object", "patternProperties": {"^x-": WHOLE}, "additionalProperties": False},
        {"type": "object", "patternProperties": {"^x-": {"type": "number"}}, "additionalProperties": False},
        "additive",
        "breaking",
    ),
    "property names": (
        {"type": "object", "propertyNames": {"maxLength": 2}},
        {"type": "object", "propertyNames": {"maxLength": 3}},
        "additive",
        "breaking",
    ),
    "dependent property": (
        {**closed(a=TEXT, b=TEXT), "dependentRequired": {"a": ["b"]}},
        closed(a=TEXT, b=TEXT),
        "additive",
        "breaking",
    ),
    "pattern properties added": (
        {"type": "object", "additionalProperties": False},
        {"type": "object", "patternProperties": {"^x-": WHOLE}, "additionalProperties": False},
        "additive",
        "breaking",
    ),
    "named property under a pattern": (
        {**closed(xa=WHOLE), "patternProperties": {"^x": {"minimum": 1}}},
        {**closed(xa={"type": "number"}), "patternProperties": {"^x": {"minimum": 0}}},
        "additive",
        "breaking",
    ),
    "property names of a closed object": (
        closed(ab=TEXT),
        {**closed(ab=TEXT), "propertyNames": {"maxLength": 2}},
        "compatible",
        "compatible",
    ),
    "dependent schema": (
        {**closed(a=TEXT, b=TEXT), "dependentSchemas": {"a": {"required": ["b"]}}},
        {**closed(a=TEXT, b=TEXT), "dependentSchemas": {"a": {"minProperties": 1}}},
        "additive",
        "breaking",
    ),
    "words for other types": (
        closed(a=TEXT),
        closed(a={**TEXT, "properties": {"x": TEXT}, "items": TEXT, "propertyNames": TEXT, "contains": TEXT}),
        "compatible",
        "compatible",
    ),
    "sought item widened": (
        closed(a={"type": "array", "contains": WHOLE}),
        closed(a={"type": "array", "contains": {"type": "number"}}),
        "additive",
        "breaking",
    ),
    "more of the sought items allowed": (
        closed(a={"type": "array", "contains": WHOLE, "minContains": 0, "maxContains": 1}),
        closed(a={"type": "array", "contains": WHOLE, "minContains": 0, "maxContains": 2}),
        "additive",
        "breaking",
    ),
    "consequence widened": (
        closed(a={"if": {"minLength": 2}, "then": {"maxLength": 3}, "else": {"pattern": "a"}}),
        closed(a={"if": {"minLength": 2}, "then": {"maxLength": 4}, "else": {"pattern": "a"}}),
        "additive",
        "breaking",
    ),
    "condition without weight": (
        closed(a={**TEXT, "maxLength": 3}),
        closed(a={**TEXT, "maxLength": 3, "if": {"minLength": 2}, "then": {"maxLength": 4}}),
        "compatible",
        "compatible",
    ),
    "condition changed": (
        closed(a={"if": {"minLength": 2}, "then": {"pattern": "a"}}),
        closed(a={"if": {"minLength": 3}, "then": {"pattern": "a"}}),
        "breaking",
        "breaking",
    ),
    "object said": ({}, {"type": "object"}, "compatible", "compatible"),
    "unevaluated": (opened(a=TEXT), {**opened(a=TEXT), "unevaluatedProperties": False}, "breaking", "additive"),
}


@pytest.mark.req("AR-6.5")
@pytest.mark.parametrize("case", INPUTS)
def test_each_single_change_of_an_input_has_its_verdict_both_ways(case: str) -> None:
    old, new, there, back = INPUTS[case]

    forward, backward = compare_inputs(old, new), compare_inputs(new, old)

    assert (forward.verdict, backward.verdict) == (there, back)


@pytest.mark.req("AR-6.5")
@pytest.mark.parametrize("case", INPUTS)
def test_an_output_is_judged_the_other_way_round(case: str) -> None:
    # Arguments are always an object; a result is one only when its schema says so.
    old, new = ({"type": "object", **schema} for schema in INPUTS[case][:2])

    assert compare_outputs(old, new).verdict == compare_inputs(new, old).verdict


@pytest.mark.req("AR-6.5")
@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [(None, TEXT, "additive"), (TEXT, None, "breaking"), (None, None, "compatible")],
)
def test_a_result_that_is_described_or_not_any_more(old: Schema | None, new: Schema | None, verdict: str) -> None:
    assert compare_outputs(old, new).verdict == verdict


@pytest.mark.req("AR-6.5")
def test_a_required_result_that_is_gone_breaks() -> None:
    comparison = compare_outputs(opened(("a",), a=TEXT), opened())

    assert [(each.pointer, each.kind, each.effect) for each in comparison.changes] == [
        ("/properties/a", "property-removed", "breaking")
    ]


@pytest.mark.req("AR-6.5")
def test_a_comparison_is_a_report_with_pointers_and_messages() -> None:
    old = closed(("city",), city=TEXT, unit={"enum": ["c", "f"]}, days={**WHOLE, "default": 3})
    new = closed(
        ("city", "key"),
        city={**TEXT, "description": "The city."},
        unit={"enum": ["c"]},
        key=TEXT,
        days={**WHOLE, "default": 5},
    )

    comparison = compare_inputs(old, new)

    assert comparison.model_dump(mode="json", by_alias=True) == snapshot(
        {
            "verdict": "breaking",
            "changes": [
                {
                    "where": "input",
                    "pointer": "/properties/city/description",
                    "kind": "description-changed",
                    "effect": "compatible",
                    "message": "`description` is new.",
                },
                {
                    "where": "input",
                    "pointer": "/properties/days/default",
                    "kind": "default-changed",
                    "effect": "additive",
                    "message": "`default` changed.",
                },
                {
                    "where": "input",
                    "pointer": "/properties/key",
                    "kind": "property-added",
                    "effect": "breaking",
                    "message": "`key` is a new required property.",
                },
                {
                    "where": "input",
                    "pointer": "/properties/unit/enum",
                    "kind": "enum-changed",
                    "effect": "breaking",
                    "message": '`enum` changed from `["c", "f"]` to `["c"]`.',
                },
            ],
            "versionProblem": "A breaking change from `1.0.0` to `1.0.0`: it needs a higher major version.",
        }
    )


@pytest.mark.req("AR-6.5")
def test_pointers_lead_into_the_shared_definition_that_changed_and_come_once() -> None:
    comparison = compare_inputs(listed(WHOLE), listed(TEXT, "Chain"))

    assert [(each.pointer, each.effect) for each in comparison.changes] == [
        ("/$defs/Chain/properties/item/type", "breaking")
    ]


@pytest.mark.req("AR-6.5")
def test_what_cannot_be_proven_is_said_to_be_unproven() -> None:
    shared = {"$ref": "#/$defs/D", "unevaluatedProperties": False}
    old = {**closed(a=shared), "$defs": {"D": opened(x=TEXT)}}

    [*_, change] = compare_inputs(old, {**old, "$defs": {"D": opened(x={**TEXT, "minLength": 0})}}).changes

    assert (change.pointer, change.kind, change.effect) == ("/properties/a", "cannot-tell", "breaking")


@pytest.mark.req("AR-6.5")
def test_a_definition_used_where_it_matters_and_where_it_does_not_weighs_what_it_matters() -> None:
    def used_twice(shared: Schema) -> Schema:
        never = {"type": "string", "allOf": [NULL], "properties": {"x": {"$ref": "#/$defs/D"}}}
        return {**closed(a={"anyOf": [never, {"$ref": "#/$defs/D"}]}), "$defs": {"D": shared}}

    comparison = compare_inputs(used_twice(opened(x=WHOLE)), used_twice(opened(x={"type": "number"})))

    assert [(each.pointer, each.effect) for each in comparison.changes] == [("/$defs/D/properties/x/type", "additive")]


@pytest.mark.req("AR-6.5")
def test_a_definition_that_is_narrowed_where_it_is_used_is_followed() -> None:
    def used(shared: Schema) -> Schema:
        return {**closed(a={"$ref": "#/$defs/D", "minimum": 0}), "$defs": {"D": shared}}

    [change] = compare_inputs(used(WHOLE), used({"type": "number"})).changes

    assert (change.pointer, change.effect) == ("/$defs/D/type", "additive")


@pytest.mark.req("AR-6.5")
def test_a_change_that_only_shows_in_the_whole_is_told_at_the_whole() -> None:
    old = {**closed(a={"$ref": "#/$defs/D", "minimum": 0}), "$defs": {"D": WHOLE}}

    changes = compare_inputs(old, closed(a={"type": "number", "minimum": 0})).changes

    assert [(each.pointer, each.kind, each.effect) for each in changes] == [
        ("/properties/a", "schema-changed", "additive"),
        ("/properties/a/type", "type-changed", "compatible"),
    ]


@pytest.mark.req("AR-6.5")
def test_every_definition_is_compatible_with_itself_without_changes(own_definitions: list[ToolDefinition]) -> None:
    for definition in own_definitions:
        assert compare(definition, definition) == Comparison(verdict="compatible", changes=())


@pytest.mark.req("AR-6.5")
def test_real_schemas_are_compatible_with_a_copy_whose_prose_was_edited(
    shared_definitions: list[ToolDefinition],
) -> None:
    for definition in shared_definitions[::10]:
        edited = {**definition.input_schema, "description": "Edited."}

        comparison = compare(definition, definition.model_copy(update={"input_schema": edited}))

        assert (definition.id, comparison.verdict) == (definition.id, "compatible")


def nested(step: Schema) -> Schema:
    return closed(next=step)


def plain(step: Schema) -> Schema:
    return step


@pytest.mark.parametrize("around", [nested, plain])
def test_a_chain_too_long_to_follow_breaks_instead_of_failing(around: Callable[[Schema], Schema]) -> None:
    def chain(last: Schema) -> Schema:
        steps = {f"S{at}": around({"$ref": f"#/$defs/S{at + 1}"}) for at in range(300)}
        return {**closed(a={"$ref": "#/$defs/S0"}), "$defs": {**steps, "S300": last}}

    comparison = compare_inputs(chain(WHOLE), chain({"type": "number"}))

    assert comparison.verdict == "breaking"


def test_alternatives_that_multiply_end_within_the_budget() -> None:
    choices = {"allOf": [{"anyOf": [{"minLength": at}, {"maxLength": at}]} for at in range(1, 20)]}

    comparison = compare_inputs(closed(a=choices), closed(a={**choices, "pattern": "^a"}))

    assert comparison.verdict == "breaking"
