"""Which schemas may be used: valid, closed in themselves, and bounded in what they cost."""

from __future__ import annotations

import itertools
import json
import socket
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from json_strategies import DIALECTS, URIS

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import InvalidSchema, SchemaTooComplex
from toolcrib_core.json_values import freeze
from toolcrib_core.schema.check import check_schema, upgrade_schema
from toolcrib_core.schema.compiled import compile_schema
from toolcrib_core.schema.cost import MAX_APPLIED_IN_PLACE, measure_work
from toolcrib_core.schema.patterns import MAX_PATTERN_LENGTH
from toolcrib_core.schema.refs import SchemaIndex

REPEATED = {"$ref": "#"}


def pointers(refusal: pytest.ExceptionInfo[InvalidSchema] | pytest.ExceptionInfo[SchemaTooComplex]) -> list[str]:
    violations: Any = refusal.value.details["violations"]
    return [each["pointer"] for each in violations]


def doubling(levels: int, keyword: str = "anyOf") -> dict[str, Any]:
    """A schema whose every level refers twice to the next."""
    definitions: dict[str, Any] = {
        f"d{at}": {keyword: [{"$ref": f"#/$defs/d{at + 1}"}, {"$ref": f"#/$defs/d{at + 1}"}]} for at in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "string"}}}


def nested_not(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.req("AR-6.4")
@pytest.mark.fault("B1")
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize(
    "reference",
    [
        "http://example.com/schema.json",
        "https://example.com/schema.json#/a",
        "ftp://example.com/schema.json",
        "file:///etc/passwd",
        "//example.com/schema.json",
        "/schema.json",
        "schema.json",
        "../schema.json#/$defs/a",
        "urn:example:other",
        "https://json-schema.org/draft/2020-12/schema",
        "http://[",
    ],
)
def test_a_reference_out_of_the_schema_is_refused(keyword: str, reference: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        check_schema({"type": "object", "properties": {"a": {keyword: reference}}})

    assert pointers(caught) == [f"/properties/a/{keyword}"]


@pytest.mark.req("AR-6.4")
@pytest.mark.fault("B1")
@pytest.mark.enable_socket
def test_a_reference_to_a_server_that_listens_is_not_followed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        for schema in ({"$ref": url}, {"$schema": url}, {"$id": url, "$ref": f"{url}.other"}):
            with pytest.raises(InvalidSchema):
                check_schema(schema)

        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.req("AR-6.4")
@pytest.mark.fault("B1")
def test_a_reference_to_a_file_that_exists_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps({"$ref": "#/a", "secret": "canary"}), encoding="utf-8")

    with pytest.raises(InvalidSchema) as caught:
        check_schema({"$ref": file.as_uri()})

    assert "canary" not in str(caught.value.to_dict())
    assert "leads out of the schema" in caught.value.message


@pytest.mark.fault("B2")
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}},
        {"$defs": {"a": {"not": {"if": {"$ref": "#/$defs/a"}}}}},
        {"dependentSchemas": {"x": {"$ref": "#"}}},
        {"$dynamicAnchor": "n", "oneOf": [{"$dynamicRef": "#n"}]},
        {"x": {"$ref": "#/y"}, "y": {"$ref": "#/x"}, "properties": {"a": {"$ref": "#/x"}}},
        {"$defs": {f"d{at}": {"$ref": f"#/$defs/d{(at + 1) % 300}"} for at in range(300)}},
    ],
)
def test_a_schema_that_applies_itself_without_end_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchema, match="without end") as caught:
        check_schema(schema)

    assert caught.value.details["loop"]


@pytest.mark.fault("B2")
@pytest.mark.parametrize(
    "reference", ["#/$defs/nope", "#nope", "#/$defs/a/properties/x", "#/$defs/b", "#/$defs/l/9", "#/$defs/l/x"]
)
def test_a_reference_to_nothing_is_refused(reference: str) -> None:
    with pytest.raises(InvalidSchema, match="leads to nothing") as caught:
        check_schema({"items": {"$ref": reference}, "$defs": {"a": {}, "l": {"allOf": [{}]}}})

    assert pointers(caught) == ["/items/$ref"]


