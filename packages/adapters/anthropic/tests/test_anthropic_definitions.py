"""Definitions become tools that the Anthropic API takes: legal, in one order, with every option of its own."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from anthropic.types import ToolUnionParam
from inline_snapshot import snapshot

from tests.adapters.corpus import corpus
from tests.adapters.golden import differences
from tests.adapters.sdk_types import as_sdk_reads
from toolcrib_anthropic import to_anthropic_tools
from toolcrib_anthropic.strict import MAX_OPTIONAL, MAX_STRICT_TOOLS, MAX_UNIONS, STRICT
from toolcrib_core import CatalogError, ToolDefinition, UnknownTool, UnsupportedTool
from toolcrib_core.schema.subschemas import subschemas


def tool(name: str, **properties: Any) -> ToolDefinition:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return ToolDefinition(namespace="test", name=name, version="1.0.0", input_schema=schema)


FORECAST = ToolDefinition(
    namespace="weather",
    name="forecast",
    version="1.2.0",
    description="The weather of the next days.",
    input_schema={
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1},
            "place": {"$ref": "#/$defs/Place"},
            "days": {"type": "integer", "minimum": 1, "default": 3},
        },
        "required": ["city"],
        "additionalProperties": False,
        "$defs": {"Place": {"type": "object", "properties": {"inside": {"$ref": "#/$defs/Place"}}}},
    },
    input_examples=({"city": "Oslo"}, {"city": "Oslo", "days": 0}),
)


@pytest.mark.req("AD-1")
def test_a_tool_keeps_its_schema_with_definitions_and_its_fitting_examples() -> None:
    made = to_anthropic_tools([FORECAST])

    assert made.tools == snapshot(
        [
            {
                "name": "weather__forecast",
                "description": "The weather of the next days.",
                "input_schema": {
                    "$defs": {"Place": {"properties": {"inside": {"$ref": "#/$defs/Place"}}, "type": "object"}},
                    "additionalProperties": False,
                    "properties": {
                        "city": {"minLength": 1, "type": "string"},
                        "place": {"$ref": "#/$defs/Place"},
                        "days": {"default": 3, "minimum": 1, "type": "integer"},
                    },
                    "required": ["city"],
                    "type": "object",
                },
                "input_examples": [{"city": "Oslo"}],
            }
        ]
    )
    assert [each.keyword for each in made.losses[FORECAST.id].losses] == ["inputExamples"]


@pytest.mark.req("AD-1")
def test_every_option_of_the_api_is_written_in_its_own_words() -> None:
    search = tool("search", query={"type": "string"})

    made = to_anthropic_tools(
        [tool("read"), search],
        strict=True,
        loaded=[search],
        cache="1h",
        allowed_callers={"test:read@1.0.0": ["code_execution_20260521"]},
    )

    read, searching = made.tools
    assert read["defer_loading"] is True
    assert read["allowed_callers"] == ["code_execution_20260521"]
    assert "strict" not in read
    assert [each.keyword for each in made.not_strict["test:read@1.0.0"]] == ["allowed_callers"]
    assert searching["strict"] is True
    assert searching["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert [as_sdk_reads(ToolUnionParam, each) for each in made.tools] == made.tools


@pytest.mark.req("AD-2")
def test_a_strict_schema_is_really_closed_and_says_what_it_left_out() -> None:
    flat = FORECAST.replace(
        input_schema={
            "type": "object",
            "properties": {
                "city": {"type": ["string", "null"], "minLength": 1},
                "kind": {"oneOf": [{"const": "day"}, {"const": "week"}]},
                "near": {"type": "object", "properties": {"km": {"type": "number", "maximum": 9}}, "required": ["km"]},
            },
            "required": ["city"],
        }
    )

    made = to_anthropic_tools([flat], strict=True, examples=False)

    assert made.tools[0]["strict"] is True
    assert made.tools[0]["input_schema"] == snapshot(
        {
            "additionalProperties": False,
            "properties": {
                "city": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "(minLength: 1)"},
                "kind": {"anyOf": [{"const": "day", "type": "string"}, {"const": "week", "type": "string"}]},
                "near": {
                    "additionalProperties": False,
                    "properties": {"km": {"type": "number", "description": "(maximum: 9)"}},
                    "required": ["km"],
                    "type": "object",
                },
            },
            "required": ["city"],
            "type": "object",
        }
    )
    assert [each[:3] for each in made.losses[flat.id].losses] == [
        ("", "additionalProperties", "narrowed"),
        ("/properties/city", "minLength", "widened"),
        ("/properties/near", "additionalProperties", "narrowed"),
        ("/properties/near/properties/km", "maximum", "widened"),
    ]


@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object", "additionalProperties": {"type": "string"}}, id="a map"),
        pytest.param({"type": "object", "patternProperties": {"^x-": {}}}, id="named by a pattern"),
        pytest.param({"type": "object"}, id="any object"),
    ],
)
def test_a_schema_that_strict_mode_would_narrow_stays_as_it_is_and_says_why(schema: dict[str, Any]) -> None:
    free = tool("free", labels=schema)

    made = to_anthropic_tools([free], strict=True)

    assert "strict" not in made.tools[0]
    assert made.tools[0]["input_schema"]["properties"]["labels"] == schema
    assert {each.effect for each in made.not_strict[free.id]} == {"narrowed"}


@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    ("tools", "fit"),
    [
        pytest.param([tool(f"t{at:02}", a={"type": "null"}) for at in range(24)], MAX_STRICT_TOOLS, id="tools"),
        pytest.param(
            [tool(f"t{at:02}", **{f"p{number}": {"type": "null"} for number in range(10)}) for at in range(9)],
            MAX_OPTIONAL // 10,
            id="optional properties",
        ),
        pytest.param(
            [tool(f"t{at:02}", a={"anyOf": [{"type": ["string", "null"]}, {"type": "boolean"}]}) for at in range(19)],
            MAX_UNIONS // 2,
            id="alternatives",
        ),
    ],
)
def test_one_request_is_strict_only_as_far_as_the_api_allows(tools: list[ToolDefinition], fit: int) -> None:
    made = to_anthropic_tools(reversed(tools), strict=True)

    strict = [each["name"] for each in made.tools if each.get("strict")]
    assert strict == [f"test__{each.name}" for each in tools[:fit]]
    assert len(made.not_strict) == len(tools) - fit
    assert {each.keyword for losses in made.not_strict.values() for each in losses} == {"limit"}


@pytest.mark.req("AD-7")
@pytest.mark.fault("B11")
@pytest.mark.parametrize("strict", [False, True])
def test_every_tool_of_the_corpus_is_one_that_the_sdk_and_the_api_know(*, strict: bool) -> None:
    tools = corpus()

    made = {each.id: to_anthropic_tools([each], strict=strict).tools[0] for each in tools}

    assert differences("anthropic_strict" if strict else "anthropic", made, tools) == []
    assert len(made) == len(tools) >= 150
    for each in made.values():
        assert as_sdk_reads(ToolUnionParam, each) == each
        assert api_faults(each["input_schema"], strict=each.get("strict", False)) == []


@pytest.mark.req("AD-10")
@pytest.mark.parametrize("strict", [False, True])
def test_the_bytes_do_not_depend_on_the_order_of_the_definitions(*, strict: bool) -> None:
    shuffled = list(corpus())
    random.Random(7).shuffle(shuffled)

    made = to_anthropic_tools(corpus(), strict=strict, cache="5m")
    again = to_anthropic_tools(shuffled, strict=strict, cache="5m")

    assert json.dumps(made.tools) == json.dumps(again.tools)
    assert made.losses == again.losses
    assert [each["name"] for each in made.tools] == sorted(each["name"] for each in made.tools)


@pytest.mark.req("AD-5")
def test_the_mark_of_the_cache_stands_on_a_tool_that_is_loaded() -> None:
    made = to_anthropic_tools([tool("a"), tool("b"), tool("z")], loaded=["test:a@1.0.0"], search="regex", cache="5m")

    assert [each.get("cache_control") is not None for each in made.tools] == [False, False, False, True]
    assert made.tools[-1]["type"] == "tool_search_tool_regex_20251119"
    assert [as_sdk_reads(ToolUnionParam, each) for each in made.tools] == made.tools


@pytest.mark.req("AD-5")
def test_tools_that_could_never_be_found_are_refused() -> None:
    with pytest.raises(CatalogError, match="could never find one"):
        to_anthropic_tools([tool("a")], loaded=[])
    with pytest.raises(UnknownTool):
        to_anthropic_tools([tool("a")], loaded=["test:b@1.0.0"])
    assert to_anthropic_tools([], loaded=[]).tools == []


@pytest.mark.req("AD-7")
def test_a_parameter_that_the_api_refuses_is_named() -> None:
    with pytest.raises(UnsupportedTool, match=r"Anthropic refuses 1 parameter of `test:a@1.0.0` for its name: `größe`"):
        to_anthropic_tools([tool("a", größe={"type": "integer"}, ok={})])


@pytest.mark.req("AD-1")
def test_a_deprecated_tool_says_so_and_a_tool_without_description_shows_its_title() -> None:
    old = tool("old").replace(title="Old one", lifecycle={"deprecated": True, "replaced_by": "test:new"})

    assert to_anthropic_tools([old]).tools[0]["description"] == "Deprecated: use `test:new` instead. Old one"


def api_faults(schema: Any, *, strict: bool, where: str = "") -> list[str]:
    """What the API would refuse, as its documentation says."""
    if not isinstance(schema, dict):
        return [f"{where}: not an object"] if strict else []
    faults = [] if where else [each for each in ("anyOf", "oneOf", "allOf") if each in schema]
    if not where and schema.get("type") != "object":
        faults.append("the root is no object")
    if strict:
        faults += [f"{where}: {each}" for each in schema if each not in (STRICT.keywords or ())]
        if (
            not isinstance(schema.get("type", ""), str)
            or not {"type", "enum", "const", "anyOf", "$ref"} & schema.keys()
        ):
            faults.append(f"{where}: type")
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            faults.append(f"{where}: open")
        if schema.get("minItems", 0) > 1 or schema.get("format", "date") not in (STRICT.formats or ()):
            faults.append(f"{where}: minItems or format")
        if "$ref" in schema and len(schema) > 1:
            faults.append(f"{where}: beside $ref")
    for keys, inner in subschemas(schema):
        if not strict or keys != ("additionalProperties",):
            faults += api_faults(inner, strict=strict, where=f"{where}/{'/'.join(map(str, keys))}")
    return faults
