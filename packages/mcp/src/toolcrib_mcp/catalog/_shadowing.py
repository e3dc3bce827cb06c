"""Tools whose texts give orders about the tools of other servers: how one server gets between a model and another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from toolcrib_core.wording import listed, shown
from toolcrib_mcp.catalog._entries import CatalogEntry
from toolcrib_mcp.catalog._findings import ToolFinding
from toolcrib_mcp.scan.mentions import mentions_of

# A name of one word, as `search` or `type`, stands in every tenth description, and means nothing there.
_TELLING: Final = re.compile(r"[_:./-]|[a-z][A-Z]")


def shadowing_findings(served: Mapping[str, CatalogEntry]) -> Iterator[ToolFinding]:
    """Every tool that gives orders about another server's tool, by its name or its id."""
    names = _names_by_server(served)
    every = frozenset(name for each in names.values() for name in each if _TELLING.search(name))
    for entry in served.values():
        tool = entry.hydrated
        # What its own server calls the same is not another's.
        mentioned = [
            each for each in mentions_of(tool.definition.description, every) if each not in names[tool.upstream]
        ]
        if mentioned:
            yield ToolFinding(
                kind="flagged",
                upstream=tool.upstream,
                name=shown(tool.upstream_name),
                tool_id=tool.tool_id,
                reason=f"Its description gives orders about tools of other servers: {listed(mentioned)}.",
                hint="It may be meant well. Read it before a model does.",
            )


def _names_by_server(served: Mapping[str, CatalogEntry]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for tool_id, entry in served.items():
        found.setdefault(entry.hydrated.upstream, set()).update((tool_id, entry.hydrated.upstream_name))
    return {server: frozenset(names) for server, names in found.items()}
