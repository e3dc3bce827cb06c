"""A pretended model plays the same calls through every vendor's API, and reads what its tools gave."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types as g

from tests.adapters.http_server import serving
from tests.clients.dialogue import ANTHROPIC, CHAT, GEMINI, RESPONSES, TOOLS, Api, Call, Dialogue

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("CL-23")]

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}
RESULT = '3 of 3 matches:\n"orders:list_orders"'
Converse = Callable[..., tuple[str, dict[str, Any]]]
"""Lets a vendor's SDK call, answer the call with RESULT, and call again; gives the first call."""


def converse_anthropic(url: str, *, stream: bool) -> tuple[str, dict[str, Any]]:
    client = anthropic.Anthropic(base_url=url, api_key="nothing", max_retries=0)
    tools: Any = [{"name": f"mcp__toolcrib__{name}", "input_schema": SCHEMA} for name in TOOLS]
    messages: list[Any] = [{"role": "user", "content": "Go."}]

    def ask() -> Any:
        options: Any = {"model": "m", "max_tokens": 9, "messages": messages, "tools": tools}
        if not stream:
            return client.messages.create(**options)
        with client.messages.stream(**options) as events:
            return events.get_final_message()

    (call,) = ask().content
    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": RESULT}]}
    messages += [{"role": "assistant", "content": [call.to_dict()]}, {"role": "user", "content": [result]}]
    ask()
    return call.name, call.input


def converse_responses(url: str, *, stream: bool) -> tuple[str, dict[str, Any]]:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="nothing", max_retries=0)
    functions = [{"type": "function", "name": name, "parameters": SCHEMA, "strict": False} for name in TOOLS]
    items: list[Any] = [{"role": "user", "content": "Go."}]

    def ask() -> Any:
        tools: Any = [{"type": "namespace", "name": "mcp__toolcrib", "description": "", "tools": functions}]
        answer: Any = client.responses.create(model="m", input=items, tools=tools, stream=stream)
        return next(event for event in answer if event.type == "response.completed").response if stream else answer

    (call,) = ask().output
    output = {"type": "function_call_output", "call_id": call.call_id, "output": RESULT}
    items += [call.to_dict(), output]
    ask()
    return f"{call.namespace}.{call.name}", json.loads(call.arguments)


def converse_chat(url: str, *, stream: bool) -> tuple[str, dict[str, Any]]:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="nothing", max_retries=0)
    tools: Any = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in TOOLS]
    messages: list[Any] = [{"role": "user", "content": "Go."}]

    def ask() -> Any:
        if not stream:
            return client.chat.completions.create(model="m", messages=messages, tools=tools).choices[0].message
        with client.chat.completions.stream(model="m", messages=messages, tools=tools) as events:
            return events.get_final_completion().choices[0].message

    message = ask()
    (call,) = message.tool_calls
    said = {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": "{}"}}
    messages += [
        {"role": "assistant", "tool_calls": [said]},
        {"role": "tool", "tool_call_id": call.id, "content": RESULT},
    ]
    ask()
    return call.function.name, json.loads(call.function.arguments)


def converse_gemini(url: str, *, stream: bool) -> tuple[str, dict[str, Any]]:
    client = genai.Client(api_key="nothing", http_options=g.HttpOptions(base_url=url))
    declared = [g.FunctionDeclaration(name=f"mcp_{name}", parameters_json_schema=SCHEMA) for name in TOOLS]
    contents: list[Any] = [g.Content(role="user", parts=[g.Part(text="Go.")])]
    config = g.GenerateContentConfig(
        tools=[g.Tool(function_declarations=declared)],
        automatic_function_calling=g.AutomaticFunctionCallingConfig(disable=True),
    )

    def ask() -> Any:
        options: Any = {"model": "m", "contents": contents, "config": config}
        if not stream:
            return client.models.generate_content(**options)
        return list(client.models.generate_content_stream(**options))[-1]

    answer = ask()
    (call,) = answer.function_calls
    contents += [
        answer.candidates[0].content,
        g.Content(role="user", parts=[g.Part.from_function_response(name=call.name, response={"output": RESULT})]),
    ]
    ask()
    client.close()
    return call.name, call.args


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("api", "converse", "name"),
    [
        (ANTHROPIC, converse_anthropic, "mcp__toolcrib__tool_browse"),
        (RESPONSES, converse_responses, "mcp__toolcrib.tool_browse"),
        (CHAT, converse_chat, "tool_browse"),
        (GEMINI, converse_gemini, "mcp_tool_browse"),
    ],
    ids=lambda value: value.name.replace(" ", "-") if isinstance(value, Api) else "",
)
def test_a_vendors_sdk_makes_the_call_and_its_result_is_read(
    api: Api, converse: Converse, name: str, *, stream: bool
) -> None:
    dialogues: list[Dialogue] = []

    def decide(dialogue: Dialogue) -> Call | None:
        dialogues.append(dialogue)
        return None if dialogue.results else Call("tool_browse", {"query": "orders"})

    model = api.play(decide)
    with serving(model) as url:
        called = converse(url, stream=stream)

    assert called == (name, {"query": "orders"})
    assert [list(dialogue.results) for dialogue in dialogues] == [[], [RESULT]]
    assert set(dialogues[0].tools) == set(TOOLS)
    assert len(model.requests) == 2


def test_tools_that_claude_code_names_only_are_loaded_before_they_are_called() -> None:
    model = ANTHROPIC.play(lambda _: Call("tool_browse", {}))
    request = {"model": "m", "max_tokens": 1, "tools": [{"name": "ToolSearch"}], "messages": []}

    answer = json.loads(model("/v1/messages", json.dumps(request).encode()).body)

    (call,) = answer["content"]
    assert call["name"] == "ToolSearch"
    assert call["input"]["query"].startswith("select:mcp__toolcrib__tool_browse,")
