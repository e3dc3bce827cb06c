"""Definitions become function declarations that the Gemini API takes: legal, in one order, within its limits."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from google.genai import types
from inline_snapshot import snapshot

from tests.adapters.corpus import corpus
from tests.adapters.golden import differences
from toolcrib_core import CatalogError, ToolDefinition, UnknownTool
from toolcrib_core.schema.subschemas import subschemas
from toolcrib_gemini import LoadedTools, to_gemini_tools, with_loaded
from toolcrib_gemini.definitions import MAX_DECLARATIONS
from toolcrib_gemini.strict import SCHEMA

FORECAST = ToolDefinition(
    namespace="weather",
    name="forecast",
    version="1.2.0",
    description="The weather of the next days.",
    input_schema={
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1},
            "unit": {"const": "celsius"},
            "place": {"oneOf": [{"$ref": "#/$defs/Place"}, {"type": "string"}]},
        },
        "required": ["city"],
        "$defs": {"Place": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}}},
    },
    output_schema={"type": "array", "items": {"$ref": "#/$defs/Day"}, "$defs": {"Day": {"type": "number"}}},
)


def tool(name: str) -> ToolDefinition:
    return ToolDefinition(namespace="t", name=name, version="1.0.0", description=f"Do {name}.")


def declarations(made: Any) -> list[dict[str, Any]]:
    return [each for one in made.tools for each in one["function_declarations"]]


@pytest.mark.req("AD-1")
@pytest.mark.fault("B11")
def test_a_declaration_says_what_the_api_knows_and_reports_the_rest() -> None:
    made = to_gemini_tools([FORECAST])

    assert made.tools == snapshot(
        [
            {
                "function_declarations": [
                    {
                        "name": "weather__forecast",
                        "description": "The weather of the next days.",
                        "parameters_json_schema": {
                            "properties": {
                                "city": {"type": "string", "description": "(minLength: 1)"},
                                "unit": {"enum": ["celsius"]},
                                "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "string"}]},
                            },
                            "required": ["city"],
                            "type": "object",
                            "$defs": {
                                "Place": {
                                    "type": "object",
                                    "description": '(patternProperties: {"^x-":{"type":"string"}})',
                                }
                            },
                        },
                        "response_json_schema": {
                            "items": {"$ref": "#/$defs/Day"},
                            "type": "array",
                            "$defs": {"Day": {"type": "number"}},
                        },
                    }
                ]
            }
        ]
    )
    assert [each[:3] for each in made.losses[FORECAST.id].losses] == snapshot(
        [("/properties/city", "minLength", "widened"), ("/$defs/Place", "patternProperties", "widened")]
    )


@pytest.mark.req("AD-7")
@pytest.mark.fault("B11")
def test_every_tool_of_the_corpus_is_one_that_the_sdk_and_the_api_know() -> None:
    tools = corpus()

    made = {each.id: declarations(to_gemini_tools([each]))[0] for each in tools}

    assert differences("gemini", made, tools) == []
    assert len(made) == len(tools) >= 150
    for each in made.values():
        assert types.FunctionDeclaration.model_validate(each).model_dump(exclude_none=True) == each
        for schema in (each["parameters_json_schema"], each.get("response_json_schema", {})):
            # It forbids what it does not know.
            types.JSONSchema.model_validate(schema)
            assert unknown_keywords(schema) == []
        assert each["parameters_json_schema"]["type"] == "object"


@pytest.mark.req("AD-10")
def test_the_bytes_do_not_depend_on_the_order_of_the_definitions() -> None:
    some = list(corpus()[:MAX_DECLARATIONS])
    shuffled = random.Random(7).sample(some, len(some))

    made, again = to_gemini_tools(some), to_gemini_tools(shuffled)

    assert json.dumps(made.tools) == json.dumps(again.tools)
    assert [each["name"] for each in declarations(made)] == sorted(each["name"] for each in declarations(made))


@pytest.mark.req("AD-5")
def test_more_tools_than_the_api_takes_are_refused_with_the_way_out() -> None:
    many = [tool(f"t{at}") for at in range(MAX_DECLARATIONS + 1)]

    with pytest.raises(CatalogError, match="takes 512 function declarations, and there are 513") as refused:
        to_gemini_tools(many)

    assert "`with_loaded`" in str(refused.value.hint)
    assert len(to_gemini_tools(many, loaded=many[:3]).declared) == 3


@pytest.mark.req("AD-5")
def test_what_is_loaded_later_stands_behind_what_was_declared_before() -> None:
    tools = [tool(name) for name in ("a", "b", "search", "z")]
    before = to_gemini_tools(tools, loaded=["t:search@1.0.0", tools[3]])

    after = with_loaded(before, ["t:b@1.0.0", "t:a@1.0.0", "t:z@1.0.0"])

    assert [each["name"] for each in declarations(before)] == ["t__search", "t__z"]
    assert [each["name"] for each in declarations(after)] == ["t__search", "t__z", "t__a", "t__b"]
    earlier = json.dumps(declarations(before))
    assert json.dumps(declarations(after)).startswith(earlier.removesuffix("]"))
    assert with_loaded(after, tools) == after
    with pytest.raises(UnknownTool):
        with_loaded(before, ["t:nothing@1.0.0"])


@pytest.mark.req("AD-5")
def test_a_search_tells_the_names_and_loads_what_it_found() -> None:
    from toolcrib_core import ToolCall

    tools = to_gemini_tools([tool("a"), tool("search")], loaded=["t:search@1.0.0"])
    found = LoadedTools.found(ToolCall("t:search@1.0.0", id="c1"), ["t:a@1.0.0"], tools.names)

    assert with_loaded(tools, found).declared == ("t:search@1.0.0", "t:a@1.0.0")
    assert found.value == {"tools": [{"name": "t__a", "description": "Do a."}]}


@pytest.mark.req("AD-1")
def test_a_response_schema_is_left_out_where_it_is_not_wanted_or_cannot_be_carried_over() -> None:
    recursive = FORECAST.replace(
        output_schema={"type": "object", "properties": {"inner": {"$ref": "#"}, "n": {"type": "integer"}}}
    )

    (plain,) = declarations(to_gemini_tools([FORECAST], responses=False))
    (without,) = declarations(to_gemini_tools([recursive]))

    assert "response_json_schema" not in plain
    assert "response_json_schema" not in without
    assert any(each.keyword == "outputSchema" for each in to_gemini_tools([recursive]).losses[recursive.id].losses)


@pytest.mark.req("AD-1")
def test_no_tools_are_no_tools() -> None:
    assert to_gemini_tools([]).tools == []


def unknown_keywords(schema: Any) -> list[str]:
    if not isinstance(schema, dict):
        return []
    found = [each for each in schema if each not in (SCHEMA.keywords or ())]
    return found + [each for _, inner in subschemas(schema) for each in unknown_keywords(inner)]