@pytest.mark.req("AR-6.4")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"child": {"$ref": "#"}}},
        {"items": {"$ref": "#/$defs/a~1b%20c"}, "$defs": {"a/b c": True}},
        {"items": {"$ref": "#here"}, "$defs": {"x": {"$anchor": "here"}}},
        {"definitions": {"a": {}}, "items": {"$ref": "#/definitions/a"}},
        {"components": {"a": {"items": {"$ref": "#/components/a"}}}, "items": {"$ref": "#/components/a"}},
        {
            "$id": "http://example.com/root",
            "items": {"$ref": "other#/$defs/n"},
            "$defs": {"o": {"$id": "other", "$defs": {"n": {}}}},
        },
        {"$id": "urn:example:tree", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {}}},
        {"prefixItems": [{}], "items": {"$ref": "#/prefixItems/0"}},
    ],
)
def test_a_reference_into_the_schema_is_followed(schema: dict[str, Any]) -> None:
    check_schema(schema)


@pytest.mark.fault("B3")
@pytest.mark.parametrize("pattern", ["a(?=b)", "(?!a)b", "(?<=a)b", r"(a)\1", "(", "a{1000}{1000}{1000}"])
@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_a_pattern_without_linear_time_is_refused(pattern: str, keyword: str) -> None:
    schema = {"items": {keyword: pattern if keyword == "pattern" else {pattern: {}}}}

    with pytest.raises(InvalidSchema, match="linear time") as caught:
        check_schema(schema)

    assert pointers(caught) == [f"/items/{keyword}"]


@pytest.mark.fault("B3")
def test_a_pattern_of_64_kilobytes_is_refused() -> None:
    check_schema({"pattern": "a" * MAX_PATTERN_LENGTH})

    with pytest.raises(InvalidSchema, match="65,536"):
        check_schema({"pattern": "a" * 65_536})


@pytest.mark.fault("B4")
@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "oneOf"])
def test_alternatives_that_double_twenty_times_are_too_complex(keyword: str) -> None:
    with pytest.raises(SchemaTooComplex, match="10,000 schemas to one value"):
        check_schema(doubling(20, keyword))


@pytest.mark.fault("B4")
@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{} for _ in range(MAX_APPLIED_IN_PLACE + 1)]},
        {"properties": {f"p{at}": {"type": "string"} for at in range(100_000)}},
        nested_not(1_000),
        nested_not(100_000),
        {"description": "x" * (1024 * 1024)},
        {
            "$ref": "#/$defs/d0",
            "$defs": {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(3_000)} | {"d3000": {}},
        },
    ],
    ids=["many in place", "100,000 subschemas", "depth 1,000", "depth 100,000", "1 MB", "long chain"],
)
def test_a_schema_over_a_bound_is_too_complex(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaTooComplex) as caught:
        check_schema(schema)

    assert len(pointers(caught)) == 1


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "objekt"}, "/type"),
        ({"properties": {"a": {"minLength": -1}}}, "/properties/a/minLength"),
        ({"multipleOf": 0}, "/multipleOf"),
        ({"items": [{}]}, "/items"),
        ({"required": "a"}, "/required"),
        ({"properties": {"a": 1}}, "/properties/a"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "required": "a"}, "/required"),
        ({"$schema": "http://example.com/own"}, "/$schema"),
        ({"$schema": None}, "/$schema"),
        ({"const": float("nan")}, "/const"),
        ({"default": b"x"}, "/default"),
        ({"$defs": {"a": {"$id": "a", "$schema": "http://json-schema.org/draft-07/schema#"}}}, "/$defs/a/$schema"),
    ],
)
def test_an_invalid_schema_is_refused_with_the_place(schema: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        check_schema(schema)

    assert pointer in pointers(caught)
    assert caught.value.hint


def test_every_fault_of_a_schema_is_told_at_once() -> None:
    with pytest.raises(InvalidSchema) as form:
        check_schema({"type": "objekt", "required": "a", "properties": {"x": {"maxItems": "many"}}})
    with pytest.raises(InvalidSchema) as content:
        check_schema({"pattern": "(?=a)", "items": {"$ref": "#/nope"}, "not": {"$ref": "http://example.com"}})

    assert pointers(form) == ["/properties/x/maxItems", "/required", "/type"]
    assert sorted(pointers(content)) == ["/items/$ref", "/not/$ref", "/pattern"]


@pytest.mark.fault("B12")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"$ref": {"type": "string"}, "pattern": {"const": "(?=a)"}, "$id": {"type": "null"}}},
        {"properties": {"__proto__": {}, "constructor": {}, "__class__": {}, "allOf": {}, "items": {}}},
        {"enum": [{"$ref": "http://example.com"}], "default": {"$ref": "#/no"}, "examples": [{"pattern": "("}]},
        {"const": {"$ref": "file:///etc/passwd", "pattern": "(?!x)"}},
        {"x-own": {"$ref": "http://example.com"}},
        {"required": ["__proto__", "$ref"]},
    ],
)
def test_names_and_data_are_not_keywords(schema: dict[str, Any]) -> None:
    check_schema(schema)


