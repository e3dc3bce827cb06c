"""Tools of a request back as definitions, equal wherever the format can carry it."""

from __future__ import annotations

import pytest
from openai.types.responses import FunctionTool

from tests.adapters.corpus import corpus
from toolcrib_core import InvalidDefinition, ToolDefinition
from toolcrib_core.errors import CatalogError
from toolcrib_openai import from_openai_tools, to_json_schema, to_openai_tools

PLAIN_TOOL = ToolDefinition(
    namespace="weather",
    name="forecast",
    description="The weather.",
    input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    output_schema={"type": "object"},
)


@pytest.mark.req("AD-8")
def test_a_tool_comes_back_equal_from_the_responses_api() -> None:
    assert from_openai_tools(to_openai_tools([PLAIN_TOOL]).tools) == ((PLAIN_TOOL,), ())
    assert from_openai_tools(to_openai_tools([PLAIN_TOOL], namespaces=True).tools) == ((PLAIN_TOOL,), ())


@pytest.mark.req("AD-8")
def test_a_tool_comes_back_from_chat_completions_without_its_output_schema() -> None:
    imported = from_openai_tools(to_openai_tools([PLAIN_TOOL], api="chat").tools)

    assert imported.definitions == (PLAIN_TOOL.replace(output_schema=None),)


@pytest.mark.req("AD-8")
def test_objects_of_the_sdk_are_read_like_dicts() -> None:
    tool = FunctionTool.model_validate(to_openai_tools([PLAIN_TOOL]).tools[0])

    assert from_openai_tools([tool]).definitions == (PLAIN_TOOL,)


@pytest.mark.req("AD-8")
def test_every_tool_of_the_corpus_comes_back_with_what_the_format_can_carry() -> None:
    made = to_openai_tools(corpus())
    back = {made.names.wire_name(each): each for each in corpus()}

    imported = from_openai_tools(made.tools)

    assert imported.unsaid == ()
    for tool, definition in zip(made.tools, imported.definitions, strict=True):
        original = back[str(tool["name"])]
        assert definition.description == original.description
        assert definition.input_schema == tool["parameters"]
        assert definition.output_schema == tool.get("output_schema")


@pytest.mark.req("AD-8")
def test_what_a_definition_has_no_place_for_is_said() -> None:
    tools = [
        {"type": "function", "name": "f", "parameters": None, "strict": True, "defer_loading": True},
        {"type": "custom", "custom": {"name": "c", "format": {"type": "grammar", "grammar": {}}}},
        {"type": "custom", "name": "t", "description": "Text."},
        {"type": "web_search"},
    ]

    imported = from_openai_tools(tools)

    assert [each.id.partition("#")[0] for each in imported.definitions] == ["default:f", "default:c", "default:t"]
    assert imported.definitions[2].input_schema["required"] == ["input"]
    assert imported.unsaid == (
        "`f`: `strict` has no place in a definition.",
        "`f`: `defer_loading` has no place in a definition.",
        "`c`: the grammar of its text has no place in a definition.",
        "`web_search` is a tool that the API runs itself.",
    )


@pytest.mark.req("AD-8")
@pytest.mark.parametrize(
    "tool",
    [
        {},
        "forecast",
        {"type": "function", "name": ""},
        {"type": "function", "name": 7},
        {"type": "function", "name": "f", "parameters": "text"},
        {"type": "function", "name": "f", "parameters": {"type": "array"}},
        {"type": "function", "name": "f", "parameters": {"type": "nonsense"}},
    ],
)
def test_what_is_not_a_tool_is_refused_in_words(tool: object) -> None:
    with pytest.raises(CatalogError):
        from_openai_tools([tool])


@pytest.mark.req("AD-11", "D1-6f")
def test_the_old_export_still_gives_the_shape_of_chat_completions_and_says_what_replaces_it() -> None:
    with pytest.warns(DeprecationWarning, match="to_openai_tools"):
        made = to_json_schema(PLAIN_TOOL)

    assert made == to_openai_tools([PLAIN_TOOL], api="chat").tools[0]


def test_an_error_of_an_import_is_an_invalid_definition_where_there_is_no_tool() -> None:
    with pytest.raises(InvalidDefinition, match="`type`"):
        from_openai_tools([{"name": "f"}])
