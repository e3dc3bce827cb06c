"""Definitions as tools of both APIs: every one of the corpus, legal by the SDK's own types."""

from __future__ import annotations

import json
import random

import pytest
from openai.types.chat import ChatCompletionCustomToolParam, ChatCompletionFunctionToolParam
from openai.types.responses import CustomToolParam, FunctionToolParam, NamespaceToolParam, ToolSearchToolParam
from pydantic import TypeAdapter

from tests.adapters.corpus import corpus
from tests.adapters.golden import differences
from tests.adapters.sdk_types import are_exactly
from toolcrib_core import CatalogError, ToolDefinition, ToolLifecycle, UnknownTool
from toolcrib_openai import to_openai_tools
from toolcrib_openai.strict import PLAIN, STRICT

FORECAST = ToolDefinition(
    namespace="weather",
    name="forecast",
    description="The weather of the next days.",
    input_schema={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3, "minimum": 1}},
        "required": ["city"],
        "additionalProperties": False,
    },
    output_schema={"type": "object", "properties": {"high": {"type": "number"}}},
)
SHOUT = ToolDefinition(
    name="shout",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


@pytest.mark.req("AD-1")
def test_a_function_of_the_responses_api_is_flat_and_always_says_whether_it_is_strict() -> None:
    made = to_openai_tools([FORECAST], strict=True)

    assert made.tools == [
        {
            "type": "function",
            "name": "weather__forecast",
            "description": "The weather of the next days.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": ["integer", "null"], "minimum": 1, "description": "(default: 3)"},
                },
                "required": ["city", "days"],
                "additionalProperties": False,
            },
            "strict": True,
            "output_schema": {"type": "object", "properties": {"high": {"type": "number"}}},
        }
    ]


@pytest.mark.req("AD-1")
def test_a_function_of_chat_completions_is_nested_and_has_no_place_for_an_output_schema() -> None:
    made = to_openai_tools([FORECAST], api="chat")

    assert made.tools[0]["function"]["strict"] is False
    assert made.tools[0]["function"]["parameters"] == FORECAST.input_schema
    assert [each.keyword for each in made.losses[FORECAST.id].losses] == ["outputSchema"]


@pytest.mark.req("AD-1", "AD-7")
@pytest.mark.parametrize("mode", ["strict", "plain"])
def test_every_tool_of_the_corpus_is_legal_by_the_types_of_the_sdk(mode: str) -> None:
    flat = to_openai_tools(corpus(), strict=mode == "strict")
    chat = to_openai_tools(corpus(), api="chat", strict=mode == "strict")

    assert len(flat.tools) == len(chat.tools) == len(corpus()) >= 150
    assert are_exactly(FunctionToolParam, flat.tools)
    assert are_exactly(ChatCompletionFunctionToolParam, chat.tools)


@pytest.mark.req("AD-7")
def test_the_types_of_the_sdk_drop_a_misspelt_key_so_that_only_equality_finds_it() -> None:
    tool = {**to_openai_tools([FORECAST]).tools[0], "stric": True}

    assert TypeAdapter(FunctionToolParam).validate_python(tool) != tool


@pytest.mark.req("AD-7")
@pytest.mark.parametrize("name", ["responses", "chat", "strict"])
def test_what_is_made_of_the_corpus_changes_only_on_purpose(name: str) -> None:
    made = to_openai_tools(corpus(), api="chat" if name == "chat" else "responses", strict=name == "strict")

    assert differences(f"openai_{name}", made.declared, corpus()) == []


@pytest.mark.req("AD-7")
def test_every_tool_is_strict_or_says_why_it_is_not() -> None:
    made = to_openai_tools(corpus(), strict=True)

    assert {each.id for each in corpus()} == made.strict | made.not_strict.keys()
    assert not made.strict & made.not_strict.keys()
    assert all(each.effect == "narrowed" for losses in made.not_strict.values() for each in losses)


@pytest.mark.req("AD-10")
def test_the_bytes_of_a_request_do_not_depend_on_the_order_of_the_definitions() -> None:
    shuffled = list(corpus())
    random.Random(7).shuffle(shuffled)

    for options in ({"strict": True}, {"namespaces": True, "search": "server", "loaded": []}):
        one = to_openai_tools(corpus(), **options).tools
        other = to_openai_tools(shuffled, **options).tools
        assert json.dumps(one) == json.dumps(other)


@pytest.mark.req("AD-1")
def test_namespaces_group_tools_under_short_names() -> None:
    second = FORECAST.replace(name="warnings")

    made = to_openai_tools([second, SHOUT, FORECAST], namespaces={"weather": "All about weather."})

    assert [each["type"] for each in made.tools] == ["function", "namespace"]
    group = made.tools[1]
    assert (group["name"], group["description"]) == ("weather", "All about weather.")
    assert [each["name"] for each in group["tools"]] == ["forecast", "warnings"]
    assert are_exactly(NamespaceToolParam, [group])


@pytest.mark.req("AD-1")
def test_every_namespace_of_the_corpus_has_a_legal_name_and_leads_back_to_its_tools() -> None:
    made = to_openai_tools(corpus(), namespaces=True)
    groups = [each for each in made.tools if each["type"] == "namespace"]

    assert are_exactly(NamespaceToolParam, groups)
    back = {made.namespaces.flat_name(group["name"], tool["name"]) for group in groups for tool in group["tools"]}
    assert back == {made.names.wire_name(each) for each in corpus()}


@pytest.mark.req("AD-1")
def test_a_tool_that_takes_one_text_can_be_declared_free_form_in_both_apis() -> None:
    flat, chat = to_openai_tools([SHOUT], free_form=True), to_openai_tools([SHOUT], api="chat", free_form=True)

    assert flat.tools == [{"type": "custom", "name": "shout", "format": {"type": "text"}}]
    assert chat.tools == [{"type": "custom", "custom": {"name": "shout", "format": {"type": "text"}}}]
    assert are_exactly(CustomToolParam, flat.tools)
    assert are_exactly(ChatCompletionCustomToolParam, chat.tools)


