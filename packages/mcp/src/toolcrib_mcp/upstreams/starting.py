"""Many servers at once: started side by side, so that none waits for another, and closed so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from toolcrib_mcp.errors import UpstreamError
from toolcrib_mcp.upstreams.supervisor import Upstream


@dataclass(frozen=True, kw_only=True)
class StartReport:
    """How the start of one server went; without an error, it is running and its tools are known."""

    name: str
    error: UpstreamError | None = None


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
