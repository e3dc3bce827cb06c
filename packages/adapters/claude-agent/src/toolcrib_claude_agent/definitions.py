"""Definitions as the tools of an MCP server that runs inside the process of the Claude Agent SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from toolcrib_claude_agent.strict import SERVED
from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError, UnsupportedTool
from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_core.providers.conversion import convert_schema
from toolcrib_core.providers.describing import description_of
from toolcrib_core.providers.dialects import VendorDialect
from toolcrib_core.providers.losses import LossReport
from toolcrib_core.providers.names import ToolNames
from toolcrib_core.providers.tool_sources import OnIllegal, ToolsLike, legal_tools
from toolcrib_core.risk import ToolRisk
from toolcrib_core.wording import quoted


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaudeAgentTools:
    """The tools of one server: what it lists, and all that is needed to read the calls that come back."""

    tools: list[JsonObject]
    """MCP tools in ascending order of their names, whatever the order of the definitions."""
    names: ToolNames
    """The names as the model sees them and as permission rules want them: `mcp__server__tool`."""
    server: str
    losses: Mapping[str, LossReport] = field(default_factory=dict)
    """What each schema lost, by tool id; a tool that lost nothing is not in it."""
    skipped: Mapping[str, UnsupportedTool] = field(default_factory=dict)
    """Why a tool was left out, by tool id."""

    def listed_name(self, tool: ToolDefinition | str) -> str:
        """The name that the server itself lists a tool under, without the prefix.

        Raises:
            UnknownTool: The tool is not one of these.
        """
        return self.names.wire_name(tool).removeprefix(prefix_of(self.server))


def prefix_of(server: str) -> str:
    """What stands before the name of every tool of a server."""
    return f"mcp__{server}__"


def to_claude_agent_tools(
    definitions: ToolsLike,
    *,
    server: str = "toolcrib",
    max_result_chars: int | None = None,
    on_illegal: OnIllegal = "raise",
    dialect: VendorDialect = SERVED,
) -> ClaudeAgentTools:
    """Definitions as MCP tools whose names, with `mcp__server__` before them, have at most 64 characters.

    Args:
        definitions: The tools of the server: a toolbox, a registry, one tool, or a list of runnable tools or
            definitions.
        server: The name under which the server is given to the SDK.
        max_result_chars: How long a result may be that Claude Code keeps in the conversation; longer ones it puts into
            a file and shows the beginning.
        on_illegal: What happens to a tool with a parameter whose name Claude's API forbids: `"skip"` leaves it out,
            and `skipped` has the reason.
        dialect: How much of JSON Schema is said.

    Raises:
        UnsupportedTool: A parameter has a name that Claude's API forbids; the message names it.
        CatalogError: The tools are something else, the name of the server is not usable or too long, or ids and names
            collide.
    """
    if not server or "__" in server or server.startswith("_") or server.endswith("_"):
        raise CatalogError(
            f"{quoted(server)} cannot be the name of a server: in `mcp__server__tool` it would not be told apart.",
            hint="Use letters, digits and `-`, and `_` only inside and once at a time.",
        )
    legal = legal_tools(definitions, SERVED, on_illegal=on_illegal)
    names = ToolNames(legal.definitions, prefix=prefix_of(server))
    tools: list[JsonObject] = []
    losses: dict[str, LossReport] = {}
    for each in names:
        converted = convert_schema(each.input_schema, dialect)
        if converted.report:
            losses[each.id] = converted.report
        tool: JsonObject = {"name": names.wire_name(each).removeprefix(prefix_of(server))}
        if each.title is not None:
            tool["title"] = each.title
        tool["description"] = description_of(each)
        # Without `properties` the SDK takes a schema for a list of parameters, and `type` for one of them.
        tool["inputSchema"] = {"type": "object", "properties": {}, **converted.schema}
        tool["annotations"] = _hints(each.risk)
        if max_result_chars is not None:
            tool["_meta"] = {"anthropic/maxResultSizeChars": max_result_chars}
        tools.append(tool)
    return ClaudeAgentTools(
        tools=tools, names=names, server=server, losses=MappingProxyType(losses), skipped=legal.skipped
    )


def _hints(risk: ToolRisk) -> dict[str, JsonValue]:
    hints: dict[str, JsonValue] = {"destructiveHint": risk.destructive, "openWorldHint": risk.external_network}
    if risk.effects == "unknown":
        # Of what nobody has declared only the bad is said: the protocol assumes the worst of what is left out.
        return {hint: True for hint, holds in hints.items() if holds}
    return {"readOnlyHint": not risk.may_write, **hints, "idempotentHint": risk.idempotent}
