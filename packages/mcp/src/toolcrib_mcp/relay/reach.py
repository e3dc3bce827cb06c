"""What each server can do, as far as it is known; whoever is not known is asked, and not for long."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import ToolError
from toolcrib_mcp.upstreams import Agreement

if TYPE_CHECKING:
    from toolcrib_mcp.hub.view import HubView

KNOWN_WITHIN: Final = 10.0
"""Seconds that one of several servers has to say what it can do, or to give a list; the others are not kept longer."""


GREETED_WITHIN: Final = 1.0
"""Seconds that a new client waits for servers to say what they can do; who is silent counts as able to do anything."""


class Reach:
    """The last word of every server about itself; it also counts while the server is not running."""

    def __init__(self, hub: HubView) -> None:
        self._hub = hub
        self._missed: set[str] = set()

    async def agreement(self, server: str, *, timeout: float | None = None) -> Agreement:  # noqa: ASYNC109  # the upstream's
        """What a server said about itself when it started last; it is started if it never was.

        Raises:
            GatewayError: It could not be started in time.
        """
        upstream = self._hub.shared(server)
        return upstream.known_agreement or await upstream.agreed(timeout=timeout)

    def patience(self, server: str) -> float:
        """Seconds to wait for one of several servers; none for one that was waited for in vain since it last ran."""
        if self._hub.shared(server).agreement is not None:
            self._missed.discard(server)
        return 0.0 if server in self._missed else KNOWN_WITHIN

    def missed(self, server: str) -> None:
        """A server was waited for in vain; when it is back, its lists have changed."""
        self._missed.add(server)

    async def all(self, *, within: float | None = None) -> dict[str, Agreement | ToolError]:
        """By server, in the order of the configuration: what it said, or why it says nothing in that time."""
        servers = list(self._hub.servers)
        found = await asyncio.gather(*(self._tried(each, within) for each in servers))
        return dict(zip(servers, found, strict=True))

    def known(self) -> dict[str, Agreement | None]:
        """By server, in the order of the configuration: what it said last, without waiting; `None` if nothing yet."""
        return {server: self._hub.shared(server).known_agreement for server in self._hub.servers}

    async def having(self, capability: str) -> tuple[list[str], dict[str, ToolError]]:
        """The servers with a capability, and those of which it is not known, with the reason."""
        agreed = await self.all()
        able = [each for each, said in agreed.items() if isinstance(said, Agreement) and has(said, capability)]
        return able, {each: said for each, said in agreed.items() if isinstance(said, ToolError)}

    async def _tried(self, server: str, within: float | None) -> Agreement | ToolError:
        patience = self.patience(server)
        try:
            return await self.agreement(server, timeout=patience if within is None else min(within, patience))
        except ToolError as failure:
            if within is None:
                self.missed(server)
            return failure


def has(agreement: Agreement, capability: str) -> bool:
    """Whether a server announces a capability."""
    return agreement.capabilities.get(capability) is not None


def flag(capability: Any, name: str) -> bool:
    """Whether what a server announces has a word set."""
    return isinstance(capability, Mapping) and capability.get(name) is True
