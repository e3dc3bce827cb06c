"""The report about one server, put together from those who know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic.alias_generators import to_camel

from toolcrib_mcp.errors import UpstreamError
from toolcrib_mcp.rpc import StdioWire
from toolcrib_mcp.upstreams.eras import Agreement
from toolcrib_mcp.upstreams.hosting import Host
from toolcrib_mcp.upstreams.links import Link
from toolcrib_mcp.upstreams.states import UpstreamHealth, UpstreamState
from toolcrib_mcp.upstreams.tool_watch import ToolWatch
from toolcrib_runtime.guards.secrets import Scrubber


def health_of(
    name: str,
    *,
    state: UpstreamState,
    host: Host,
    watch: ToolWatch,
    agreement: Agreement | None,
    idle_for: float | None,
    calls_under_way: int,
    noise: Counter[str],
    address: str | None,
    scrubber: Scrubber,
) -> UpstreamHealth:
    """The report; whatever the server said goes through the scrubber."""
    return UpstreamHealth(
        name=name,
        state=state,
        phase=host.phase,
        circuit=host.breaker.circuit,
        retry_in=round(host.breaker.wait, 3) or None,
        address=address,
        idle_for=idle_for,
        tools=None if watch.known is None else len(watch.known.items),
        tools_problem=_error(watch.problem, scrubber),
        calls_under_way=calls_under_way,
        starts=host.starts,
        failures=host.failures,
        last_failure=_error(host.last_failure, scrubber),
        last_failure_at=host.last_failure_at,
        noise=dict(noise if host.link is None else noise + noise_of(host.link)),
        **({} if agreement is None else _agreed(agreement, scrubber)),
        **({} if host.link is None else _running(host.link)),
    )


def noise_of(link: Link) -> Counter[str]:
    """Counts of what was dropped or forgiven on a link; only those that are not zero."""
    counts = asdict(link.wire.noise) | asdict(link.connection.stats)
    return Counter({to_camel(name): count for name, count in counts.items() if isinstance(count, int) and count})


def _agreed(agreement: Agreement, scrubber: Scrubber) -> dict[str, Any]:
    return {
        "era": agreement.era,
        "protocol_version": agreement.protocol_version,
        "server": scrubber.scrub(agreement.server_info),
    }


def _running(link: Link) -> dict[str, Any]:
    child = link.wire.child if isinstance(link.wire, StdioWire) else None
    return {
        "pid": None if child is None else child.pid,
        "sandbox": None if child is None else child.sandbox.to_dict(),
    }


def _error(error: UpstreamError | None, scrubber: Scrubber) -> Mapping[str, Any] | None:
    scrubbed = None if error is None else scrubber.scrub(error.to_dict())
    return scrubbed if isinstance(scrubbed, dict) else None
