"""What the catalogue keeps of one tool, and the terms on which a server's tools are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import orjson

from toolcrib_core import ChoiceCard, JsonObject, ToolDefinition
from toolcrib_mcp.catalog._findings import ToolFinding
from toolcrib_mcp.catalog._hints import Declared, declared_effects
from toolcrib_mcp.pins.digests import definition_digest


@dataclass(frozen=True, kw_only=True)
class UpstreamTerms:
    """What the configuration says about a server, as far as its tools are concerned."""

    server: str | None = None
    """The configured name: the namespace of all its tools. Without one each tool's own name suggests a namespace."""
    trusted: bool = False
    """Whether its hints may lower the risk of its tools. Those of any server may raise it."""
    withhold: tuple[str, ...] = ()
    """What no card may show: the server's address, its transport."""


@dataclass(frozen=True, kw_only=True)
class HydrationResult:
    """Everything there is to know about one tool before it is called."""

    tool_id: str
    upstream: str
    """The server that has the tool."""
    upstream_name: str
    """What the tool is called there."""
    definition: ToolDefinition
    """How we read it: arguments are validated against the schema in here."""
    tool_json: bytes = field(repr=False)
    """The tool as the server listed it, every field of it, for passing on."""

    @property
    def tool(self) -> JsonObject:
        """The tool as the server listed it: a fresh copy, which the caller may change."""
        listed: JsonObject = orjson.loads(self.tool_json)
        return listed

    @cached_property
    def digest(self) -> str:
        """Of all that the server says about the tool: what pins, approvals and the audit go by."""
        return definition_digest(self.tool)

    @cached_property
    def declared(self) -> Declared:
        """What the annotations of the tool say that it does: the word of its server, whether that is trusted or not."""
        return declared_effects(self.definition.metadata.get("annotations"))

    @property
    def input_schema(self) -> JsonObject:
        """The schema as the server wrote it, or the one that takes any object where it wrote none: a fresh copy."""
        schema = self.tool.get("inputSchema")
        return schema if isinstance(schema, dict) else {"type": "object"}


@dataclass(frozen=True, kw_only=True)
class CatalogEntry:
    """One tool that was read."""

    hydrated: HydrationResult
    card: ChoiceCard | None
    """None when no card of the tool fits its budget: such a tool is on no page, and can be called by its id."""
    findings: tuple[ToolFinding, ...] = ()
    """What was repaired, and why there is no card."""


Claims: TypeAlias = Mapping[str, tuple[CatalogEntry, ...]]
"""By tool id: the tools that it may stand for. More than one means that nobody can tell which is meant."""
