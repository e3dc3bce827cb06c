"""Choices of the Gemini API, and tools that come from it."""

from __future__ import annotations

from typing import Any

import pytest
from google.genai import types

from tests.adapters.corpus import corpus
from toolcrib_core import InvalidDefinition, ToolDefinition, UnknownTool
from toolcrib_gemini import from_gemini_tools, to_gemini_choice, to_gemini_tools

READ, WRITE = (ToolDefinition(namespace="fs", name=name, version="1.0.0") for name in ("read", "write"))
TOOLS = to_gemini_tools([READ, WRITE])


@pytest.mark.req("AD-6")
@pytest.mark.parametrize(
    ("choice", "allowed", "wanted"),
    [
        ("auto", None, {"mode": "AUTO"}),
        ("any", None, {"mode": "ANY"}),
        ("none", [READ], {"mode": "NONE"}),
        ("validated", None, {"mode": "VALIDATED"}),
        (READ, None, {"mode": "ANY", "allowed_function_names": ["fs__read"]}),
        ("fs:read@1.0.0", None, {"mode": "ANY", "allowed_function_names": ["fs__read"]}),
        ("any", [WRITE, READ], {"mode": "ANY", "allowed_function_names": ["fs__read", "fs__write"]}),
        ("auto", ["fs:read@1.0.0"], {"mode": "VALIDATED", "allowed_function_names": ["fs__read"]}),
        ("any", [], {"mode": "NONE"}),
    ],
)
def test_a_choice_is_written_as_the_api_wants_it(choice: Any, allowed: Any, wanted: dict[str, Any]) -> None:
    made = to_gemini_choice(choice, TOOLS, allowed=allowed)

    assert made == {"function_calling_config": wanted}
    assert types.ToolConfig.model_validate(made).model_dump(mode="json", exclude_none=True) == made


@pytest.mark.req("AD-6")
def test_a_tool_that_is_not_there_cannot_be_chosen() -> None:
    with pytest.raises(UnknownTool, match="Did you mean"):
        to_gemini_choice("fs:raed@1.0.0", TOOLS)


@pytest.mark.req("AD-8")
@pytest.mark.parametrize("as_objects", [False, True])
def test_what_was_exported_comes_back_by_name_schema_and_description(*, as_objects: bool) -> None:
    originals = [each for each in corpus()[:300] if "___" not in to_gemini_tools([each]).names.wire_name(each)]
    exported = to_gemini_tools(originals).tools

    imported = from_gemini_tools([types.Tool.model_validate(each) for each in exported] if as_objects else exported)

    assert to_gemini_tools(imported.definitions).tools == exported
    assert imported.unsaid == ()


SCHEMA = {
    "type": "OBJECT",
    "properties": {
        "when": {"type": "STRING", "nullable": True, "enum": ["now", "later"], "example": "now"},
        "level": {"type": "INTEGER", "enum": ["1", "2"], "format": "int32"},
        "tags": {"type": "ARRAY", "items": {"type": "STRING", "max_length": "9"}, "min_items": 1},
        "rest": {"any_of": [{"type": "NUMBER"}, {"type": "BOOLEAN"}], "additional_properties": {"type": "STRING"}},
        "free": {"type": "OBJECT", "additionalProperties": False},
    },
    "property_ordering": ["when", "level"],
    "required": ["when"],
}


@pytest.mark.req("AD-8")
@pytest.mark.parametrize("as_object", [False, True])
def test_the_schemas_of_the_api_become_json_schemas(*, as_object: bool) -> None:
    declaration: Any = {"name": "plan", "parameters": SCHEMA, "response": {"type": "STRING"}}
    if as_object:
        declaration = types.FunctionDeclaration.model_validate(declaration)

    (made,) = from_gemini_tools([{"functionDeclarations": [declaration]}], namespace="mine").definitions

    assert made.input_schema["properties"] == {
        "when": {"type": ["string", "null"], "enum": ["now", "later", None], "examples": ["now"]},
        "level": {"type": "integer", "enum": [1, 2], "format": "int32"},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": 1},
        "rest": {"anyOf": [{"type": "number"}, {"type": "boolean"}], "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "additionalProperties": False},
    }
    assert made.input_schema["required"] == ["when"]
    assert made.output_schema == {"type": "string"}
    assert made.namespace == "mine"


@pytest.mark.req("AD-8")
def test_a_bare_declaration_is_taken_and_what_the_api_runs_itself_is_named() -> None:
    imported = from_gemini_tools([types.Tool(google_search=types.GoogleSearch()), {"name": "a__b"}])

    assert [(each.namespace, each.name) for each in imported.definitions] == [("a", "b")]
    assert imported.unsaid == ("`google_search` is a tool that the API runs itself.",)


@pytest.mark.req("AD-8")
def test_what_is_no_tool_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="needs a name"):
        from_gemini_tools([{"name": 3}])