@pytest.mark.req("AD-1")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"text": {"type": "string", "pattern": "a"}}, "required": ["text"]},
        {"type": "object", "properties": {"text": {"type": "string"}}},
        {"type": "object", "properties": {"text": True}, "required": ["text"]},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "minProperties": 1},
    ],
)
def test_a_tool_with_a_rule_for_its_text_stays_a_function(schema: dict[str, object]) -> None:
    made = to_openai_tools([ToolDefinition(name="t", input_schema=schema)], free_form=True)

    assert made.tools[0]["type"] == "function"


@pytest.mark.req("AD-1")
def test_a_tool_that_gives_more_than_text_stays_a_function() -> None:
    made = to_openai_tools([SHOUT.replace(output_schema={"type": "object"})], free_form=True)

    assert made.tools[0]["type"] == "function"


@pytest.mark.req("AD-1")
def test_callers_are_said_for_all_tools_or_for_one() -> None:
    one = to_openai_tools([FORECAST, SHOUT], allowed_callers={SHOUT.id: ["programmatic"]}).tools
    every = to_openai_tools([FORECAST], allowed_callers=["direct", "programmatic"]).tools

    assert [each.get("allowed_callers") for each in one] == [["programmatic"], None]
    assert every[0]["allowed_callers"] == ["direct", "programmatic"]
    assert are_exactly(FunctionToolParam, one + every)


@pytest.mark.req("AD-1")
def test_an_output_that_is_sent_as_plain_text_is_not_described_as_json() -> None:
    made = to_openai_tools([FORECAST.replace(output_schema={"type": "string"})])

    assert "output_schema" not in made.tools[0]
    assert [each.keyword for each in made.losses[FORECAST.id].losses] == ["outputSchema"]


@pytest.mark.req("AD-1")
def test_a_description_too_long_for_chat_completions_is_cut_and_said_to_be() -> None:
    long = SHOUT.replace(description="word " * 400)

    made = to_openai_tools([long], api="chat")

    assert len(made.tools[0]["function"]["description"]) <= 1024
    assert [each.keyword for each in made.losses[long.id].losses] == ["description"]
    assert len(to_openai_tools([long]).tools[0]["description"]) == len(long.description)


@pytest.mark.req("AD-1")
def test_a_deprecated_tool_says_so_first() -> None:
    old = SHOUT.replace(description="Shout.", lifecycle=ToolLifecycle(deprecated=True, replaced_by="default:yell"))

    assert to_openai_tools([old]).tools[0]["description"] == "Deprecated: use `default:yell` instead. Shout."


@pytest.mark.req("AD-1")
def test_chat_completions_refuses_options_that_it_does_not_know() -> None:
    with pytest.raises(CatalogError, match="`search`, `namespaces`"):
        to_openai_tools([SHOUT], api="chat", search="server", namespaces=True)


@pytest.mark.req("AD-1")
def test_an_api_of_another_name_is_refused() -> None:
    with pytest.raises(CatalogError, match="`responses` or `chat`"):
        to_openai_tools([SHOUT], api="assistants")


@pytest.mark.req("AD-5")
def test_the_api_gets_deferred_tools_with_its_own_search_and_none_with_ours() -> None:
    server = to_openai_tools([FORECAST, SHOUT], loaded=[SHOUT], search="server")
    client = to_openai_tools([FORECAST, SHOUT], loaded=[SHOUT.id], search=FORECAST)

    assert [(each["type"], each.get("defer_loading")) for each in server.tools] == [
        ("function", None),
        ("function", True),
        ("tool_search", None),
    ]
    assert [each["type"] for each in client.tools] == ["function", "tool_search"]
    assert are_exactly(ToolSearchToolParam, [server.tools[-1], client.tools[-1]])
    assert are_exactly(FunctionToolParam, server.tools[:2])


def test_a_loaded_tool_must_be_among_the_definitions() -> None:
    with pytest.raises(UnknownTool):
        to_openai_tools([SHOUT], loaded=["weather:forecast"])


@pytest.mark.fault("B11")
@pytest.mark.req("AD-2")
@pytest.mark.parametrize(
    ("schema", "keyword", "pointer"),
    [
        (
            {"properties": {"a": {"oneOf": [{"type": "string"}, {"minLength": 2, "type": "string"}]}}},
            "oneOf",
            "/properties/a",
        ),
        (
            {"properties": {"a": {"type": "object", "patternProperties": {"^x": {}}}}},
            "patternProperties",
            "/properties/a",
        ),
        (
            {
                "properties": {"a": {"$dynamicRef": "#n"}},
                "$defs": {"x": {"$dynamicAnchor": "n"}, "y": {"$id": "u", "$dynamicAnchor": "n"}},
            },
            "$dynamicRef",
            "/properties/a",
        ),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "oneOf", ""),
    ],
)
def test_a_keyword_that_the_vendor_cannot_express_is_exported_with_a_warning_that_names_the_path(
    schema: dict[str, object], keyword: str, pointer: str
) -> None:
    definition = ToolDefinition(name="t", input_schema={"type": "object", **schema})

    made = to_openai_tools([definition], strict=True)

    told = [*made.losses.get(definition.id, ((),))[0], *made.not_strict.get(definition.id, ())]
    assert (pointer, keyword) in {(each.pointer, each.keyword) for each in told}
    assert are_exactly(FunctionToolParam, made.tools)


def test_the_two_dialects_are_told_apart_by_name() -> None:
    assert STRICT.name != PLAIN.name
