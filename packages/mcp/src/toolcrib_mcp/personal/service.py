"""`PersonalGatewayService`: the gateway in which every principal sees their own tools beside those of everybody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from toolcrib_mcp.front.service import Identity
from toolcrib_mcp.gateway.gateway import Gateway
from toolcrib_mcp.gateway.service import GatewayService

if TYPE_CHECKING:
    from toolcrib_core import Embedder
    from toolcrib_mcp.front import Caller
    from toolcrib_mcp.personal.members import Members


class PersonalGatewayService(GatewayService):
    """Serves a gateway to principals; a caller whom nobody asked sees what everybody sees.

    It takes the members over: closing it closes them.
    """

    def __init__(self, gateway: Gateway, members: Members, *, holding: AsyncExitStack | None = None) -> None:
        super().__init__(gateway, holding=holding)
        self._members = members

    @asynccontextmanager
    async def gateway_for(self, caller: Caller) -> AsyncIterator[Gateway]:
        """The gateway that a caller sees, as it is now.

        Raises:
            ToolError: It cannot be told what they have.
        """
        if caller.principal is None:
            yield self.gateway
            return
        async with self._members.gateway_of(Identity(name=caller.principal, scopes=caller.scopes)) as gateway:
            yield gateway

    def search_with(self, embedder: Embedder) -> None:
        """Find tools by meaning, too, from now on."""
        super().search_with(embedder)
        self._members.search_with(embedder)

    async def end(self, conversation: str) -> None:
        """A client has gone: forget what was kept for it."""
        self._members.forget(conversation)
        await super().end(conversation)

    async def aclose(self) -> None:
        """Let all principals go, then everything else."""
        await self._members.aclose()
        await super().aclose()