@pytest.mark.parametrize(
    ("schema", "profile"),
    [
        ({"type": "string"}, (1, 0)),
        ({"anyOf": [{}, {"not": {}}]}, (4, 0)),
        ({"properties": {"a": {"items": {}}}, "required": ["a"] * 1}, (2, 1, 1, 0)),
        ({"properties": {"child": REPEATED}}, (1, 2)),
        ({"properties": {"a": REPEATED, "b": REPEATED}, "additionalProperties": REPEATED}, (1, 2)),
        ({"anyOf": [{"properties": {"a": REPEATED}}, {"properties": {"b": REPEATED}}]}, (3, 4)),
        ({"items": REPEATED, "prefixItems": [REPEATED]}, (1, 2)),
    ],
)
def test_ordinary_recursion_applies_no_more_schemas_deeper_down(
    schema: dict[str, Any], profile: tuple[int, ...]
) -> None:
    assert measure_work(SchemaIndex(freeze(schema))).steps == profile


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]},
        {"properties": {"a": {"$ref": "#"}}, "patternProperties": {"": {"$ref": "#"}}},
        {"items": {"$ref": "#"}, "contains": {"$ref": "#"}},
        {"$dynamicAnchor": "n", "allOf": [{"items": {"$dynamicRef": "#n"}}, {"items": {"$dynamicRef": "#n"}}]},
    ],
)
def test_recursion_in_two_branches_at_once_doubles_with_every_level(schema: dict[str, Any]) -> None:
    profile = measure_work(SchemaIndex(freeze(schema))).steps

    assert all(deeper >= 2 * above - 2 for above, deeper in pairwise(profile[1:20]))
    assert profile[-1] > 10**9


@pytest.mark.req("AR-6.4")
def test_the_schemas_of_the_catalogues_are_far_below_the_bounds(shared_catalog: list[dict[str, Any]]) -> None:
    refused: list[str] = []
    most = 0
    for row in shared_catalog:
        for schema in filter(None, (row["tool"].get("inputSchema"), row["tool"].get("outputSchema"))):
            try:
                check_schema(schema)
            except InvalidSchema as refusal:
                refused.append(refusal.message)
            else:
                most = max(most, *measure_work(SchemaIndex(schema)).steps)

    assert len(refused) <= 3
    assert all("linear time" in each for each in refused)
    assert most < 20


DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019 = (URIS[each] for each in DIALECTS[:-1])

