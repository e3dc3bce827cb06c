"""What is told about a server: its state, and its health as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from toolcrib_mcp.upstreams.breaker import Circuit
from toolcrib_mcp.upstreams.eras import Era


class UpstreamState(StrEnum):
    """How far a server is; browsing needs no more than `known`."""

    CONFIGURED = "configured"
    """Nothing is known of it but how to reach it."""
    KNOWN = "known"
    """Its tools are known; it is not running."""
    STARTED = "started"
    """A session is up."""
    IN_USE = "in use"
    """A session is up and calls are under way."""


class Phase(StrEnum):
    """What its host is doing."""

    RESTING = "resting"
    """Nothing: nobody needs the server."""
    STARTING = "starting"
    SERVING = "serving"
    WAITING = "waiting"
    """It failed, and the next start is not due yet."""
    CLOSED = "closed"
    """For good."""


class UpstreamHealth(BaseModel):
    """A report about one server; `to_json` is what `toolcrib status` prints."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    name: str
    state: UpstreamState
    phase: Phase
    circuit: Circuit
    retry_in: float | None = None
    """Seconds until the next start may be tried, where it has to wait."""
    address: str | None = None
    pid: int | None = None
    sandbox: Mapping[str, Any] | None = None
    """The walls around its process, as they are while it runs; see `SandboxReport`."""
    era: Era | None = None
    protocol_version: str | None = None
    server: Mapping[str, Any] | None = None
    """What it calls itself; like its era and version, also while it is not running."""
    idle_for: float | None = None
    """Seconds without a call after which it was stopped; it starts again at the next call."""
    tools: int | None = None
    tools_problem: Mapping[str, Any] | None = None
    """Why its tools could not be read, or not to their end."""
    calls_under_way: int = 0
    starts: int = 0
    failures: int = 0
    """Starts that failed, and ends that nobody asked for."""
    last_failure: Mapping[str, Any] | None = None
    last_failure_at: float | None = None
    """Seconds since the epoch."""
    noise: Mapping[str, int]
    """Counts of what was dropped or forgiven, over all its lives; only those that are not zero."""

    def to_json(self) -> dict[str, Any]:
        """The report as JSON, without what is not known."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
