"""Puts one small catalogue in front of many MCP servers, and serves toolboxes over MCP."""

from __future__ import annotations

__all__: list[str] = []
