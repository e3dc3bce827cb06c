"""Tools that come later: as items of the input, behind everything that was sent before."""

from __future__ import annotations

import json

import pytest
from openai.types.responses import ResponseToolSearchOutputItemParamParam
from openai.types.responses.response_input_param import AdditionalTools

from tests.adapters.openai_server import calls, searches
from tests.adapters.sdk_types import are_exactly
from toolcrib_core import ResultContent, ToolCall, ToolDefinition, UnknownTool
from toolcrib_core.providers.loading import LoadedTools
from toolcrib_openai import (
    additional_tools,
    parse_openai_calls,
    to_openai_results,
    to_openai_tools,
    with_loaded,
)

FIND = ToolDefinition(name="find_tools", description="Find tools.")
TOOLS = [ToolDefinition(namespace="n", name=name, description=name) for name in ("a", "b", "c")]
A, B, C = TOOLS


def _loaded(call: ToolCall, *found: ToolDefinition, made: object) -> LoadedTools:
    return LoadedTools.found(call, found, made.names)  # type: ignore[attr-defined]  # an `OpenAITools`


@pytest.mark.req("AD-5")
def test_a_search_of_the_model_is_answered_by_the_tools_that_were_found() -> None:
    made = to_openai_tools(TOOLS, loaded=[], search=FIND, strict=True)
    parsed = parse_openai_calls([searches("s1")], made)

    (answer,) = to_openai_results(parsed, [_loaded(parsed.calls[0], C, A, made=made)], made)

    assert answer == {
        "type": "tool_search_output",
        "call_id": "s1",
        "execution": "client",
        "status": "completed",
        "tools": [made.declared[A.id], made.declared[C.id]],
    }
    assert are_exactly(ResponseToolSearchOutputItemParamParam, [answer])


@pytest.mark.req("AD-5")
def test_a_search_that_failed_loads_nothing() -> None:
    made = to_openai_tools(TOOLS, loaded=[], search=FIND)
    parsed = parse_openai_calls([searches("s1")], made)

    (answer,) = to_openai_results(parsed, [ResultContent("s1", value="nothing")], made)

    assert answer["tools"] == []


@pytest.mark.req("AD-5")
def test_a_search_tool_of_ones_own_loads_by_an_item_behind_its_output() -> None:
    made = to_openai_tools([FIND, *TOOLS], loaded=[FIND], namespaces=True)
    parsed = parse_openai_calls([calls("c1", "find_tools")], made)

    output, item = to_openai_results(parsed, [_loaded(parsed.calls[0], B, made=made)], made)

    assert output["type"] == "function_call_output"
    assert "n__b" in str(output["output"])
    assert item["type"] == "additional_tools"
    assert item["tools"][0]["type"] == "namespace"
    assert are_exactly(AdditionalTools, [item])


@pytest.mark.req("AD-5")
def test_loading_changes_no_byte_of_what_was_sent_before() -> None:
    made = to_openai_tools([FIND, *TOOLS], loaded=[FIND])
    conversation = [{"role": "user", "content": "go"}, calls("c1", "find_tools")]
    before = json.dumps({"tools": made.tools, "input": conversation})
    parsed = parse_openai_calls(conversation[1:], made)

    after = [*conversation, *to_openai_results(parsed, [_loaded(parsed.calls[0], A, made=made)], made)]

    assert json.dumps({"tools": made.tools, "input": after}).startswith(before[: -len("]}")])


@pytest.mark.req("AD-5")
def test_loading_in_another_order_gives_the_same_bytes() -> None:
    made = to_openai_tools(TOOLS, loaded=[])

    assert json.dumps(additional_tools([C, A], made)) == json.dumps(additional_tools([A.id, C.id], made))


@pytest.mark.req("AD-5")
def test_chat_completions_declares_new_tools_behind_the_old_ones() -> None:
    made = to_openai_tools([FIND, *TOOLS], api="chat", loaded=[FIND, C])
    parsed = parse_openai_calls(
        {"tool_calls": [{"id": "c1", "function": {"name": "find_tools", "arguments": "{}"}}]}, made
    )

    messages = to_openai_results(parsed, [_loaded(parsed.calls[0], A, made=made)], made)
    later = with_loaded(with_loaded(made, [A]), [A, C])

    assert [each["role"] for each in messages] == ["tool"]
    assert later.tools == [*made.tools, made.declared[A.id]]
    assert json.dumps(later.tools).startswith(json.dumps(made.tools)[:-1])


@pytest.mark.req("AD-5")
def test_only_tools_of_the_conversation_can_be_loaded() -> None:
    with pytest.raises(UnknownTool):
        additional_tools([FIND], to_openai_tools(TOOLS, loaded=[]))
