"""One list of several servers: in the order of the configuration, and with a word about those that are missing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import ToolError
from toolcrib_mcp.errors import GatewayError, ListingIncomplete, UpstreamUnavailable
from toolcrib_mcp.outward import outward
from toolcrib_mcp.relay.reach import Reach
from toolcrib_mcp.upstreams import ListKind

if TYPE_CHECKING:
    from toolcrib_mcp.hub.view import HubView

META_UNAVAILABLE: Final = "io.toolcrib/unavailable"
"""Where a merged list names the servers whose part is missing or not whole."""


@dataclass(frozen=True, kw_only=True)
class Merged:
    """The lists of several servers, each entry as it came, and why some servers' are missing."""

    by_server: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    failures: Mapping[str, ToolError] = field(default_factory=dict)

    @property
    def unavailable(self) -> list[dict[str, Any]]:
        """The failures as data for a client."""
        return [{"server": server, **outward(error)} for server, error in self.failures.items()]

    @property
    def meta(self) -> dict[str, Any]:
        """What the `_meta` of the list says about what is missing in it."""
        return {META_UNAVAILABLE: self.unavailable} if self.failures else {}

    def check(self) -> None:
        """See to it that a failure does not pass for an empty list.

        Raises:
            ToolError: No server could give its list; one failure alone is raised as it is.
        """
        if self.by_server or not self.failures:
            return
        every = list(self.failures.values())
        if len(every) == 1:
            raise every[0]
        raise UpstreamUnavailable(
            "No server could give its list.",
            hint="See `details.servers` for what is wrong with each.",
            retryable=any(each.retryable for each in every),
            details={"servers": self.unavailable},
        )


async def merged(hub: HubView, reach: Reach, kind: ListKind) -> Merged:
    """The lists of all servers that have one of this kind, read at once and within bounds."""
    able, failures = await reach.having(kind.capability)
    found = await asyncio.gather(*(_listed(hub, reach, each, kind) for each in able))
    by_server = {server: items for server, (items, _) in zip(able, found, strict=True) if items is not None}
    failures |= {server: error for server, (_, error) in zip(able, found, strict=True) if error is not None}
    in_order = {server: failures[server] for server in hub.servers if server in failures}
    return Merged(by_server=by_server, failures=in_order)


async def _listed(
    hub: HubView, reach: Reach, server: str, kind: ListKind
) -> tuple[tuple[Any, ...] | None, GatewayError | None]:
    try:
        listing = await hub.shared(server).list(kind, timeout=reach.patience(server))
    except ListingIncomplete as stopped:
        # What was read is served, and the list says that it is not whole.
        return stopped.partial.items, stopped
    except GatewayError as failure:
        reach.missed(server)
        return None, failure
    return listing.items, None
