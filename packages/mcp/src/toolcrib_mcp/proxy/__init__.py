"""The proxy: a stripped list of every tool, `tool_hydrate` for one definition, `tool_execute` for one call."""

from __future__ import annotations

from toolcrib_mcp.proxy.runtime import ProxyRuntime
from toolcrib_mcp.proxy.service import ProxyService
from toolcrib_mcp.proxy.stripping import NameForm

__all__ = ["NameForm", "ProxyRuntime", "ProxyService"]
