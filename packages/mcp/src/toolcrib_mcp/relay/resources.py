"""Resources of several servers: their URIs stay as they are, and every request finds the server it is for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.relay.failures import rpc_error
from toolcrib_mcp.relay.merging import Merged
from toolcrib_mcp.relay.routes import ResourceRoutes
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND

META_SHADOWED: Final = "io.toolcrib/shadowed"
"""Where a merged list names resources that are left out because another server lists the same URI before."""

RESOURCE_NOT_FOUND: Final = -32002
"""How a server of the handshake era says that it has no such resource; a modern one says `INVALID_PARAMS`."""

_MAX_SHADOWED = 20
_NOT_HERE = frozenset({RESOURCE_NOT_FOUND, INVALID_PARAMS, METHOD_NOT_FOUND})

_T = TypeVar("_T")


async def asked_in_turn(routes: ResourceRoutes, uri: str, ask: Callable[[str], Awaitable[_T]]) -> tuple[str, _T]:
    """What the server says that has a resource, with its name.

    Others are asked only if nobody is known to have it, or whoever is says that it has not. Their refusals are not
    always one of the codes that mean "not found", so any of them makes room for the next server.

    Raises:
        RpcError: All refused. A server that could not be asked counts more than one that has no such resource.
        ToolError: The server that has it could not be asked.
    """
    refusals: list[RpcError] = []
    owner = await routes.owner(uri)
    if owner is not None:
        try:
            return owner, await _ask(ask, owner)
        except RpcError as refusal:
            if refusal.code not in _NOT_HERE:
                raise
            refusals.append(refusal)
    servers, failures = await routes.others(uri)
    missing = list(failures.values())
    for server in (each for each in servers if each != owner):
        try:
            found = await _ask(ask, server)
        except RpcError as refusal:
            refusals.append(refusal)
        except ToolError as failure:
            missing.append(failure)
        else:
            routes.learn(uri, server)
            return server, found
    raise _best(uri, refusals, missing)


async def _ask(ask: Callable[[str], Awaitable[_T]], server: str) -> _T:
    try:
        return await ask(server)
    except UpstreamFailed as refusal:
        raise rpc_error(refusal) from None


def once(resources: Merged) -> tuple[list[Any], list[dict[str, Any]]]:
    """Every resource once, and the first of those left out: a URI that several servers list leads to the first."""
    owner: dict[str, str] = {}
    items: list[Any] = []
    shadowed: list[dict[str, Any]] = []
    for server, each in resources.by_server.items():
        for item in each:
            uri = item.get("uri") if isinstance(item, dict) else None
            if isinstance(uri, str) and owner.setdefault(uri, server) != server:
                shadowed.append({"uri": uri, "server": server, "servedBy": owner[uri]})
            else:
                items.append(item)
    return items, shadowed[:_MAX_SHADOWED]


def uri_of(params: Mapping[str, Any]) -> str:
    """The `uri` of a request.

    Raises:
        RpcError: There is none.
    """
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "`uri` must be a string.")
    return uri


def _best(uri: str, refusals: list[RpcError], missing: list[ToolError]) -> RpcError:
    telling = [each for each in refusals if each.code not in _NOT_HERE]
    if telling:
        return telling[0]
    if missing:
        return rpc_error(missing[0])
    if refusals:
        return refusals[0]
    return RpcError(INVALID_PARAMS, f"No server has the resource {quoted(uri)}.", {"uri": uri})
