"""What a policy is asked about: the tools of a catalogue, with what each may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_mcp.policy import PolicySubject
from toolcrib_mcp.safeguards.call import LOCAL

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import HydrationResult
    from toolcrib_mcp.hub.view import HubView
    from toolcrib_mcp.policy import Policy


def subject_of(hub: HubView, tool: HydrationResult, *, principal: str = LOCAL) -> PolicySubject:
    """A call of a tool, as a policy sees it; what the configuration says of its risk counts."""
    server = hub.servers[tool.upstream]
    return PolicySubject(
        server=tool.upstream,
        tool=tool.upstream_name,
        tool_id=tool.tool_id,
        risk=server.risk_of(tool),
        principal=principal,
        declared=server.declared_by(tool),
        flags=hub.catalog.snapshot().flags_of(tool.tool_id),
        definition=tool.digest,
    )


def asked_about(hub: HubView, policy: Policy) -> dict[str, int]:
    """How many tools of each server need an approval before they run, where there are any."""
    snapshot, counts = hub.catalog.snapshot(), dict.fromkeys(hub.servers, 0)
    for tool_id in snapshot.ids:
        tool = snapshot.hydrate(tool_id)
        counts[tool.upstream] += policy.judge(subject_of(hub, tool)).decision == "ask"
    return {name: number for name, number in counts.items() if number}
