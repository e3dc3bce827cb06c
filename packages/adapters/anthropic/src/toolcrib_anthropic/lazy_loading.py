"""Tools that the model gets when it asks for them: searches of the API or of one's own, and references.

The tools that may be loaded later stand in the request from the start, marked with `defer_loading`: the API keeps them
out of the prompt. So nothing that was sent before changes when one is loaded, and the cached prefix stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_core.providers.loading import LoadedTools

if TYPE_CHECKING:
    from toolcrib_anthropic.definitions import AnthropicTools

ToolSearch: TypeAlias = Literal["bm25", "regex"]
"""How the API itself searches the deferred tools: by the words of a question, or by a pattern."""

_SEARCHES: Final = {
    "bm25": ("tool_search_tool_bm25_20251119", "tool_search_tool_bm25"),
    "regex": ("tool_search_tool_regex_20251119", "tool_search_tool_regex"),
}


def search_tool(search: ToolSearch) -> JsonObject:
    """The tool of the API itself that searches the deferred tools."""
    kind, name = _SEARCHES[search]
    return {"type": kind, "name": name}


def tool_references(loaded: LoadedTools) -> list[JsonValue]:
    """The content of a `tool_result` that loads what a search of one's own has found."""
    return [{"type": "tool_reference", "tool_name": name} for name in loaded.wire_names]


def tool_additions(definitions: Iterable[ToolDefinition | str], tools: AnthropicTools) -> JsonObject:
    """A message that loads deferred tools in the middle of a conversation, without a call that asked for them.

    The API takes it under a beta header.

    Raises:
        UnknownTool: A tool is not among those of the request.
    """
    added = [tools.names.wire_name(each) for each in definitions]
    return {
        "role": "system",
        "content": [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": name}} for name in added],
    }
