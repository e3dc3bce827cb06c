"""Schemas in a vendor's dialect: each keyword kept, translated or left out, and every loss reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.adapters.oracle import CASES, check
from tests.adapters.schemas import input_schemas
from toolcrib_core import Loss, LossReport, SchemaError, ToolDefinition, VendorDialect, convert_schema, first_fitting

_COMMON = frozenset("type properties required items anyOf enum description minimum maximum".split())
STRICT = VendorDialect(
    name="strict",
    keywords=_COMMON | {"additionalProperties", "const", "$ref"},
    closed_objects=True,
    all_required=True,
    typed=True,
    root_combinators=False,
    ref_siblings=False,
)
OPEN = VendorDialect(
    name="open",
    keywords=_COMMON | {"additionalProperties", "patternProperties", "prefixItems", "oneOf", "not", "$ref", "maxItems"},
    ref_siblings=False,
    enum_types=frozenset({"string", "integer"}),
)
SMALL = VendorDialect(
    name="small",
    keywords=_COMMON | {"minItems"},
    type_lists=False,
    recursion=False,
    array_items=True,
    max_min_items=1,
)
NO_RECURSION = replace(STRICT, recursion=False, type_lists=False, all_required=False, name="no recursion")
ALL = replace(OPEN, keywords=_COMMON | {"$ref", "allOf", "const", "if", "then"}, ref_siblings=True, name="all")
BARE = VendorDialect(name="bare", keywords=frozenset({"type", "properties"}), tell=False)
DIALECTS = (STRICT, OPEN, SMALL, NO_RECURSION, ALL, BARE, VendorDialect(name="any", root_combinators=False))


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _of(schema: dict[str, Any], dialect: VendorDialect) -> tuple[dict[str, Any], set[tuple[str, str, str]]]:
    made = convert_schema(ToolDefinition(name="t", input_schema=schema).input_schema, dialect)
    return made.schema, {(each.pointer, each.keyword, each.effect) for each in made.report.losses}


def _inner(inner: Any, dialect: VendorDialect, **more: Any) -> tuple[Any, set[tuple[str, str]]]:
    """What becomes of a property, and what is lost in it."""
    made, lost = _of({**_schema(a=inner), "required": ["a"], **more}, dialect)
    return made["properties"]["a"], {
        (keyword, effect) for pointer, keyword, effect in lost if pointer == "/properties/a"
    }


@pytest.mark.req("AD-2")
@pytest.mark.slow
@settings(
    max_examples=150 * CASES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(input_schemas, st.integers(0, 2**32))
def test_no_dialect_loses_anything_silently(schema: dict[str, object], seed: int) -> None:
    try:
        original = ToolDefinition(name="t", input_schema=schema).input_schema
    except SchemaError:
        assume(False)  # noqa: FBT003  # hypothesis takes no keyword
    for dialect in DIALECTS:
        checked = check(original, convert_schema(original, dialect), seed=seed, number=3)
        assert not checked.silent, f"{dialect.name}: {checked.silent[0]}"


@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    ("inner", "dialect", "converted", "lost"),
    [
        ({"const": "v"}, OPEN, {"enum": ["v"]}, set()),
        ({"const": None}, STRICT, {"type": "null", "const": None}, set()),
        (
            {"enum": ["v"], "type": ["string", "null"]},
            SMALL,
            {"anyOf": [{"type": "string", "enum": ["v"]}]},
            set(),
        ),
        (
            {"enum": ["v"], "type": ["integer", "null"]},
            SMALL,
            {"anyOf": [{"type": "integer", "enum": ["v"]}]},
            set(),
        ),
        ({"const": None}, OPEN, {"description": "(enum: [null])"}, {("enum", "widened")}),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            STRICT,
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            set(),
        ),
        (
            {"oneOf": [{"type": "string"}, {"enum": ["v"]}]},
            STRICT,
            {"anyOf": [{"type": "string"}, {"type": "string", "enum": ["v"]}]},
            {("oneOf", "widened")},
        ),
        ({"type": ["string", "null"]}, SMALL, {"anyOf": [{"type": "string"}, {"type": "null"}]}, set()),
        ({"type": ["string"]}, SMALL, {"type": "string"}, set()),
        (
            {"type": ["string", "integer"], "enum": ["v", 1], "description": "D"},
            SMALL,
            {"anyOf": [{"type": "string", "enum": ["v"]}, {"type": "integer", "enum": [1]}], "description": "D"},
            set(),
        ),
        ({"type": "array"}, SMALL, {"type": "array", "items": {}}, set()),
        (
            {"type": "array", "items": {}, "minItems": 2},
            SMALL,
            {"type": "array", "items": {}, "description": "(minItems: 2)"},
            {("minItems", "widened")},
        ),
        ({"type": "array", "items": {}, "minItems": 1}, SMALL, {"type": "array", "items": {}, "minItems": 1}, set()),
        ({"allOf": [{"type": "string"}, {"minimum": 1}, True]}, OPEN, {"type": "string", "minimum": 1}, set()),
        (
            {"allOf": [{"minimum": 1}, {"minimum": 3}, {"maximum": 9}, {"maximum": 7}], "type": "integer"},
            OPEN,
            {"type": "integer", "minimum": 3, "maximum": 7},
            set(),
        ),
        ({"allOf": [{"type": ["number", "string"]}, {"type": ["integer", "null"]}]}, OPEN, {"type": "integer"}, set()),
        (
            {"allOf": [{"type": ["string", "null"]}, {"type": ["null", "string", "array"]}]},
            OPEN,
            {"type": ["string", "null"]},
            set(),
        ),
        ({"allOf": [{"enum": ["v", "w"]}, {"enum": ["w", 1]}]}, OPEN, {"enum": ["w"]}, set()),
        (
            {"allOf": [{"type": "string"}, {"type": "integer"}]},
            SMALL,
            {"type": "string", "description": '(allOf: [{"type":"integer"}])'},
            {("allOf", "widened")},
        ),
        (
            {"allOf": [False], "type": "string"},
            SMALL,
            {"type": "string", "description": "(allOf: [false])"},
            {("allOf", "widened")},
        ),
        (
            {"allOf": [{"pattern": "a"}, {"pattern": "b"}]},
            ALL,
            {"allOf": [{"description": "(pattern: a)"}, {"description": "(pattern: b)"}]},
            set(),
        ),
        ({"not": {"type": "string"}}, OPEN, {"not": {"type": "string"}}, set()),
        ({"not": {"pattern": "a"}}, OPEN, {"description": '(not: {"pattern":"a"})'}, {("not", "widened")}),
        ({"then": {"type": "string"}}, OPEN, {}, set()),
        ({"maxContains": 1}, OPEN, {}, set()),
        (
            {"type": "string", "x-mine": 1, "title": "T"},
            OPEN,
            {"type": "string", "description": "(x-mine: 1)"},
            {("x-mine", "annotation_only"), ("title", "annotation_only")},
        ),
        ({"type": "string", "default": "x" * 300}, OPEN, {"type": "string"}, {("default", "annotation_only")}),
        (True, OPEN, {}, set()),
        (False, OPEN, {"type": "null"}, {("false", "widened")}),
        ({"anyOf": [False]}, OPEN, {"anyOf": [{"type": "null"}]}, {("false", "widened")}),
        (
            {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
            OPEN,
            {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
            set(),
        ),
        (
            {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False},
            SMALL,
            {"type": "object", "description": '(patternProperties: {"^x":{}}; additionalProperties: false)'},
            {("patternProperties", "widened"), ("additionalProperties", "widened")},
        ),
        (
            {"type": "object", "additionalProperties": {"const": 1}},
            OPEN,
            {"type": "object", "additionalProperties": {"enum": [1]}},
            set(),
        ),
        (
            {"type": "array", "prefixItems": [{"const": "v"}], "items": False},
            OPEN,
            {"type": "array", "prefixItems": [{"enum": ["v"]}], "maxItems": 1},
            set(),
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
            SMALL,
            {
                "type": "array",
                "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "description": '(prefixItems: [{"type":"string"},{"type":"integer"}])',
            },
            {("prefixItems", "widened")},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}]},
            SMALL,
            {"type": "array", "items": {}, "description": '(prefixItems: [{"type":"string"}])'},
            {("prefixItems", "widened")},
        ),
        ({"type": "array", "items": False}, OPEN, {"type": "array", "maxItems": 0}, set()),
        (
            {"type": "array", "items": False},
            SMALL,
            {"type": "array", "items": {"type": "string"}},
            {("items", "widened")},
        ),
        ({"type": "array", "items": {"type": "string"}}, BARE, {"type": "array"}, {("items", "widened")}),
        (
            {"properties": {"b": {"type": "string"}}},
            STRICT,
            {
                "type": "object",
                "properties": {"b": {"type": ["string", "null"]}},
                "required": ["b"],
                "additionalProperties": False,
            },
            {("type", "narrowed"), ("additionalProperties", "narrowed"), ("required", "annotation_only")},
        ),
        (
            {"minLength": 2},
            STRICT,
            {"type": "string", "description": "(minLength: 2)"},
            {("type", "narrowed"), ("minLength", "widened")},
        ),
        (
            {"enum": ["v", 1, 1.5, True, None, [1], {"a": 1}]},
            STRICT,
            {
                "type": ["string", "integer", "number", "boolean", "null", "array", "object"],
                "enum": ["v", 1, 1.5, True, None, [1], {"a": 1}],
            },
            None,
        ),
        (
            {"type": ["string", "integer"], "anyOf": [{"type": "string"}, {"type": "integer"}]},
            STRICT,
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            set(),
        ),
    ],
)
def test_a_keyword_is_kept_translated_or_left_out_and_said_to_be(
    inner: Any, dialect: VendorDialect, converted: Any, lost: set[tuple[str, str]] | None
) -> None:
    made, found = _inner(inner, dialect)

    if lost is not None:
        assert (made, found) == (converted, lost)
    else:
        assert {key: made[key] for key in converted} == converted


NODE = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/node"}, "value": {"type": "string"}},
    "required": ["value"],
    "additionalProperties": False,
}


@pytest.mark.req("AD-2")
def test_recursion_is_kept_where_the_vendor_knows_it() -> None:
    made, lost = _inner({"$ref": "#/$defs/node"}, OPEN, **{"$defs": {"node": NODE}})

    assert (made, lost) == ({"$ref": "#/$defs/node"}, set())


@pytest.mark.req("AD-2")
@pytest.mark.parametrize("dialect", [SMALL, NO_RECURSION])
def test_recursion_ends_with_the_bare_type_where_the_vendor_does_not_know_it(dialect: VendorDialect) -> None:
    made = convert_schema({**_schema(a={"$ref": "#/$defs/node"}), "$defs": {"node": NODE}}, dialect)

    assert ("$ref", "widened") in {(each.keyword, each.effect) for each in made.report.losses}
    assert bool(made.report.blocking) is dialect.closed_objects


@pytest.mark.req("AD-2")
def test_a_reference_may_lead_to_the_root_to_a_property_or_to_an_anchor() -> None:
    schema = {
        "type": "object",
        "properties": {
            "child": {"$ref": "#"},
            "twin": {"$ref": "#/properties/name"},
            "name": {"type": "string", "$anchor": "called"},
            "again": {"$ref": "#called"},
            "either": {"$ref": "#/$defs/name"},
            "never": {"$ref": "#/$defs/off"},
        },
        "$defs": {"name": {"type": "integer"}, "off": False},
    }

    open_made, _ = _of(schema, OPEN)
    strict_made, _ = _of(schema, STRICT)

    assert open_made["properties"]["child"] == {"$ref": "#"}
    assert open_made["properties"]["twin"] == open_made["properties"]["again"] == {"$ref": "#/$defs/name"}
    assert open_made["properties"]["either"] == {"$ref": "#/$defs/name_2"}
    assert open_made["$defs"]["name"] == {"type": "string"}
    assert strict_made["properties"]["child"]["anyOf"][0] == {"$ref": "#/$defs/root"}


@pytest.mark.req("AD-2")
def test_what_stands_beside_a_reference_is_merged_kept_around_it_or_given_up() -> None:
    defs = {"$defs": {"d": {"type": "string", "minLength": 1}, "e": {"$ref": "#/$defs/d"}, "any": True}}

    assert _inner({"$ref": "#/$defs/d", "description": "D"}, OPEN, **defs)[0] == {
        "anyOf": [{"$ref": "#/$defs/d"}],
        "description": "D",
    }
    assert _inner({"$ref": "#/$defs/e", "enum": ["v"]}, OPEN, **defs)[0] == {
        "type": "string",
        "enum": ["v"],
        "description": "(minLength: 1)",
    }
    assert _inner({"$ref": "#/$defs/any", "type": "string"}, OPEN, **defs) == ({"type": "string"}, set())
    assert _inner({"$ref": "#/$defs/d", "type": "integer"}, OPEN, **defs) == (
        {"type": "integer"},
        {("$ref", "widened")},
    )
    bare = replace(BARE, keywords=frozenset({"type", "properties", "$ref", "description"}), ref_siblings=False)
    assert _inner({"$ref": "#/$defs/d", "description": "D"}, bare, **defs) == (
        {"$ref": "#/$defs/d"},
        {("description", "annotation_only")},
    )
    assert _inner({"allOf": [{"$ref": "#/$defs/d", "description": "D"}]}, OPEN, **defs)[0] == {
        "type": "string",
        "description": "D (minLength: 1)",
    }
    assert _inner({"$ref": "#/$defs/d", "title": "T"}, ALL, **defs)[0] == {"$ref": "#/$defs/d"}


@pytest.mark.req("AD-2")
def test_a_dynamic_reference_that_can_mean_one_place_only_is_a_reference() -> None:
    one = {"$defs": {"d": {"$dynamicAnchor": "n", "type": "string"}}}
    two = {"$defs": {**one["$defs"], "e": {"$id": "u", "$dynamicAnchor": "n", "type": "integer"}}}

    assert _inner({"$dynamicRef": "#n"}, OPEN, **one) == ({"$ref": "#/$defs/d"}, set())
    assert _inner({"$dynamicRef": "#n"}, OPEN, **two) == ({}, {("$dynamicRef", "widened")})
    assert _inner({"$dynamicRef": "#n", "$ref": "#/$defs/d"}, STRICT, **two)[1] >= {("$dynamicRef", "widened")}


@pytest.mark.req("AD-2")
def test_alternatives_at_the_root_become_one_object_that_takes_what_any_of_them_takes() -> None:
    tagged = [
        {
            "properties": {"kind": {"const": "a"}, "x": {"type": "string"}},
            "required": ["kind", "x"],
            "additionalProperties": False,
        },
        {
            "properties": {"kind": {"const": "b"}, "y": {"type": "string"}},
            "required": ["kind"],
            "additionalProperties": False,
        },
    ]

    made, lost = _of({"type": "object", "oneOf": tagged}, STRICT)

    assert made == {
        "type": "object",
        "properties": {
            "kind": {"anyOf": [{"type": "string", "const": "a"}, {"type": "string", "const": "b"}]},
            "x": {"type": ["string", "null"]},
            "y": {"type": ["string", "null"]},
        },
        "required": ["kind", "x", "y"],
        "additionalProperties": False,
    }
    assert lost == {("", "oneOf", "widened"), ("", "required", "annotation_only")}


@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    ("root", "properties", "lost"),
    [
        ({"anyOf": [{"$ref": "#/$defs/d"}]}, {"b": {"type": "string"}}, {"anyOf"}),
        ({"$ref": "#/$defs/d"}, {"b": {"type": "string"}}, set()),
        ({"allOf": [{"$ref": "#/$defs/d"}, True]}, {"b": {"type": "string"}}, set()),
        ({"allOf": [{"type": "string"}, {"properties": {"c": {}}, "type": "null"}]}, {"c": {}}, {"allOf"}),
        ({"anyOf": [{"minProperties": 1, "properties": {"c": {"type": "string"}}}]}, {"c": {}}, {"anyOf"}),
        ({"anyOf": [{"allOf": [{"$ref": "#/$defs/d"}]}]}, {"b": {"type": "string"}}, {"anyOf"}),
        ({"anyOf": [{"allOf": [False]}]}, None, {"anyOf"}),
        ({"anyOf": [{"allOf": [{"type": "string"}], "type": "object"}]}, None, {"anyOf"}),
        ({"anyOf": [False]}, None, {"anyOf"}),
        ({"anyOf": [{"type": "string"}]}, None, {"anyOf"}),
        ({"anyOf": [{}], "additionalProperties": False, "properties": {"c": {}}}, {"c": {}}, {"anyOf"}),
        ({"anyOf": [{"properties": {"c": {}}, "minProperties": 1}], "additionalProperties": False}, None, {"anyOf"}),
        ({"anyOf": [{}], "patternProperties": {"a": {}}}, None, {"anyOf"}),
        ({"not": {"required": ["x"]}}, None, {"not"}),
        ({"enum": [{}]}, None, {"enum"}),
        ({"const": {}}, None, {"const"}),
    ],
)
def test_a_root_without_alternatives_keeps_what_can_be_kept(
    root: dict[str, Any], properties: Any, lost: set[str]
) -> None:
    schema = {"type": "object", "$defs": {"d": {"type": "object", "properties": {"b": {"type": "string"}}}}, **root}

    made, found = _of(schema, VendorDialect(name="any", root_combinators=False))

    assert made.get("properties") == properties
    assert not {"anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"} & made.keys()
    assert {keyword for _, keyword, effect in found if effect == "widened"} == lost


@pytest.mark.req("AD-2")
def test_properties_that_only_an_alternative_declares_are_held_to_it_and_that_is_said() -> None:
    made, lost = _of(
        {
            "type": "object",
            "anyOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["a"]}, {"required": ["b"]}],
        },
        VendorDialect(name="any", root_combinators=False),
    )

    assert made["properties"] == {"a": {}}
    assert ("", "properties", "narrowed") in lost


@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    ("inner", "blocking"),
    [
        (
            {
                "anyOf": [{"properties": {"x": {"type": "string"}}, "required": ["x"]}],
                "properties": {"y": {"type": "string"}},
            },
            set(),
        ),
        (
            {"anyOf": [{"minProperties": 1, "properties": {"x": {}}}], "properties": {"y": {"type": "string"}}},
            {"anyOf"},
        ),
        (
            {
                "oneOf": [{"properties": {"x": {"type": "string"}}}],
                "anyOf": [{"required": ["y"]}],
                "properties": {"y": {"type": "string"}},
            },
            set(),
        ),
        (
            {"dependentSchemas": {"y": {"properties": {"x": {}}}}, "properties": {"y": {"type": "string"}}},
            {"dependentSchemas"},
        ),
        (
            {"if": {"required": ["y"]}, "then": {"properties": {"x": {}}}, "properties": {"y": {"type": "string"}}},
            {"then"},
        ),
        (
            {
                "allOf": [{"properties": {"x": {}}, "additionalProperties": False}],
                "properties": {"y": {"type": "string"}},
            },
            {"allOf"},
        ),
        ({"properties": {"y": False}}, set()),
        ({"properties": {"y": False}, "required": ["y"]}, set()),
        ({"properties": {"y": {"type": "string"}}, "required": ["z"]}, {"required"}),
        ({"maxProperties": 0}, set()),
        ({"unevaluatedProperties": False, "properties": {"y": {"type": "string"}}}, set()),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"patternProperties"}),
        (
            {
                "properties": {
                    "y": {"anyOf": [{"properties": {"n": {"type": "string"}}}, {"properties": {"n": {"type": "null"}}}]}
                }
            },
            {"anyOf"},
        ),
        ({"properties": {"y": {"oneOf": [{"type": "string"}], "anyOf": [{"type": "string"}]}}}, set()),
    ],
)
def test_a_closed_object_refuses_nothing_that_is_declared_without_falling_back(inner: Any, blocking: set[str]) -> None:
    made = convert_schema({**_schema(a={"type": "object", **inner}), "required": ["a"]}, STRICT)

    assert {each.keyword for each in made.report.blocking} == blocking
    chosen = first_fitting(
        {**_schema(a={"type": "object", **inner}), "required": ["a"]}, STRICT, VendorDialect(name="any")
    )
    assert (chosen.dialect is STRICT) is not bool(blocking)
    assert {each.keyword for each in chosen.refused} == blocking


@pytest.mark.req("AD-2")
def test_an_array_gets_items_unless_that_would_say_more_than_the_schema() -> None:
    dialect = VendorDialect(name="any", array_items=True)

    assert _inner({"type": "array"}, dialect) == ({"type": "array", "items": {}}, set())
    assert _inner({"type": "array", "unevaluatedItems": False}, dialect)[1] == {("unevaluatedItems", "widened")}


@pytest.mark.req("AD-2")
def test_a_report_says_what_was_lost_in_words_and_as_json() -> None:
    report = LossReport(
        (Loss("/a", "minimum", "widened", "Checked later."), Loss("", "x", "narrowed", "So.", demanded=True))
    )

    assert list(report.lines()) == [
        "`/a`: `minimum` is not kept, so that more is taken. Checked later.",
        "`/`: `x` is stricter than in the original. So.",
    ]
    assert report.to_dict() == {
        "losses": [
            {"pointer": "/a", "keyword": "minimum", "effect": "widened", "mitigation": "Checked later."},
            {"pointer": "", "keyword": "x", "effect": "narrowed", "mitigation": "So.", "demanded": True},
        ]
    }
    assert (bool(report), report.widened, report.narrowed, report.blocking) == (True, True, True, ())
    assert [each.keyword for each in report.of("narrowed")] == ["x"]
    assert not LossReport()


@pytest.mark.req("AD-2")
@pytest.mark.parametrize("dialect", [STRICT, OPEN, SMALL])
def test_references_that_grow_without_measure_are_given_up_and_said_to_be(dialect: VendorDialect) -> None:
    beside = {"minProperties": 1}
    grows = {
        f"d{level}": {
            "type": "object",
            "properties": {name: {"$ref": f"#/$defs/d{level + 1}", **beside} for name in "ab"},
        }
        for level in range(18)
    }
    schema = {**_schema(x={"$ref": "#/$defs/d0"}), "$defs": {**grows, "d18": {"type": "object"}}}

    made = convert_schema(ToolDefinition(name="t", input_schema=schema).input_schema, dialect)

    assert {each.effect for each in made.report.losses if each.keyword == "limit"} == {"narrowed", "widened"}


@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        (_schema(v={"oneOf": [{"const": str(number)} for number in range(400)]}), "oneOf"),
        ({"type": "object", "anyOf": [{"properties": {f"p{number}": {}}} for number in range(400)]}, "anyOf"),
        (_schema(v={"allOf": [{"enum": list(range(400))}, {"enum": list(range(300, 700))}]}), "allOf"),
    ],
)
def test_what_is_too_many_to_be_compared_is_given_up_and_said_to_be(schema: dict[str, Any], keyword: str) -> None:
    _, lost = _of(schema, STRICT)

    assert (keyword, "widened") in {each[1:] for each in lost}


@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    "rule",
    [
        {"dependentRequired": {"v": ["w"]}},
        {"maxProperties": 1},
        {"not": {"required": ["v"]}},
        {"oneOf": [{"required": ["v"]}, {"required": ["w"]}]},
    ],
)
def test_null_does_not_stand_for_absent_where_the_schema_takes_null_and_asks_for_presence(rule: dict[str, Any]) -> None:
    nullable = {"type": ["string", "null"]}

    asking = convert_schema({**_schema(v=nullable, w={"type": "string"}), **rule}, STRICT)
    plain = convert_schema({**_schema(v={"type": "string"}, w={"type": "string"}), **rule}, STRICT)

    assert ("required", "narrowed") in {(each.keyword, each.effect) for each in asking.report.blocking}
    assert not plain.report.blocking
