"""`GatewayService`: the gateway as clients meet it, over any transport."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolcrib_core import ToolError, UnknownTool
from toolcrib_core.wording import quoted
from toolcrib_mcp.browse.browser import BrowseResult, check_browse, with_path
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.feed import LIST_CHANGED, Feed, Notice
from toolcrib_mcp.front.service import Caller, Request, ServerFace
from toolcrib_mcp.gateway.digest import CatalogDigest
from toolcrib_mcp.gateway.gateway import Gateway
from toolcrib_mcp.gateway.meta_tools import (
    BROWSE,
    VIEW,
    read_browse,
    read_execute,
    read_view,
)
from toolcrib_mcp.gateway.surfaces import SURFACES
from toolcrib_mcp.gateway.viewing import view_result
from toolcrib_mcp.outward import outward
from toolcrib_mcp.proxy.runtime import CALL
from toolcrib_mcp.proxy.service import LIST, passed_capabilities, read_call
from toolcrib_mcp.relay.merging import META_UNAVAILABLE
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams import ClientFace
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

if TYPE_CHECKING:
    from toolcrib_core import Embedder

META_CARDS: Final = "io.toolcrib/cards"
"""Where in the `_meta` of a page its cards stand as JSON, for programs: a model reads the text."""

_Act: TypeAlias = Callable[[Gateway, Mapping[str, Any], Request], Awaitable[dict[str, Any]]]


class GatewayService:
    """Serves a `Gateway`: exactly `tool_browse`, `tool_execute` and `tool_view`, and all but tools passed through.

    Where the configuration says so, there is in place of `tool_execute` one each for reading, writing and destroying.
    It takes the gateway over, and whatever it is given in `holding` with it: closing it closes them. Close it before
    the hub.
    """

    def __init__(self, gateway: Gateway, *, holding: AsyncExitStack | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.gateway = gateway
        self._holding = holding or AsyncExitStack()
        self._surface = SURFACES[gateway.hub.config.settings.execute]
        executing = {name: partial(self._execute, name) for name in self._surface.ceilings}
        self._acts: Mapping[str, _Act] = {BROWSE: self._browse, **executing, VIEW: self._view}
        self._feed = Feed()
        self._digest = CatalogDigest(gateway.hub, self._feed, clock=clock)
        self._stop_hearing = gateway.hub.feed.subscribe(self._hear)

    @property
    def info(self) -> Mapping[str, Any]:
        """Name and version of this package."""
        return ClientFace().info

    @property
    def feed(self) -> Feed:
        """Notifications for clients; the list of tools changes when the digest of the servers in it does."""
        return self._feed

    async def face(self) -> ServerFace:
        """The capabilities and the instructions: what the servers can do beside tools, and which servers there are."""
        passed = passed_capabilities(self.gateway.relay)
        instructions = self._surface.instructions_with(self._digest.text())
        return ServerFace(capabilities={"tools": {"listChanged": True}, **passed}, instructions=instructions)

    async def answer(self, request: Request) -> Mapping[str, Any]:
        """The result of a request; a call that fails is a result, too, so that the model reads why.

        Raises:
            RpcError: The error that the client gets.
        """
        if request.method == LIST:
            return {"tools": self._surface.tools_with(self._digest.text())}
        if request.method == CALL:
            return await self._call(request)
        return await self.gateway.relay.answer(request)

    async def subscribe(self, listener: str, uri: str) -> None:
        """Publish a notice `to` this listener whenever the resource has changed.

        Raises:
            RpcError: There is no such resource, or nobody tells of its changes.
        """
        await self.gateway.relay.subscribe(listener, uri)

    async def unsubscribe(self, listener: str, uri: str) -> None:
        """The listener no longer wants to know; one that never did is no error."""
        await self.gateway.relay.unsubscribe(listener, uri)

    async def end(self, conversation: str) -> None:
        """A client has gone: forget what was kept for it. Its artifacts live on, for it may come back."""
        self.gateway.forget(conversation)
        await self.gateway.relay.end(conversation)

    async def aclose(self) -> None:
        """Stop every call that waits for a client, and let go of what was held."""
        self._stop_hearing()
        await self._digest.aclose()
        await self.gateway.aclose()
        await self._holding.aclose()

    async def _call(self, request: Request) -> Mapping[str, Any]:
        name, arguments = read_call(request.params)
        act = self._acts.get(name)
        if act is None:
            raise RpcError(
                INVALID_PARAMS, f"Unknown tool: {quoted(name)}", outward(_not_by_name(name, self._surface.first))
            )
        try:
            async with self.gateway_for(request.caller) as gateway:
                return await act(gateway, arguments, request)
        except ToolError as error:
            tool_id = arguments.get("tool_id")
            source = tool_id if isinstance(tool_id, str) else name
            return await self.gateway.told(error, caller=request.caller, source=source)

    @asynccontextmanager
    async def gateway_for(self, caller: Caller) -> AsyncIterator[Gateway]:
        """The gateway that a caller sees; here the same for everybody."""
        del caller
        yield self.gateway

    def search_with(self, embedder: Embedder) -> None:
        """Find tools by meaning, too, from now on."""
        self.gateway.search_with(embedder)

    async def _execute(
        self, name: str, gateway: Gateway, arguments: Mapping[str, Any], request: Request
    ) -> dict[str, Any]:
        tool_id, args = read_execute(arguments)
        check = partial(self._surface.check, name)
        return (await gateway.execute(tool_id, args, request=request, check=check)).result

    async def _view(self, gateway: Gateway, arguments: Mapping[str, Any], request: Request) -> dict[str, Any]:
        handle, selector, cursor = read_view(arguments)
        return view_result(await gateway.view(handle, selector, cursor=cursor, caller=request.caller))

    async def _browse(self, gateway: Gateway, arguments: Mapping[str, Any], request: Request) -> dict[str, Any]:
        try:
            query, path, limit, detail = read_browse(arguments)
            if detail == "full":
                check_browse(query, path, limit)
                return (await gateway.definition(path or str(query), caller=request.caller)).result
        except ToolError as error:
            raise with_path(error, arguments.get("path")) from None
        page = await gateway.browse(query=query, path=path, limit=limit, detail=detail, caller=request.caller)
        return _page_result(page)

    def _hear(self, notice: Notice) -> None:
        if notice.method == LIST_CHANGED["toolsListChanged"]:
            self._digest.invalidate()
        else:
            self._feed.publish(notice)


def _page_result(page: BrowseResult) -> dict[str, Any]:
    meta: dict[str, Any] = {META_CARDS: page.to_json()}
    if page.unavailable:
        meta[META_UNAVAILABLE] = list(page.unavailable)
    return {"content": [{"type": "text", "text": page.text}], "_meta": meta}


def _not_by_name(name: str, execute: str) -> UnknownTool:
    return UnknownTool(
        f"There is no tool {quoted(name)} here, but there may be one behind `{execute}`.",
        hint=f"Look for it with `{BROWSE}`, then call `{execute}` with its id.",
    )
