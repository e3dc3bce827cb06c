"""What is asked of a hub by whoever serves its tools: a hub itself, or what one client may see of several."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from toolcrib_core import BrowseTree
from toolcrib_mcp.catalog import CatalogSnapshot, HydrationResult
from toolcrib_mcp.config import GatewayConfig
from toolcrib_mcp.front.feed import Feed
from toolcrib_mcp.front.service import Caller
from toolcrib_mcp.hub.servers import HubServer
from toolcrib_mcp.rpc import OnNotification, OnRequest
from toolcrib_mcp.upstreams import Listing, Upstream

if TYPE_CHECKING:
    from toolcrib_mcp.hub.hub import Hub


class CatalogView(Protocol):
    """A catalogue to read; see `Catalog`."""

    def snapshot(self) -> CatalogSnapshot:
        """This moment."""

    def hydrate(self, tool_id: str) -> HydrationResult:
        """All about one tool."""

    @property
    def tree(self) -> BrowseTree:
        """The listed tools by path."""


class HubView(Protocol):
    """Servers that can be asked; see `Hub` for what each method does."""

    @property
    def config(self) -> GatewayConfig:
        """What the servers are set to."""

    @property
    def servers(self) -> Mapping[str, HubServer]:
        """The servers by name."""

    @property
    def feed(self) -> Feed:
        """What servers tell without having been asked."""

    @property
    def solo(self) -> bool:
        """Whether there is one client only."""

    @property
    def catalog(self) -> CatalogView:
        """The tools of all servers."""

    async def tools(self, server: str, *, timeout: float) -> Listing:  # noqa: ASYNC109  # as that of `Hub`
        """The tools of a server as it lists them."""

    def shared(self, server: str) -> Upstream:
        """The connection to a server that everybody uses."""

    def server(self, name: str) -> HubServer:
        """How a server is called and treated."""

    def lease(
        self,
        server: str,
        caller: Caller,
        *,
        on_request: OnRequest | None = None,
        on_notification: OnNotification | None = None,
        timeout: float | None = None,
    ) -> AbstractAsyncContextManager[Upstream]:
        """The upstream for one request of a client."""

    async def subscribe(self, listener: str, server: str, uri: str) -> None:
        """Tell a listener of changes of a resource."""

    async def unsubscribe(self, listener: str, server: str, uri: str) -> None:
        """Tell it no more."""

    async def end(self, conversation: str) -> None:
        """A client has gone."""


if TYPE_CHECKING:

    def _is_one(hub: Hub) -> HubView:
        return hub
