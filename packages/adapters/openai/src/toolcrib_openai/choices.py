"""Which tools the model may or must use: `tool_choice` of the OpenAI APIs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.json_values import JsonObject
from toolcrib_openai.definitions import OpenAITools

Choice: TypeAlias = Literal["auto", "required", "none"]


def to_openai_choice(choice: Choice | ToolDefinition | str, tools: OpenAITools) -> JsonObject | str:
    """`tool_choice`: the model decides (`auto`), must use some tool (`required`), none, or the tool that is given.

    A tool is given as its definition or id.

    Raises:
        UnknownTool: The tool is not among these tools; the hint has the nearest.
    """
    if isinstance(choice, str) and choice in {"auto", "required", "none"}:
        return choice
    return _named(choice, tools)


def allow_openai_tools(
    allowed: Iterable[ToolDefinition | str], tools: OpenAITools, *, required: bool = False
) -> JsonObject:
    """`tool_choice` that lets the model use only some of its tools; the tools of the request, and its cache, stay.

    Raises:
        UnknownTool: A tool is not among these tools; the hint has the nearest.
    """
    ids = sorted({tools.names.wire_name(each): each for each in allowed}.items())
    rule: JsonObject = {
        "mode": "required" if required else "auto",
        "tools": [_named(each, tools) for _, each in ids],
    }
    if tools.api == "chat":
        return {"type": "allowed_tools", "allowed_tools": rule}
    return {"type": "allowed_tools", **rule}


def _named(tool: ToolDefinition | str, tools: OpenAITools) -> JsonObject:
    tools.names.wire_name(tool)  # says which tool is nearest, if this one is not there
    declared = tools.declared[tool if isinstance(tool, str) else tool.id]
    kind = str(declared["type"])
    if tools.api == "chat":
        inner = declared[kind]
        return {"type": kind, kind: {"name": inner["name"] if isinstance(inner, dict) else None}}
    return {"type": kind, "name": declared["name"]}
