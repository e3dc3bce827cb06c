"""`ProxyService`: the proxy as clients meet it, over any transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.feed import Feed
from toolcrib_mcp.front.service import Request, ServerFace
from toolcrib_mcp.outward import outward
from toolcrib_mcp.proxy.meta_tools import EXECUTE, HYDRATE, INSTRUCTIONS, META_TOOLS, read_execute, read_hydrate
from toolcrib_mcp.proxy.pages import page_of
from toolcrib_mcp.proxy.results import failure, hydration, not_by_name
from toolcrib_mcp.proxy.runtime import CALL, ProxyRuntime
from toolcrib_mcp.relay.failures import rpc_error
from toolcrib_mcp.relay.merging import META_UNAVAILABLE
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams import ClientFace

if TYPE_CHECKING:
    from toolcrib_mcp.relay import Relay

LIST: Final = "tools/list"

_PASSED: Final[tuple[str, ...]] = ("resources", "prompts", "completions", "logging")


class ProxyService:
    """Serves a `ProxyRuntime`: a stripped list with `tool_hydrate` and `tool_execute`, and all else passed through.

    Close it before the hub.
    """

    def __init__(self, runtime: ProxyRuntime) -> None:
        self._runtime = runtime

    @property
    def info(self) -> Mapping[str, Any]:
        """Name and version of this package."""
        return ClientFace().info

    @property
    def feed(self) -> Feed:
        """What clients are told without having asked; that the list changed, only if theirs did."""
        return self._runtime.hub.feed

    async def face(self) -> ServerFace:
        """What a client is told at first: what the servers can do beside tools, and tools as the proxy has them."""
        passed = passed_capabilities(self._runtime.relay)
        return ServerFace(capabilities={"tools": {"listChanged": True}, **passed}, instructions=INSTRUCTIONS)

    async def answer(self, request: Request) -> Mapping[str, Any]:
        """The result of a request; a call that fails is a result, too, so that the model reads why.

        Raises:
            RpcError: The error that the client gets.
        """
        if request.method == LIST:
            return await self._list(request.params.get("cursor"))
        if request.method == CALL:
            return await self._call(request)
        return await self._runtime.relay.answer(request)

    async def subscribe(self, listener: str, uri: str) -> None:
        """Publish a notice `to` this listener whenever the resource has changed.

        Raises:
            RpcError: There is no such resource, or nobody tells of its changes.
        """
        await self._runtime.relay.subscribe(listener, uri)

    async def unsubscribe(self, listener: str, uri: str) -> None:
        """The listener no longer wants to know; one that never did is no error."""
        await self._runtime.relay.unsubscribe(listener, uri)

    async def end(self, conversation: str) -> None:
        """A client has gone: forget what was kept for it."""
        self._runtime.forget(conversation)
        await self._runtime.relay.end(conversation)

    async def aclose(self) -> None:
        """Stop every call that waits for a client."""
        await self._runtime.relay.aclose()

    async def _list(self, cursor: object) -> dict[str, Any]:
        try:
            stripped = await self._runtime.stripped()
        except ToolError as error:
            raise rpc_error(error) from None
        start, stop, next_cursor = page_of(stripped.ids, cursor)
        # On the first page, for a client that reads no further.
        ours = META_TOOLS.values() if cursor is None else ()
        result: dict[str, Any] = {"tools": [*ours, *stripped.entries[start:stop]]}
        if next_cursor is not None:
            result["nextCursor"] = next_cursor
        unavailable = self._runtime.missing.told()
        if unavailable:
            result["_meta"] = {META_UNAVAILABLE: unavailable}
        return result

    async def _call(self, request: Request) -> Mapping[str, Any]:
        name, arguments = read_call(request.params)
        try:
            if name == EXECUTE:
                execution = read_execute(arguments)
                return await self._runtime.execute(execution.tool_id, execution.args, request=request)
            if name == HYDRATE:
                return hydration(await self._runtime.hydrate(read_hydrate(arguments), caller=request.caller))
        except ToolError as error:
            return failure(error)
        return failure(not_by_name(await self._listed(name)))

    async def _listed(self, name: str) -> str:
        try:
            hydrated = await self._runtime.find(name)
        except ToolError as error:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {quoted(name)}", outward(error)) from None
        return hydrated.tool_id


def passed_capabilities(relay: Relay) -> dict[str, Any]:
    """What the servers can do beside tools, by the names of the protocol, as far as it is known now."""
    theirs = relay.known_capabilities()
    return {name: theirs[name] for name in _PASSED if name in theirs}


def read_call(params: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name and the arguments of a call.

    Raises:
        RpcError: The params are not those of a call.
    """
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise RpcError(INVALID_PARAMS, "`name` must be a string.")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise RpcError(INVALID_PARAMS, "`arguments` must be an object.")
    return name, arguments or {}
