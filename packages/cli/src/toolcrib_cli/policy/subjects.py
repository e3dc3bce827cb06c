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
    override = hub.servers[tool.upstream].settings.risk_of(tool.upstream_name)
    return PolicySubject(
        server=tool.upstream,
        tool=tool.upstream_name,
        tool_id=tool.tool_id,
        risk=tool.definition.risk if override is None else override.applied_to(tool.definition.risk),
        principal=principal,
    )


def asked_about(hub: HubView, policy: Policy) -> dict[str, int]:
    """How many tools of each server somebody is asked about before they run, where there are any."""
    snapshot, counts = hub.catalog.snapshot(), dict.fromkeys(hub.servers, 0)
    for tool_id in snapshot.ids:
        tool = snapshot.hydrate(tool_id)
        counts[tool.upstream] += policy.judge(subject_of(hub, tool)).decision == "ask"
    return {name: number for name, number in counts.items() if number}
