"""`JoinedHub`: the servers that everybody has and those of one principal, seen as one hub."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from toolcrib_mcp.catalog import CatalogSnapshot, HydrationResult
from toolcrib_mcp.hub import Hub, HubServer
from toolcrib_mcp.hub.view import HubView

if TYPE_CHECKING:
    from toolcrib_core import BrowseTree
    from toolcrib_mcp.config import GatewayConfig
    from toolcrib_mcp.front import Caller
    from toolcrib_mcp.front.feed import Feed
    from toolcrib_mcp.rpc import OnNotification, OnRequest
    from toolcrib_mcp.upstreams import Listing, Upstream


class JoinedCatalog:
    """The tools of both hubs; joined anew only when one of them has changed."""

    def __init__(self, shared: Hub, own: Hub) -> None:
        self._shared = shared
        self._own = own
        self._last: tuple[CatalogSnapshot, CatalogSnapshot, CatalogSnapshot] | None = None

    def snapshot(self) -> CatalogSnapshot:
        """This moment."""
        shared, own = self._shared.catalog.snapshot(), self._own.catalog.snapshot()
        if self._last is None or self._last[0] is not shared or self._last[1] is not own:
            self._last = shared, own, shared.joined(own)
        return self._last[2]

    def hydrate(self, tool_id: str) -> HydrationResult:
        """All about one tool, by any form of its id.

        Raises:
            ToolError: As `CatalogSnapshot.resolve`.
        """
        return self.snapshot().hydrate(tool_id)

    @property
    def tree(self) -> BrowseTree:
        """The listed tools by path."""
        return self.snapshot().tree


class JoinedHub:
    """What one principal may ask. It owns neither hub: whoever made them closes them."""

    def __init__(self, shared: Hub, own: Hub) -> None:
        self._shared = shared
        self._own = own
        self._catalog = JoinedCatalog(shared, own)

    @property
    def servers(self) -> Mapping[str, HubServer]:
        """The servers by name."""
        return {**self._own.servers, **self._shared.servers}

    @property
    def config(self) -> GatewayConfig:
        """That of the servers which everybody has."""
        return self._shared.config

    @property
    def feed(self) -> Feed:
        """What the servers tell which everybody has."""
        return self._shared.feed

    @property
    def solo(self) -> bool:
        """Whether there is one client only."""
        return self._shared.solo

    @property
    def catalog(self) -> JoinedCatalog:
        """The tools of all of them."""
        return self._catalog

    async def tools(self, server: str, *, timeout: float) -> Listing:  # noqa: ASYNC109  # as that of `Hub`
        """The tools of a server as it lists them; see `Hub.tools`."""
        return await self._of(server).tools(server, timeout=timeout)

    def shared(self, server: str) -> Upstream:
        """The connection to a server; see `Hub.shared`."""
        return self._of(server).shared(server)

    def server(self, name: str) -> HubServer:
        """How a server is called and treated; see `Hub.server`."""
        return self._of(name).server(name)

    def lease(
        self,
        server: str,
        caller: Caller,
        *,
        on_request: OnRequest | None = None,
        on_notification: OnNotification | None = None,
        timeout: float | None = None,
    ) -> AbstractAsyncContextManager[Upstream]:
        """The upstream for one request; see `Hub.lease`."""
        hub = self._of(server)
        return hub.lease(server, caller, on_request=on_request, on_notification=on_notification, timeout=timeout)

    async def subscribe(self, listener: str, server: str, uri: str) -> None:
        """Tell a listener of changes of a resource; see `Hub.subscribe`."""
        await self._of(server).subscribe(listener, server, uri)

    async def unsubscribe(self, listener: str, server: str, uri: str) -> None:
        """Tell it no more; see `Hub.unsubscribe`."""
        await self._of(server).unsubscribe(listener, server, uri)

    async def end(self, conversation: str) -> None:
        """A client has gone. What is kept for it in the shared hub is that one's own business."""
        await self._own.end(conversation)

    def _of(self, server: str) -> Hub:
        return self._shared if server in self._shared.servers else self._own


if TYPE_CHECKING:

    def _is_one(hub: JoinedHub) -> HubView:
        return hub
