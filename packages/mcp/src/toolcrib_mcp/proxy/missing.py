"""The servers whose tools are not known: waited for a little, and never passed over in silence."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import GatewayError, UpstreamUnavailable
from toolcrib_mcp.relay.merging import Merged
from toolcrib_mcp.upstreams.waiting import twin

if TYPE_CHECKING:
    from toolcrib_mcp.hub.view import HubView

# Enough to begin a start, which goes on while nobody waits; a server that hangs must not delay every page.
_SECOND_LOOK: Final = 0.05
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

    async def wait(self, server: str | None = None) -> None:
        """Start the missing servers, or this one, and wait for their tools: at first with patience, then hardly."""
        await asyncio.gather(*(self._look(each) for each in self.names if server in {None, each}))

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

    def _merged(self) -> Merged:
        missing = self.names
        return Merged(
            by_server={each: () for each in self._hub.servers if each not in missing},
            failures={each: self.failure_of(each) for each in missing},
        )
