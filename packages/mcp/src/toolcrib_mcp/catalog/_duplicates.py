"""Tools that cannot be told apart: which they are, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from toolcrib_core import DuplicateTool
from toolcrib_core.wording import MAX_SHOWN, listed, quoted, shown
from toolcrib_mcp.catalog._entries import CatalogEntry, Claims
from toolcrib_mcp.catalog._findings import ToolFinding


def duplicate_tool(tool_id: str, claimants: tuple[CatalogEntry, ...]) -> DuplicateTool:
    """The error with which an id is refused that several tools claim; it names them all."""
    tools = [each.hydrated for each in claimants]
    ids = sorted({tool.tool_id for tool in tools})
    places = sorted({(tool.upstream, tool.upstream_name) for tool in tools})
    if len(places) == 1:
        upstream, name = places[0]
        what = f"{quoted(upstream)} lists more than one tool called {quoted(name)}: {listed(ids)}"
        hint = "The server must give each of its tools a name of its own."
    else:
        each = " and ".join(f"{quoted(name)} of {quoted(upstream)}" for upstream, name in places[:MAX_SHOWN])
        what = f"{quoted(tool_id)} is the id of more than one tool: {each}"
        hint = "Configure the servers under different names."
    return DuplicateTool(
        f"{what}. None of them is served.",
        hint=hint,
        details={
            "id": tool_id,
            "tools": [{"upstream": upstream, "name": shown(name)} for upstream, name in places[:MAX_SHOWN]],
        },
    )


def withheld_findings(contested: Claims) -> Iterator[ToolFinding]:
    """For each of the tools that claim an id together, that it is withheld."""
    for tool_id, claimants in contested.items():
        error = duplicate_tool(tool_id, claimants)
        for tool in (each.hydrated for each in claimants):
            if tool.tool_id == tool_id:
                yield ToolFinding(
                    kind="withheld",
                    upstream=tool.upstream,
                    name=shown(tool.upstream_name),
                    tool_id=tool_id,
                    reason=error.message,
                    hint=error.hint or "",
                )
