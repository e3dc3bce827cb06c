"""What `toolcrib status` tells: every server, its tools, and what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from toolcrib_mcp.upstreams import Phase, UpstreamHealth, UpstreamState

_MODEL = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)
_RUNNING = (UpstreamState.STARTED, UpstreamState.IN_USE)


class ToolCounts(BaseModel):
    """How many tools there are of each sort, see `FindingKind`; those that nothing tells apart count once."""

    model_config = _MODEL

    served: int = 0
    left_out: int = 0
    withheld: int = 0
    unlisted: int = 0
    denied: int = 0
    """Not let in by `allow` and `deny`."""
    beyond_cap: int = 0
    """Listed beyond the number that is taken of one server."""


class ServerStatus(BaseModel):
    """One server."""

    model_config = _MODEL

    ok: bool
    """Whether it can be used: its tools are known, and it is running or can be started for all we know."""
    namespace: str
    health: UpstreamHealth
    private: int = 0
    """How many more of it run for one client alone."""
    waiting: int = 0
    """Requests that wait for a place."""
    tools: ToolCounts
    findings: tuple[Mapping[str, str], ...] = ()


class HubTotals(BaseModel):
    """All servers together."""

    model_config = _MODEL

    servers: int
    running: int
    tools: ToolCounts
    private: int
    watched: int
    """Resources whose changes are listened for."""


class HubStatus(BaseModel):
    """A report about all servers; `to_json` is what `toolcrib status` prints."""

    model_config = _MODEL

    ok: bool
    """Whether every server is."""
    totals: HubTotals
    servers: Mapping[str, ServerStatus]
    """By name, in the order of the configuration."""
    manifest_problem: str | None = None
    """Why what was known of the servers could not be read or written down."""
    config_problem: str | None = None
    """Why the configuration, as it is in its file now, is not served; the last usable one is."""
    restart_needed: tuple[str, ...] = ()
    """Settings that were changed and count after a restart."""

    def to_json(self) -> dict[str, Any]:
        """The report as JSON, without what is not known."""
        written = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return written | {"servers": {name: _server_json(each) for name, each in self.servers.items()}}


def is_ok(health: UpstreamHealth) -> bool:
    """Whether a server can be used, for all that is known."""
    if health.tools is None or health.tools_problem is not None:
        return False
    return health.state in _RUNNING or (health.phase is not Phase.WAITING and health.last_failure is None)


def total_of(counts: list[ToolCounts]) -> ToolCounts:
    """All of them together."""
    return ToolCounts(**{name: sum(getattr(each, name) for each in counts) for name in ToolCounts.model_fields})


def is_running(status: ServerStatus) -> bool:
    """Whether the server that everybody shares is up."""
    return status.health.state in _RUNNING


def _server_json(server: ServerStatus) -> dict[str, Any]:
    written = server.model_dump(mode="json", by_alias=True, exclude_none=True)
    return written | {"health": server.health.to_json()}
