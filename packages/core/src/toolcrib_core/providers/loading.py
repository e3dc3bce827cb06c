"""`LoadedTools`: the result of a call that looked for tools, as every vendor's way of loading them takes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Self

import orjson

from toolcrib_core.calls import ToolCall
from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import ToolError
from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_core.providers.names import ToolNames


class LoadedTools(NamedTuple):
    """The tools that a search found, and that the model may use from now on.

    Hand it to the results formatter like any other result. Where the vendor has a way of its own to load tools it is
    used; elsewhere the model reads the names, and the tools are declared with the next request.
    """

    call_id: str
    tool_id: str
    """The id of the tool that searched."""
    definitions: tuple[ToolDefinition, ...]
    """What was found, best first."""
    wire_names: tuple[str, ...]
    """What each of them is called on the wire."""

    @classmethod
    def found(cls, call: ToolCall, tools: Iterable[ToolDefinition | str], names: ToolNames) -> Self:
        """The answer to a call that looked for tools: definitions or ids of what it found, best first.

        Raises:
            UnknownTool: One of them is not among the tools of the conversation.
        """
        definitions = tuple(names.by_id(each if isinstance(each, str) else each.id) for each in tools)
        return cls(call.id or "", call.tool, definitions, tuple(map(names.wire_name, definitions)))

    @property
    def error(self) -> ToolError | None:
        """None: finding nothing is a result, too."""
        return None

    @property
    def value(self) -> JsonValue:
        """The names and descriptions, as a gateway's own search gives them."""
        return {
            "tools": [
                {"name": name, "description": definition.description}
                for name, definition in zip(self.wire_names, self.definitions, strict=True)
            ]
        }

    @property
    def content(self) -> tuple[JsonObject, ...]:
        """The value as text, for a model whose vendor has no way of its own to load tools."""
        return ({"type": "text", "text": orjson.dumps(self.value).decode()},)