INVALID_IN_ITS_DIALECT = [
    pytest.param({"$schema": DRAFT_7, "exclusiveMinimum": True, "minimum": 1}, "/exclusiveMinimum", id="draft-07 flag"),
    pytest.param({"$schema": DRAFT_6, "exclusiveMaximum": False}, "/exclusiveMaximum", id="draft-06 flag"),
    pytest.param({"$schema": DRAFT_4, "required": []}, "/required", id="draft-04 empty required"),
    pytest.param({"$schema": DRAFT_4, "properties": {"a": {"enum": []}}}, "/properties/a/enum", id="draft-04 no value"),
    pytest.param({"$schema": DRAFT_4, "items": [{"enum": [1, 1.0]}]}, "/items/0/enum", id="draft-04 one value twice"),
    pytest.param({"$schema": DRAFT_4, "exclusiveMinimum": 3}, "/exclusiveMinimum", id="draft-04 number"),
    pytest.param({"$schema": DRAFT_4, "exclusiveMinimum": True}, "", id="draft-04 flag without its bound"),
    pytest.param({"$schema": DRAFT_7, "dependencies": {"a": "b"}}, "/dependencies/a", id="draft-07 dependency"),
    pytest.param({"$schema": DRAFT_7, "definitions": {"a": {"type": "text"}}}, "/definitions/a/type", id="in a part"),
    pytest.param({"$schema": DRAFT_2019, "$recursiveAnchor": "yes"}, "/$recursiveAnchor", id="2019-09 anchor"),
]


@pytest.mark.req("CT-2")
@pytest.mark.parametrize(("schema", "pointer"), INVALID_IN_ITS_DIALECT)
def test_a_schema_is_judged_by_its_own_dialect_before_it_is_upgraded(schema: dict[str, Any], pointer: str) -> None:
    for use in (
        check_schema,
        upgrade_schema,
        lambda wrong: ToolDefinition(name="a", input_schema={"type": "object", **wrong}),
        lambda wrong: ToolDefinition(name="a", output_schema=wrong),
        lambda wrong: compile_schema({"type": "object", **wrong}),
    ):
        with pytest.raises(InvalidSchema) as caught:
            use(schema)
        assert pointer in pointers(caught)


KEYWORDS = """
    type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern minItems
    maxItems uniqueItems items additionalItems prefixItems contains minContains maxContains minProperties maxProperties
    required properties patternProperties additionalProperties propertyNames dependencies dependentRequired
    dependentSchemas definitions $defs allOf anyOf oneOf not if then else unevaluatedItems unevaluatedProperties title
    description examples readOnly deprecated contentEncoding contentSchema
""".split()
VALUES = (True, 0, -1, 1.5, "text", None, [], ["a"], ["a", "a"], [{}], {}, {"a": 5}, {"a": []}, {"a": {"type": ""}})


@pytest.mark.req("CT-2")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_value_that_a_dialect_forbids_for_a_keyword_is_refused_in_that_dialect_only(dialect: str) -> None:
    reference = jsonschema.validators.validator_for({"$schema": URIS[dialect]})
    judge = reference(reference.META_SCHEMA)

    def is_refused(schema: dict[str, Any]) -> bool:
        try:
            upgrade_schema(schema)
        except InvalidSchema:
            return True
        return False

    schemas = [
        {"$schema": URIS[dialect], "properties": {"p": {keyword: value}}}
        for keyword, value in itertools.product(KEYWORDS, VALUES)
    ]

    assert [each for each in schemas if is_refused(each)] == [each for each in schemas if not judge.is_valid(each)]


@pytest.mark.req("CT-2")
@pytest.mark.parametrize(
    "inner", ["http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft/2020-12/schema"]
)
@pytest.mark.parametrize("keyword", ["items", "not", "definitions"])
def test_a_part_of_an_older_schema_in_another_dialect_is_refused(inner: str, keyword: str) -> None:
    part = {"$schema": inner, "type": "array", "prefixItems": [{"type": "null"}]}
    schema = {"$schema": DRAFT_7, keyword: {"a": part} if keyword == "definitions" else part}

    with pytest.raises(InvalidSchema, match="same dialect"):
        check_schema(schema)


@pytest.mark.req("CT-2")
def test_a_part_that_repeats_the_older_dialect_of_the_whole_is_taken() -> None:
    check_schema(
        {"$schema": DRAFT_7, "items": {"$schema": DRAFT_7[:-1], "type": "null"}, "const": {"$schema": DRAFT_4}}
    )


@pytest.mark.req("CT-2")
def test_an_upgraded_schema_means_what_it_meant() -> None:
    upgraded = upgrade_schema({"$schema": DRAFT_4, "minimum": 1, "exclusiveMinimum": True})

    assert upgraded == {"$schema": "https://json-schema.org/draft/2020-12/schema", "exclusiveMinimum": 1}
