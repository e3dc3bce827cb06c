"""Many servers at once: started side by side, so that none waits for another, and closed so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from toolcrib_core.wording import shown
from toolcrib_mcp.errors import GatewayError, UpstreamError
from toolcrib_mcp.upstreams.supervisor import Upstream

# More names do not fit on a line, and those that start first leave it first.
_MAX_NAMED: Final = 5


@dataclass(frozen=True, kw_only=True)
class StartReport:
    """How the start of one server went; without an error, it is running and its tools are known."""

    name: str
    error: GatewayError | None = None


class StartProgress:
    """How far several servers are that start at once; as text `12 of 28 ready, waiting for jira, playwright`."""

    def __init__(self, names: Iterable[str]) -> None:
        self._waiting = dict.fromkeys(names)
        self._total = len(self._waiting)
        self._failed = 0

    def note(self, report: StartReport) -> None:
        """Count a server that is ready, or could not be started."""
        del self._waiting[report.name]
        self._failed += report.error is not None

    def __str__(self) -> str:
        ready, waiting = self._total - len(self._waiting) - self._failed, list(self._waiting)
        parts = [f"{ready} of {self._total} ready"]
        if self._failed:
            parts.append(f"{self._failed} failed")
        if waiting:
            more = f" and {len(waiting) - _MAX_NAMED} more" if len(waiting) > _MAX_NAMED else ""
            parts.append(f"waiting for {', '.join(map(shown, waiting[:_MAX_NAMED]))}{more}")
        return ", ".join(parts)


async def start_all(upstreams: Iterable[Upstream], *, timeout: float) -> list[StartReport]:  # noqa: ASYNC109  # of each
    """Start servers and read their tools, all at once; give one report for each, in order.

    One that is not ready in time is reported as such, and goes on starting.
    """
    return await asyncio.gather(*(_started(each, timeout) for each in upstreams))


async def close_all(upstreams: Iterable[Upstream], *, drain: float | None = None) -> None:
    """Close servers, all at once; see `Upstream.aclose`."""
    async with asyncio.TaskGroup() as group:
        for each in upstreams:
            group.create_task(each.aclose(drain=drain))


async def _started(upstream: Upstream, seconds: float) -> StartReport:
    try:
        await upstream.start(timeout=seconds)
    except UpstreamError as error:
        return StartReport(name=upstream.name, error=error)
    return StartReport(name=upstream.name)
