"""Calls through the umbrella that must keep type-checking: read by mypy, never run."""

from __future__ import annotations

from typing import assert_type

import toolcrib
import toolcrib.mcp
from toolcrib import create_toolbox as create_toolbox_of_the_top_level
from toolcrib.anthropic import to_anthropic_tools
from toolcrib.core import ToolDefinition, ToolId, define_tool
from toolcrib.mcp import Gateway, GatewayConfig, Hub, ToolboxService
from toolcrib.runtime import ToolResult, call_sync, create_toolbox, tool
from toolcrib_anthropic import AnthropicTools
from toolcrib_mcp import Gateway as GatewayItself
from toolcrib_runtime import Toolbox


@tool(effects="none")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def check_toolbox() -> None:
    assert_type(create_toolbox([add]), Toolbox)
    assert_type(create_toolbox_of_the_top_level([add]), Toolbox)
    assert_type(toolcrib.create_toolbox(add), Toolbox)
    assert_type(toolcrib.runtime.create_toolbox(add), Toolbox)
    assert_type(call_sync(create_toolbox(add), "add", {"a": 1, "b": 2}), ToolResult)
    assert_type(define_tool(add), ToolDefinition)
    assert_type(define_tool(add).id, ToolId)


def check_parts(definition: ToolDefinition, config: GatewayConfig) -> None:
    assert_type(to_anthropic_tools([definition]), AnthropicTools)
    assert_type(toolcrib.anthropic.to_anthropic_tools([definition]), AnthropicTools)
    assert_type(Gateway(Hub(config)), GatewayItself)
    assert_type(toolcrib.mcp.Gateway(toolcrib.mcp.Hub(config)), GatewayItself)
    assert_type(ToolboxService(create_toolbox([add]), version="1").toolbox, Toolbox)


def check_that_misspelt_names_are_found() -> None:
    toolcrib.create_toolbx([])  # type: ignore[attr-defined]  # no such name
    toolcrib.mcp.Gatewy  # type: ignore[attr-defined]  # noqa: B018  # no such name
