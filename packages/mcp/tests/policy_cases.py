"""Calls and policies for the tests of what may run."""

from __future__ import annotations

from typing import Any

from hub_cases import caller

from toolcrib_core import ToolDefinition, ToolRisk
from toolcrib_mcp.catalog import HydrationResult
from toolcrib_mcp.front import Request
from toolcrib_mcp.policy import Policy, PolicySource, PolicySubject, parse_policy
from toolcrib_mcp.proxy.embedding import lone_request
from toolcrib_mcp.safeguards.call import GuardedCall

READ = ToolRisk(effects="read")
WRITE = ToolRisk(effects="write")
DESTROY = ToolRisk(effects="write", destructive=True)
UNKNOWN = ToolRisk()


def subject(tool: str = "get_issue", **fields: Any) -> PolicySubject:
    """A call of a tool of the server `github`, by the local user."""
    server = fields.pop("server", "github")
    given = {"server": server, "tool": tool, "tool_id": f"{server}:{tool}#01234567", "risk": READ, "principal": "local"}
    return PolicySubject(**{**given, **fields})


def call(tool: str = "get_issue", *, server: str = "github", principal: str | None = None) -> GuardedCall:
    """The same as it passes the safeguards."""
    hydrated = HydrationResult(
        tool_id=f"{server}:{tool}#01234567",
        upstream=server,
        upstream_name=tool,
        definition=ToolDefinition(name=tool),
        tool_json=b"{}",
    )
    channel = lone_request().channel
    request = Request(method="tools/call", params={}, caller=caller(principal=principal), channel=channel)
    return GuardedCall(tool=hydrated, arguments={}, request=request, risk=READ)


def policy(*entries: str, default: str = "by-risk") -> Policy:
    """The policy with these tables, each as one line: `rule: decision="deny" tool="x"`."""
    return parse_policy(f'version = 1\ndefault = "{default}"\n{"".join(map(_table, entries))}')


def source(*entries: str, default: str = "by-risk") -> PolicySource:
    """The same, as what is asked for it."""
    return PolicySource.fixed(policy(*entries, default=default))


def _table(entry: str) -> str:
    table, _, fields = entry.partition(":")
    lines = fields.replace('" ', '"\n').replace("] ", "]\n").strip()
    return f"[[{table}]]\n{lines}\n"
