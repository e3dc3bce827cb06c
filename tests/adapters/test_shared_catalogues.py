"""Every tool of the shared catalogues, as each SDK's own types read it, and a call of it back to its id.

The catalogues are not ours to copy: they are read from beside the checkout, where they may be missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import pytest
from anthropic.types import ToolParam, ToolUseBlock
from google.genai import types as gemini
from mcp.shared.tool_name_validation import validate_tool_name
from mcp.types import Tool
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageFunctionToolCall
from openai.types.responses import FunctionToolParam, ResponseFunctionToolCall

from tests.adapters.corpus import corpus
from tests.adapters.sdk_types import are_exactly
from tests.catalogues.catalogues import SHARED
from toolcrib_anthropic import parse_anthropic_calls, to_anthropic_tools
from toolcrib_claude_agent import to_claude_agent_tools, to_sdk_mcp_tools
from toolcrib_core import ToolDefinition, relax_patterns, upstream_identity
from toolcrib_gemini import parse_gemini_calls, to_gemini_tools
from toolcrib_openai import parse_openai_calls, to_openai_tools

CATALOGUES: Final = ("servers", "bfcl", "cw83", "metatool", "metatool_multi", "nestful", "toolalpaca")
_LARGEST: Final = 512
"""How many declarations one request to Gemini holds."""

# Some of the catalogues write types as Python has them, and `required` as draft 3 has it.
_TYPES: Final = {"dict": "object", "float": "number", "tuple": "array", "list": "array", "int": "integer"}


class Written(NamedTuple):
    """The tools of a request, and the ids to which calls of them lead."""

    ids: set[str]
    called: set[str]


def _openai(api: Any, kind: Any, call: Callable[[str], Any]) -> Callable[..., Written]:
    def write(tools: list[ToolDefinition], **options: Any) -> Written:
        made = to_openai_tools(tools, api=api, **options)
        assert are_exactly(kind, made.tools)
        calls = [call(str(made.names.wire_name(each))) for each in tools]
        answer = calls if api == "responses" else {"tool_calls": calls}
        return _written(made, parse_openai_calls(answer, made))

    return write


def _responses_call(name: str) -> object:
    return ResponseFunctionToolCall(type="function_call", call_id="c", name=name, arguments="{}", status="completed")


def _chat_call(name: str) -> object:
    whole = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return ChatCompletionMessageFunctionToolCall.model_validate(whole)


def _anthropic(tools: list[ToolDefinition], **options: Any) -> Written:
    made = to_anthropic_tools(tools, on_illegal="skip", **options)
    assert are_exactly(ToolParam, made.tools)
    names = [made.names.wire_name(each) for each in made.names]
    blocks = [ToolUseBlock(type="tool_use", id="c", name=name, input={}) for name in names]
    return _written(made, parse_anthropic_calls(blocks, made))


def _gemini(tools: list[ToolDefinition], **options: Any) -> Written:
    ids: set[str] = set()
    called: set[str] = set()
    for start in range(0, len(tools), _LARGEST):
        made = to_gemini_tools(tools[start : start + _LARGEST], **options)
        for each in made.tools:
            assert gemini.Tool.model_validate(each).model_dump(exclude_none=True) == each
        names = [made.names.wire_name(each) for each in made.names]
        parts = [gemini.Part.from_function_call(name=name, args={}) for name in names]
        some = _written(made, parse_gemini_calls(parts, made))
        ids |= some.ids
        called |= some.called
    return Written(ids, called)


def _claude_agent(tools: list[ToolDefinition], **options: Any) -> Written:
    made = to_claude_agent_tools(tools, on_illegal="skip", **options)
    for each in made.tools:
        assert Tool.model_validate(each).model_dump(by_alias=True, exclude_none=True) == each
        assert validate_tool_name(str(each["name"])).is_valid

    async def never(tool_id: str, arguments: dict[str, Any]) -> object:
        raise AssertionError(tool_id, arguments)

    called = {made.names.definition(each.name).id for each in to_sdk_mcp_tools(tools, never, on_illegal="skip")}
    return Written({each.id for each in made.names} | made.skipped.keys(), called | made.skipped.keys())


def _written(made: Any, parsed: Any) -> Written:
    assert not parsed.broken
    left_out: set[str] = set(made.skipped)
    return Written({each.id for each in made.names} | left_out, {each.tool for each in parsed.calls} | left_out)


WRITERS: Final[dict[str, tuple[Callable[..., Written], dict[str, Any]]]] = {
    "openai": (_openai("responses", FunctionToolParam, _responses_call), {}),
    "openai-strict": (_openai("responses", FunctionToolParam, _responses_call), {"strict": True}),
    "openai-chat": (_openai("chat", ChatCompletionFunctionToolParam, _chat_call), {"strict": True}),
    "anthropic": (_anthropic, {}),
    "anthropic-strict": (_anthropic, {"strict": True}),
    "gemini": (_gemini, {}),
    "claude-agent": (_claude_agent, {}),
}


@pytest.mark.req("AD-7", "CT-4")
@pytest.mark.parametrize("catalogue", CATALOGUES)
@pytest.mark.parametrize("provider", WRITERS)
def test_the_sdk_takes_every_tool_of_a_catalogue_and_its_calls_lead_back(provider: str, catalogue: str) -> None:
    tools = list(_catalogue(catalogue))
    write, options = WRITERS[provider]

    written = write(tools, **options)

    assert written.ids == written.called == {each.id for each in tools}


@cache
def _catalogue(name: str) -> tuple[ToolDefinition, ...]:
    path = SHARED.parents[1] / "retrieval" / name / "tools.jsonl"
    if not (SHARED if name == "servers" else path).is_file():
        pytest.skip(f"the catalogue `{name}` is not beside this checkout")
    if name == "servers":
        return corpus()
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return tuple({each.id: each for each in map(_definition, rows)}.values())


def _definition(row: dict[str, Any]) -> ToolDefinition:
    identity = upstream_identity(row["name"], server=row.get("namespace") or "tools")
    schema = {"type": "object", "properties": {}, **_mended(row.get("input_schema") or {})}
    relaxed, lossy = relax_patterns(schema)
    return ToolDefinition(identity=identity, description=row["description"], input_schema=relaxed, lossy=lossy)


def _mended(schema: Any) -> Any:
    """The schema in the words of JSON Schema."""
    if isinstance(schema, list):
        return [_mended(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    mended = {key: _mended(value) for key, value in schema.items()}
    if isinstance(mended.get("required"), bool):
        del mended["required"]
    if isinstance(kind := mended.get("type"), str):
        mended["type"] = _TYPES.get(kind.lower(), kind.lower())
        if mended["type"] not in {"object", "array", "string", "number", "integer", "boolean", "null"}:
            del mended["type"]
    return mended
