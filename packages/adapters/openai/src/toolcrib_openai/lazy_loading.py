"""Tools that the model gets in the middle of a conversation, without a change to anything that was sent before.

The Responses API takes them as items of the input: as the answer to its tool search, or as `additional_tools`. Chat
Completions knows no such thing: there the tools are declared with the next request, behind those that were there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.json_values import JsonObject
from toolcrib_openai.definitions import OpenAITools


def loaded_tools(definitions: Iterable[ToolDefinition | str], tools: OpenAITools) -> list[JsonObject]:
    """The tools as they are declared, in the order of their names; grouped by namespace if the conversation is.

    Raises:
        UnknownTool: A tool is not among the tools of the conversation.
    """
    wanted = {tools.names.by_id(each if isinstance(each, str) else each.id).id for each in definitions}
    return tools.namespaces.grouped({key: tool for key, tool in tools.declared.items() if key in wanted})


def additional_tools(definitions: Iterable[ToolDefinition | str], tools: OpenAITools) -> JsonObject:
    """An item for the input of the Responses API: from here on the model has these tools, too.

    Raises:
        UnknownTool: A tool is not among the tools of the conversation.
    """
    return {"type": "additional_tools", "role": "developer", "tools": [*loaded_tools(definitions, tools)]}


def with_loaded(tools: OpenAITools, definitions: Iterable[ToolDefinition | str]) -> OpenAITools:
    """The tools of the next request of Chat Completions: those that were there, and behind them the new ones.

    Raises:
        UnknownTool: A tool is not among the tools of the conversation.
    """
    new = [each for each in loaded_tools(definitions, tools) if each not in tools.tools]
    return replace(tools, tools=[*tools.tools, *new])
