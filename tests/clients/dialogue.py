"""The vendors' APIs as a pretended model sees them: which tools it has, what its calls gave, and how it calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from tests.adapters import anthropic_server, gemini_server, openai_server

Json: TypeAlias = dict[str, Any]

TOOLS: Final = ("tool_browse", "tool_execute", "tool_view")
_SEARCH: Final = "ToolSearch"
_MAX_SEARCHES: Final = 5
_CALL_ID: Final = re.compile(r"call_\d+")


class Call(NamedTuple):
    """A call of one of our tools."""

    tool: str
    """As we name it; the client may put something before it."""
    arguments: Json


@dataclass(frozen=True)
class Dialogue:
    """What one request shows a model."""

    tools: Mapping[str, str]
    """Our tools that it can call, each with the name that the client gave it, and its namespace before a dot."""
    results: Sequence[str]
    """What its calls gave, in their order, as the model reads it."""
    loading: Json | None = None
    """The call that loads our tools, where the client gives the model only their names at first."""


Decide: TypeAlias = Callable[[Dialogue], Call | None]
"""The next call of the model, or none if it is done."""


PlayedModel: TypeAlias = anthropic_server.AnthropicModel | openai_server.OpenAIModel | gemini_server.GeminiModel


@dataclass(frozen=True)
class Api:
    """One vendor's API."""

    name: str
    server: Callable[..., PlayedModel]
    read: Callable[[Json], Dialogue]
    call: Callable[[str, str, Json], Json]
    """Of a name of `Dialogue.tools`, the id of the call and its arguments."""
    says: Callable[[str], Json]

    def play(self, decide: Decide) -> PlayedModel:
        """A model that calls what `decide` wants; what comes without our tools, as for a title, gets a word."""

        def turn(request: Json) -> list[Json]:
            dialogue = self.read(request)
            if dialogue.loading is not None:
                return [dialogue.loading]
            wanted = decide(dialogue) if set(TOOLS) <= set(dialogue.tools) else None
            if wanted is None:
                return [self.says("Done.")]
            name = dialogue.tools[wanted.tool]
            return [self.call(name, f"call_{len(dialogue.results) + 1}", wanted.arguments)]

        model: PlayedModel = self.server(turn, checked=False)
        return model


def _our_tools(names: Sequence[str]) -> dict[str, str]:
    return {tool: name for tool in TOOLS for name in names if name.endswith(tool)}


def _text(content: Any) -> str:
    """The text of a result that is a string, or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or json.dumps(part) for part in content or ())


def _read_anthropic(request: Json) -> Dialogue:
    blocks = [
        block
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result" and _CALL_ID.fullmatch(block["tool_use_id"])
    ]
    names = [tool["name"] for tool in request.get("tools", ())]
    results = [_text(block.get("content")) for block in blocks]
    return Dialogue(_our_tools(names), results, _loading_in_claude_code(names, request["messages"]))


def _loading_in_claude_code(names: Sequence[str], messages: Sequence[Json]) -> Json | None:
    """Claude Code names the tools of servers to the model, which has to load those that it wants with ToolSearch."""
    said = json.dumps(messages)
    if _our_tools(names) or _SEARCH not in names or said.count(f'"name": "{_SEARCH}"') >= _MAX_SEARCHES:
        return None
    wanted = ",".join(f"mcp__toolcrib__{tool}" for tool in TOOLS)
    return anthropic_server.tool_use(f"load_{len(messages)}", _SEARCH, query=f"select:{wanted}", max_results=5)


def _read_responses(request: Json) -> Dialogue:
    items = request["input"] if isinstance(request["input"], list) else []
    outputs = [item for item in items if item.get("type") == "function_call_output"]
    names: list[str] = []
    for tool in request.get("tools", ()):
        inner = tool["tools"] if tool["type"] == "namespace" else [tool]
        space = f"{tool['name']}." if tool["type"] == "namespace" else ""
        names += [space + each["name"] for each in inner if "name" in each]
    return Dialogue(_our_tools(names), [_text(item["output"]) for item in outputs])


def _call_in_responses(name: str, call_id: str, arguments: Json) -> Json:
    space, _, bare = name.rpartition(".")
    return openai_server.calls(call_id, bare, namespace=space or None, **arguments)


def _read_chat(request: Json) -> Dialogue:
    names = [tool["function"]["name"] for tool in request.get("tools", ())]
    results = [_text(message["content"]) for message in request["messages"] if message["role"] == "tool"]
    return Dialogue(_our_tools(names), results)


def _read_gemini(request: Json) -> Dialogue:
    declared = [each for tool in request.get("tools", ()) for each in tool.get("functionDeclarations", ())]
    parts = [part for content in request["contents"] for part in content["parts"] if "functionResponse" in part]
    results = [_gemini_result(part["functionResponse"]["response"]) for part in parts]
    return Dialogue(_our_tools([each["name"] for each in declared]), results)


def _gemini_result(response: Json) -> str:
    values = list(response.values())
    return values[0] if len(values) == 1 and isinstance(values[0], str) else json.dumps(response, ensure_ascii=False)


def _call_in_chat(name: str, call_id: str, arguments: Json) -> Json:
    return openai_server.calls(call_id, name, **arguments)


ANTHROPIC: Final = Api(
    "Anthropic Messages",
    anthropic_server.AnthropicModel,
    _read_anthropic,
    lambda name, call_id, arguments: anthropic_server.tool_use(call_id, name, **arguments),
    anthropic_server.says,
)
RESPONSES: Final = Api(
    "OpenAI Responses", openai_server.OpenAIModel, _read_responses, _call_in_responses, openai_server.says
)
CHAT: Final = Api("OpenAI Chat Completions", openai_server.OpenAIModel, _read_chat, _call_in_chat, openai_server.says)
GEMINI: Final = Api(
    "Gemini",
    gemini_server.GeminiModel,
    _read_gemini,
    lambda name, _, arguments: gemini_server.function_call(name, **arguments),
    gemini_server.says,
)
