"""Offers tools to the Claude Agent SDK as an SDK MCP server."""

from __future__ import annotations

__all__: list[str] = []
