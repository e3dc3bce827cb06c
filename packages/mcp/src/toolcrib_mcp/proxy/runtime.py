"""`ProxyRuntime`: every tool of every server, listed without its schema and run by its id."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import (
    ArgumentError,
    CatalogError,
    InvalidToolId,
    ResolutionError,
    ToolError,
    ToolRisk,
    validate_arguments,
)
from toolcrib_mcp.browse.browser import Browser, BrowseResult, Detail
from toolcrib_mcp.browse.seen import client_key
from toolcrib_mcp.catalog import HydrationResult
from toolcrib_mcp.errors import GatewayError, UpstreamError
from toolcrib_mcp.outward import HYDRATE_FAILED, outward_code
from toolcrib_mcp.proxy.embedding import lone_request
from toolcrib_mcp.proxy.meta_tools import HYDRATE
from toolcrib_mcp.proxy.missing import MissingServers
from toolcrib_mcp.proxy.outcomes import judged
from toolcrib_mcp.proxy.results import in_words_of_caller, is_for_client, refused_by_server
from toolcrib_mcp.proxy.stripping import NameForm, StrippedList, Stripper
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.safeguards.call import GuardedCall, RiskCheck, Validate

if TYPE_CHECKING:
    from toolcrib_core import Embedder
    from toolcrib_mcp.front import Caller, Request
    from toolcrib_mcp.hub.view import HubView
    from toolcrib_mcp.relay import Relay
    from toolcrib_mcp.safeguards.checkpoint import Checkpoint
    from toolcrib_store import Store

CALL: Final = "tools/call"

_OURS: Final = frozenset({"name", "arguments"})
_ANSWERS: Final = ("inputResponses", "requestState")


class ProxyRuntime:
    """The tools of a hub: pages of cards, a stripped list, one definition at a time, and calls that are checked first.

    Both modes use it: the proxy lists, the gateway browses. It needs no client; a call without a `caller` or `request`
    is that of the local user. `names` is how tools are named in the list; every form is accepted back.

    With `cache_stable` each client gets the tools that it has browsed, hydrated or executed first, unchanged, by id;
    then a marker; then the new ones by id. The list is by id anyway, and has no marker. What clients have seen is in
    the `shared` store, if there is one. `patience` is how many seconds a list or page waits, once, for a server that
    is being started. With a `checkpoint` every call passes that first.
    """

    def __init__(
        self,
        hub: HubView,
        *,
        relay: Relay | None = None,
        names: NameForm = "id",
        cache_stable: bool = False,
        browse_limit: int = 8,
        patience: float = 10.0,
        checkpoint: Checkpoint | None = None,
        embedder: Embedder | None = None,
        shared: Store | None = None,
    ) -> None:
        self.hub = hub
        self._checkpoint = checkpoint
        self.relay = _relay_of(hub, checkpoint) if relay is None else relay
        self.missing = MissingServers(hub, patience=patience)
        self._stripper = Stripper(names)
        self._browser = Browser(
            hub, self.missing, cache_stable=cache_stable, limit=browse_limit, embedder=embedder, shared=shared
        )

    async def browse(
        self,
        *,
        query: str | None = None,
        path: str | None = None,
        limit: int | None = None,
        detail: Detail = "card",
        caller: Caller | None = None,
    ) -> BrowseResult:
        """One page of tools, by a query in words or by a path: exactly one of them.

        Raises:
            ToolError: As `Browser.browse`; `details["path"]` is the path that was asked for.
        """
        client = client_key(_asking(caller))
        return await self._browser.browse(query=query, path=path, limit=limit, detail=detail, client=client)

    async def list_tools(self) -> list[dict[str, Any]]:
        """Every listed tool, stripped to name, description and the schema that says nothing, ascending by id.

        Raises:
            UpstreamError: No tool is known, and every server failed; never an empty list in place of that.
        """
        stripped = await self.stripped()
        return [{**entry, "inputSchema": dict(entry["inputSchema"])} for entry in stripped.entries]

    async def stripped(self) -> StrippedList:
        """As `list_tools`, for whoever changes nothing of it.

        Raises:
            UpstreamError: As `list_tools`.
        """
        await self.missing.wait()
        snapshot = self.hub.catalog.snapshot()
        if not len(snapshot):
            self.missing.check_any()
        ready = self._stripper.stripped(snapshot)
        return await asyncio.to_thread(self._stripper.strip, snapshot) if ready is None else ready

    async def hydrate(self, tool_id: str, *, caller: Caller | None = None) -> HydrationResult:
        """All about one tool, by any form of its id; it counts as seen by the caller.

        Raises:
            GatewayError: The id means no tool, or several; the code is `HYDRATE_FAILED`, `details["cause"]` has the
                code with which a call of the tool fails.
            ToolChanged: The tool is withheld.
            UpstreamUnavailable: The tools of the server that the id names are not known.
        """
        try:
            tool = await self.find(tool_id)
        except (ResolutionError, InvalidToolId, CatalogError) as error:
            raise _hydrate_failed(error) from error
        await self.note_used(tool, caller=caller)
        return tool

    async def note_used(self, tool: HydrationResult, *, caller: Caller | None) -> None:
        """Count a tool as seen by the caller."""
        await self._browser.note_used(client_key(_asking(caller)), tool.tool_id)

    def forget(self, client: str) -> None:
        """The client has gone: forget what it has seen."""
        self._browser.forget(client)

    def search_with(self, embedder: Embedder) -> None:
        """Find tools by meaning, too, from now on."""
        self._browser.embedder = embedder

    async def find(self, tool_id: str) -> HydrationResult:
        """As `hydrate`, for a call: the errors say what is wrong with the id, and nothing counts as seen.

        Raises:
            ResolutionError: No tool has the id; the hint has the nearest ones.
            InvalidToolId: It is not an id in any form.
            DuplicateTool: Several tools claim it, and none is served.
            ToolChanged: The tool is withheld.
            UpstreamUnavailable: The tools of the server that the id names are not known.
        """
        try:
            return self.hub.catalog.hydrate(tool_id)
        except (ResolutionError, InvalidToolId):
            if not self.missing.names:
                raise
        # A name alone may be that of a tool of any server that is still starting.
        server = self.missing.server_of(tool_id)
        await self.missing.wait(server)
        if server is None or server in self.hub.catalog.snapshot().upstreams:
            return self.hub.catalog.hydrate(tool_id)
        raise self.missing.failure_of(server)

    async def execute(
        self, tool_id: str, args: Mapping[str, Any] | None = None, *, request: Request | None = None
    ) -> dict[str, Any]:
        """Call a tool, and give its result as its server sent it. Nothing is sent unless the arguments are valid.

        `request` is that of the client on whose behalf it happens: progress, questions and cancellation are its own.

        Raises:
            ToolError: As `find`.
            ArgumentError: The arguments do not satisfy the schema; `details["violations"]` lists every place.
            GatewayError: The server answered with a JSON-RPC error, which is in the details.
            UpstreamError: The server could not be asked, or gave no answer that can be used.
            UnknownOutcome: The connection was lost on the call, and the tool may have done its work.
            RpcError: The server answered with an error that only the client itself can act on.
        """
        request = lone_request() if request is None else request
        tool = await self.find(tool_id)
        await self.note_used(tool, caller=request.caller)
        try:
            arguments = {} if args is None else args
            return await self.call(tool, arguments, request=request, validate=lambda: _validate(tool, arguments))
        except ToolError as error:
            raise in_words_of_caller(error, tool, tool_id) from None

    async def call(
        self,
        tool: HydrationResult,
        arguments: Mapping[str, Any],
        *,
        request: Request,
        validate: Validate,
        check: RiskCheck | None = None,
    ) -> dict[str, Any]:
        """Call a tool, and give its result as its server sent it.

        `check` is asked first whether a tool of its risk may be called in this way. The arguments are validated by
        `validate` once it is known that the call is not denied: that may take long.

        Raises:
            ToolError: As `execute`, and what the checkpoint refuses.
            RpcError: As `execute`.
        """
        call = GuardedCall(
            tool=tool,
            arguments=arguments,
            request=request,
            risk=self.risk_of(tool),
            declared=self.hub.server(tool.upstream).declared_by(tool),
            flags=self.hub.catalog.snapshot().flags_of(tool.tool_id),
            validate=validate,
            check=check,
        )
        if self._checkpoint is None:
            call.check_risk()
            validate()
            return await self._send(tool, arguments, request)
        return await self._checkpoint.run(call, lambda onward: self._send(tool, arguments, onward))

    async def _send(self, tool: HydrationResult, arguments: Mapping[str, Any], request: Request) -> dict[str, Any]:
        onward = {name: value for name, value in request.params.items() if name not in _OURS}
        params = {**onward, "name": tool.upstream_name, "arguments": arguments}
        try:
            return await self.relay.call(tool.upstream, CALL, params, request)
        except RpcError as error:
            if is_for_client(error) or any(each in onward for each in _ANSWERS):
                raise
            raise refused_by_server(error, tool) from error
        except UpstreamError as error:
            verdict = judged(error, tool_id=tool.tool_id, risk=self.risk_of(tool))
            if verdict is error:
                raise
            raise verdict from error

    def risk_of(self, tool: HydrationResult) -> ToolRisk:
        """What the tool may do, as the operator sees it."""
        return self.hub.server(tool.upstream).risk_of(tool)


def _asking(caller: Caller | None) -> Caller:
    return lone_request().caller if caller is None else caller


def _hydrate_failed(error: ToolError) -> GatewayError:
    details = {**error.details, "cause": outward_code(error)}
    return GatewayError(error.message, code=HYDRATE_FAILED, category=error.category, hint=error.hint, details=details)


def _relay_of(hub: HubView, checkpoint: Checkpoint | None) -> Relay:
    # Here, since only who has no relay yet pays for the import.
    from toolcrib_mcp.relay import Relay

    return Relay(hub, checkpoint=checkpoint)


def _validate(tool: HydrationResult, args: Mapping[str, Any]) -> None:
    try:
        validate_arguments(tool.definition, args)
    except ArgumentError as error:
        error.hint = " ".join(filter(None, (error.hint, f"`{HYDRATE}` shows the schema.")))
        raise
