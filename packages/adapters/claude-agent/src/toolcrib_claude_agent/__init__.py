"""Tools for the Claude Agent SDK: a server inside this process, its names, and what it may do unasked.

A name is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_claude_agent.definitions import ClaudeAgentTools, to_claude_agent_tools
    from toolcrib_claude_agent.lazy_loading import tool_search_env
    from toolcrib_claude_agent.permissions import ToolPermissions, to_claude_agent_permissions
    from toolcrib_claude_agent.results import to_claude_agent_result
    from toolcrib_claude_agent.server import ClaudeAgentServer, create_claude_agent_server, to_sdk_mcp_tools
    from toolcrib_core.providers.losses import Loss, LossReport
    from toolcrib_core.providers.names import ToolNames
    from toolcrib_core.providers.results import ResultContent

_NAMES = {
    "toolcrib_claude_agent.definitions": "ClaudeAgentTools to_claude_agent_tools",
    "toolcrib_claude_agent.lazy_loading": "tool_search_env",
    "toolcrib_claude_agent.permissions": "ToolPermissions to_claude_agent_permissions",
    "toolcrib_claude_agent.results": "to_claude_agent_result",
    "toolcrib_claude_agent.server": "ClaudeAgentServer create_claude_agent_server to_sdk_mcp_tools",
    "toolcrib_core.providers.losses": "Loss LossReport",
    "toolcrib_core.providers.names": "ToolNames",
    "toolcrib_core.providers.results": "ResultContent",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "ClaudeAgentServer",
    "ClaudeAgentTools",
    "Loss",
    "LossReport",
    "ResultContent",
    "ToolNames",
    "ToolPermissions",
    "create_claude_agent_server",
    "to_claude_agent_permissions",
    "to_claude_agent_result",
    "to_claude_agent_tools",
    "to_sdk_mcp_tools",
    "tool_search_env",
]


if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
