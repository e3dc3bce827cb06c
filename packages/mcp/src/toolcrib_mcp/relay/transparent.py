"""`TransparentService`: the servers of a hub as they are, with nothing added and nothing taken away."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolcrib_core import ToolError, UnknownTool
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import RateLimited, ToolChanged
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.feed import Feed
from toolcrib_mcp.front.service import Request, ServerFace
from toolcrib_mcp.proxy.results import failure
from toolcrib_mcp.relay.failures import rpc_error
from toolcrib_mcp.relay.relay import Relay
from toolcrib_mcp.relay.tools import NamedTools, OwnTools
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.safeguards.call import GuardedCall
from toolcrib_mcp.upstreams import ClientFace
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.errors import ApprovalRefused, ApprovalRequired, BudgetExhausted, NotPermitted

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import HydrationResult
    from toolcrib_mcp.config import ServerSettings
    from toolcrib_mcp.hub.servers import HubServer
    from toolcrib_mcp.hub.view import HubView
    from toolcrib_mcp.safeguards.checkpoint import Checkpoint

_CALL = "tools/call"
_LIST = "tools/list"
_REFUSALS = (NotPermitted, ApprovalRequired, ApprovalRefused, ToolChanged, RateLimited, BudgetExhausted)


class TransparentService:
    """Serves all that the servers of a hub serve; close it before the hub.

    With one server everything is the server's own. With several, tools are called by their provider-safe names, prompts
    `namespace__name`, and lists are merged. Tools that the operator does not admit are not served in either case, nor
    are methods that nobody here knows. With a `checkpoint` every call, and whatever reads a resource, a prompt or a
    completion, passes that first, and tools that are withheld are not served.
    """

    def __init__(self, hub: HubView, *, clock: Clock = SYSTEM_CLOCK, checkpoint: Checkpoint | None = None) -> None:
        self.relay = Relay(hub, checkpoint=checkpoint, clock=clock)
        self._checkpoint = checkpoint
        self._hub = hub
        self._tools = NamedTools(hub, self.relay.reach, self.relay.pages, alone=self.relay.alone)
        alone = self.relay.alone
        self._own = None if alone is None or checkpoint is None else OwnTools(hub, alone)

    @property
    def info(self) -> Mapping[str, Any]:
        """Name and version of this package: a client that looks closely sees who it speaks with."""
        return ClientFace().info

    @property
    def feed(self) -> Feed:
        """What clients are told without having asked."""
        return self._hub.feed

    async def face(self) -> ServerFace:
        """What the servers can do, and how they want to be used.

        Raises:
            RpcError: There is one server, and it cannot be started.
        """
        try:
            return ServerFace(
                capabilities=await self.relay.capabilities(), instructions=await self.relay.instructions()
            )
        except ToolError as error:
            raise rpc_error(error) from error

    async def answer(self, request: Request) -> Mapping[str, Any]:
        """The result of a request, as the server gave it.

        Raises:
            RpcError: The error that the client gets; one of the server's as it came.
        """
        try:
            if (only := self.relay.only) is not None:
                if self._own is not None:
                    return await self._of_own(self._own, only, request)
                return await self._of_one(only, request)
            if request.method == _CALL:
                return await self._call(self._named(request.params.get("name")), request)
            if request.method == _LIST:
                return await self._tools.page(request.params.get("cursor"))
        except ToolError as error:
            raise rpc_error(error) from error
        return await self.relay.answer(request)

    async def subscribe(self, listener: str, uri: str) -> None:
        """Have a notice published `to` the listener whenever the resource has changed.

        Raises:
            RpcError: No server tells of its changes, or the one that has it could not be asked.
        """
        await self.relay.subscribe(listener, uri)

    async def unsubscribe(self, listener: str, uri: str) -> None:
        """The listener no longer wants to know."""
        await self.relay.unsubscribe(listener, uri)

    async def end(self, conversation: str) -> None:
        """A client has gone."""
        await self.relay.end(conversation)

    async def aclose(self) -> None:
        """Stop every call that waits for a client."""
        await self.relay.aclose()

    async def _named(self, name: object) -> tuple[HydrationResult, bool]:
        return await self._tools.named(name), True

    async def _call(self, finding: Awaitable[tuple[HydrationResult, bool]], request: Request) -> dict[str, Any]:
        """The result of a call; what is refused here is a result, too, since an error is for the client alone."""
        try:
            tool, listed = await finding
            return await self._passed(tool, request, listed=listed)
        except _REFUSALS as refused:
            return failure(refused)

    async def _passed(self, tool: HydrationResult, request: Request, *, listed: bool) -> dict[str, Any]:
        async def send(onward: Request) -> dict[str, Any]:
            return await self.relay.call(tool.upstream, _CALL, {**onward.params, "name": tool.upstream_name}, onward)

        if self._checkpoint is None:
            return await send(request)
        request = _with_arguments(request)
        call = GuardedCall(
            tool=tool,
            arguments=request.params.get("arguments", {}),
            request=request,
            risk=self._hub.server(tool.upstream).risk_of(tool),
            declared=self._hub.server(tool.upstream).declared_by(tool),
            flags=self._hub.catalog.snapshot().flags_of(tool.tool_id),
            listed=listed,
        )
        return await self._checkpoint.run(call, send)

    async def _of_own(self, own: OwnTools, server: str, request: Request) -> Mapping[str, Any]:
        """Of one server behind a checkpoint: what it lists is served as the catalogue has it, or not at all.

        What it does not list is for the policy alone, and then for the server, whose own error is better than ours.
        """
        if request.method == _CALL:
            return await self._call(own.named(request.params.get("name")), request)
        result = await self._of_one(server, request)
        if request.method == _LIST and isinstance(tools := result.get("tools"), list):
            kept = await own.shown(tools)
            return result if kept == tools else {**result, "tools": kept}
        return result

    async def _of_one(self, server: str, request: Request) -> Mapping[str, Any]:
        method, about = request.method, self._hub.server(server)
        filtered = not _admits_all(about.settings)
        if filtered and method == _CALL:
            name = request.params.get("name")
            if isinstance(name, str) and not about.admits(name):
                raise _not_served(name)
        result = self.relay.screened(method, await self.relay.call(server, method, request.params, request))
        if filtered and method == _LIST and isinstance(tools := result.get("tools"), list):
            return {**result, "tools": [tool for tool in tools if _admits(about, tool)]}
        return result


def _with_arguments(request: Request) -> Request:
    """A call with arguments as its server gets them; what is no object can be neither shown nor approved."""
    arguments = request.params.get("arguments", {})
    if isinstance(arguments, Mapping):
        return request
    if arguments is not None:
        raise RpcError(INVALID_PARAMS, "`arguments` must be an object.")
    return replace(request, params={name: value for name, value in request.params.items() if name != "arguments"})


def _admits_all(settings: ServerSettings) -> bool:
    return "*" in settings.allow and not settings.deny


def _admits(server: HubServer, tool: Any) -> bool:
    name = tool.get("name") if isinstance(tool, dict) else None
    return not isinstance(name, str) or server.admits(name)


def _not_served(name: str) -> UnknownTool:
    return UnknownTool(f"There is no tool {quoted(name)}.", hint="See `tools/list` for those that are served.")
