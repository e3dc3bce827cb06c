"""Which tools the Claude Agent SDK may use without asking, from what is known of their risk."""

from __future__ import annotations

from typing import NamedTuple

from toolcrib_claude_agent.definitions import ClaudeAgentTools


class ToolPermissions(NamedTuple):
    """The tools of a server by what may happen when the model calls one, by the names that permission rules want."""

    allowed: list[str]
    """For `allowed_tools`: they only read, so that nobody has to be asked."""
    asked: list[str]
    """In neither list: `can_use_tool` or the person at the screen decides. A tool in `allowed_tools` is never asked
    about, so none of these may be put there."""
    disallowed: list[str]
    """For `disallowed_tools`."""


def to_claude_agent_permissions(tools: ClaudeAgentTools, *, read_only: bool = False) -> ToolPermissions:
    """Sort the tools of a server by their risk.

    A tool that only reads is allowed, unless it wants approval. One that writes, or of which nobody has said what it
    does, is asked about; with `read_only` it is disallowed.
    """
    permissions = ToolPermissions([], [], [])
    for each in tools.names:
        name = tools.names.wire_name(each)
        if not each.risk.may_write and not each.risk.requires_approval:
            permissions.allowed.append(name)
        elif read_only and each.risk.may_write:
            permissions.disallowed.append(name)
        else:
            permissions.asked.append(name)
    return permissions
