"""The servers whose tools are not known: waited for a little, and never passed over in silence."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import GatewayError, UpstreamUnavailable
from toolcrib_mcp.relay.merging import Merged
from toolcrib_mcp.upstreams.states import Phase
from toolcrib_mcp.upstreams.waiting import twin

if TYPE_CHECKING:
    from toolcrib_mcp.hub.view import HubView

# Enough to begin a start, which goes on while nobody waits; a server that hangs must not delay every page.
_SECOND_LOOK: Final = 0.05
_UNDERWAY: Final = (Phase.STARTING, Phase.SERVING)
_SEPARATORS: Final = (":", "__", "/", ".")


class MissingServers:
    """Knows which servers of a hub are missing from its catalogue, and why."""

    def __init__(self, hub: HubView, *, patience: float) -> None:
        self._hub = hub
        self._patience = patience
        self._failures: dict[str, GatewayError] = {}

    @property
    def names(self) -> list[str]:
        """Those that are missing now, in the order of the configuration."""
        known = frozenset(self._hub.catalog.snapshot().upstreams)
        return [each for each in self._hub.servers if each not in known]

    @property
    def starting(self) -> list[str]:
        """Those of them that have not failed: they are being started, or list their tools."""
        return [each for each in self.names if self._is_starting(each)]

    async def wait(self, server: str | None = None) -> None:
        """Start the missing servers, or this one, and wait for their tools: at first with patience, then hardly."""
        await asyncio.gather(*(self._look(each) for each in self.names if server in {None, each}))

    async def start(self, named: str) -> None:
        """Start the missing servers, and wait only if no tool is known, or for the server that an id or path names."""
        known = [each for each in self.names if self._hub.shared(each).known_tools is not None]
        # Only until they are in the catalogue: no server has to run for that.
        await asyncio.gather(*map(self._look, known))
        if not len(self._hub.catalog.snapshot()):
            await self.wait()
            return
        server = self.server_of(named)
        if server is not None:
            await self.wait(server)
        await asyncio.gather(*map(self._begin, self.names))

    def server_of(self, tool_id: str) -> str | None:
        """The missing server whose tool this would be, by the namespace of its id in any form."""
        text = unquote(tool_id).removeprefix("/")
        namespaces = {each: self._hub.servers[each].namespace for each in self.names}
        fitting = [
            each
            for each, namespace in namespaces.items()
            if text.startswith(tuple(f"{namespace}{mark}" for mark in _SEPARATORS))
        ]
        return max(fitting, key=lambda each: len(namespaces[each]), default=None)

    def failure_of(self, server: str) -> GatewayError:
        """Why the tools of a server are not known, to be raised."""
        failure = self._failures.get(server)
        if failure is not None:
            return twin(failure)
        return UpstreamUnavailable(
            f"The tools of {quoted(server)} are not known yet.", hint="Try again.", details={"upstream": server}
        )

    def told(self) -> list[dict[str, Any]]:
        """The missing servers as data for a client, each with the reason."""
        return self._merged().unavailable

    def check_any(self) -> None:
        """See to it that failures do not pass for an empty list.

        Raises:
            GatewayError: Not one server is known, and there are some.
        """
        self._merged().check()

    async def _look(self, server: str) -> None:
        seconds = _SECOND_LOOK if server in self._failures else self._patience
        try:
            await self._hub.tools(server, timeout=seconds)
        except GatewayError as failure:
            self._failures[server] = failure
        else:
            self._failures.pop(server, None)

    async def _begin(self, server: str) -> None:
        if self._is_starting(server) and self._hub.shared(server).health().phase in _UNDERWAY:
            return
        try:
            await self._hub.tools(server, timeout=_SECOND_LOOK)
        except GatewayError as failure:
            # A server that is only slow is still waited for with patience by a call that needs it.
            if not self._is_starting(server):
                self._failures[server] = failure

    def _is_starting(self, server: str) -> bool:
        upstream = self._hub.shared(server)
        health = upstream.health()
        return upstream.known_tools is None and health.last_failure is None and health.tools_problem is None

    def _merged(self) -> Merged:
        missing = self.names
        return Merged(
            by_server={each: () for each in self._hub.servers if each not in missing},
            failures={each: self.failure_of(each) for each in missing},
        )
