"""Toolboxes and the protocol: a toolbox served to MCP clients, and the tools of an MCP server as runnable tools."""

from __future__ import annotations

from toolcrib_mcp.toolboxes.importing import import_tools
from toolcrib_mcp.toolboxes.service import ToolboxService
from toolcrib_mcp.toolboxes.tool_list import NameStyle

__all__ = ["NameStyle", "ToolboxService", "import_tools"]
