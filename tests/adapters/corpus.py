"""The tools that every adapter must take: our own corpus, and what real servers list where that is at hand."""

from __future__ import annotations

from functools import cache

from tests.catalogues.catalogues import SHARED, invented_servers
from tests.catalogues.replaying_server import read_catalogue
from toolcrib_core import ToolDefinition, relax_patterns, upstream_identity


@cache
def corpus() -> tuple[ToolDefinition, ...]:
    """Definitions of all of them, each under the namespace of its server."""
    servers = invented_servers() | (read_catalogue(SHARED) if SHARED.is_file() else {})
    made = [_definition(server, tool) for server, tools in servers.items() for tool in tools]
    return tuple({each.id: each for each in made}.values())


def _definition(server: str, tool: dict[str, object]) -> ToolDefinition:
    schema = tool.get("inputSchema")
    relaxed, lossy = relax_patterns(schema if isinstance(schema, dict) else {"type": "object"})
    name = str(tool["name"])
    output = tool.get("outputSchema")
    return ToolDefinition(
        identity=upstream_identity(name, server=server),
        upstream_name=name,
        description=str(tool.get("description") or ""),
        input_schema=relaxed,
        output_schema=relax_patterns(output)[0] if isinstance(output, dict) else None,
        lossy=lossy,
    )
