"""Which tools the model may or must use: `tool_choice` of the Anthropic API."""

from __future__ import annotations

from typing import Literal, TypeAlias

from toolcrib_anthropic.definitions import AnthropicTools
from toolcrib_core.definition import ToolDefinition
from toolcrib_core.json_values import JsonObject

Choice: TypeAlias = Literal["auto", "any", "none"]


def to_anthropic_choice(
    choice: Choice | ToolDefinition | str, tools: AnthropicTools, *, parallel: bool = True
) -> JsonObject:
    """`tool_choice`: the model decides (`auto`), must use some tool (`any`), none, or the tool that is given.

    A tool is given as its definition or id. With `parallel=False` the model makes one call at most.

    Raises:
        UnknownTool: The tool is not among those of the request; the hint has the nearest.
    """
    if choice == "none":
        return {"type": "none"}
    chosen: JsonObject = {"type": choice} if choice in {"auto", "any"} else _one(choice, tools)
    return chosen if parallel else {**chosen, "disable_parallel_tool_use": True}


def _one(tool: ToolDefinition | str, tools: AnthropicTools) -> JsonObject:
    return {"type": "tool", "name": tools.names.wire_name(tool)}
