"""Which tools the model may or must use, in the words of both APIs."""

from __future__ import annotations

import pytest
from openai.types.chat import ChatCompletionToolChoiceOptionParam
from openai.types.responses import ToolChoiceAllowedParam, ToolChoiceCustomParam, ToolChoiceFunctionParam

from tests.adapters.sdk_types import are_exactly
from toolcrib_core import ToolDefinition, UnknownTool
from toolcrib_openai import allow_openai_tools, to_openai_choice, to_openai_tools

A = ToolDefinition(name="a")
S = ToolDefinition(
    name="s", input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
)
FLAT = to_openai_tools([A, S], free_form=True)
CHAT = to_openai_tools([A, S], api="chat", free_form=True)

pytestmark = pytest.mark.req("AD-6")


@pytest.mark.parametrize("choice", ["auto", "required", "none"])
def test_a_mode_is_the_word_itself(choice: str) -> None:
    assert to_openai_choice(choice, FLAT) == to_openai_choice(choice, CHAT) == choice


def test_one_tool_is_named_in_the_shape_of_the_api() -> None:
    assert to_openai_choice(A, FLAT) == {"type": "function", "name": "a"}
    assert to_openai_choice(A.id, CHAT) == {"type": "function", "function": {"name": "a"}}
    assert are_exactly(ToolChoiceFunctionParam, [to_openai_choice(A, FLAT)])
    assert are_exactly(ToolChoiceCustomParam, [to_openai_choice(S, FLAT)])
    assert are_exactly(ChatCompletionToolChoiceOptionParam, [to_openai_choice(A, CHAT), to_openai_choice(S, CHAT)])


def test_some_tools_are_allowed_while_the_tools_of_the_request_stay() -> None:
    flat, chat = allow_openai_tools([S, A], FLAT), allow_openai_tools([A.id], CHAT, required=True)

    assert flat == {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "a"}, {"type": "custom", "name": "s"}],
    }
    assert chat == {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "a"}}]},
    }
    assert are_exactly(ToolChoiceAllowedParam, [flat])
    assert are_exactly(ChatCompletionToolChoiceOptionParam, [chat])


def test_a_tool_that_is_not_there_cannot_be_chosen() -> None:
    with pytest.raises(UnknownTool):
        to_openai_choice("default:b", FLAT)
