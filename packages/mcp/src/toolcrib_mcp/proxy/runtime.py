"""`ProxyRuntime`: every tool of every server, listed without its schema and run by its id."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import ArgumentError, InvalidToolId, ResolutionError, ToolError, ToolRisk, validate_arguments
from toolcrib_mcp.catalog import HydrationResult
from toolcrib_mcp.errors import UpstreamError
from toolcrib_mcp.proxy.embedding import lone_request
from toolcrib_mcp.proxy.meta_tools import HYDRATE
from toolcrib_mcp.proxy.missing import MissingServers
from toolcrib_mcp.proxy.outcomes import judged
from toolcrib_mcp.proxy.results import in_words_of_caller, is_for_client, refused_by_server
from toolcrib_mcp.proxy.stripping import NameForm, StrippedList, Stripper
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.safeguards.call import GuardedCall, RiskCheck

if TYPE_CHECKING:
    from toolcrib_mcp.front import Request
    from toolcrib_mcp.hub.view import HubView
    from toolcrib_mcp.relay import Relay
    from toolcrib_mcp.safeguards.checkpoint import Checkpoint

CALL: Final = "tools/call"

_OURS: Final = frozenset({"name", "arguments"})
_ANSWERS: Final = ("inputResponses", "requestState")


class ProxyRuntime:
    """The tools of a hub: a list that costs little to read, one definition at a time, and calls checked beforehand.

    It needs no client: whatever has an event loop may use it. `names` is how tools are named in the list; every form
    is accepted back. The list is always in the order of the ids, and a tool whose card does not change keeps its bytes,
    so `cache_stable`, which orders what is browsed for prompt caches, changes nothing about it. `patience` is how many
    seconds a list waits, once, for a server that is being started. With a `checkpoint` every call passes that first.
    """

    def __init__(
        self,
        hub: HubView,
        *,
        relay: Relay | None = None,
        names: NameForm = "id",
        cache_stable: bool = False,
        patience: float = 10.0,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.hub = hub
        self._checkpoint = checkpoint
        self.relay = _relay_of(hub) if relay is None else relay
        self.cache_stable = cache_stable
        self.missing = MissingServers(hub, patience=patience)
        self._stripper = Stripper(names)

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

    async def hydrate(self, tool_id: str) -> HydrationResult:
        """All about one tool, by any form of its id; asking again for the same one costs nothing.

        Raises:
            ResolutionError: No tool has the id; the hint has the nearest ones.
            InvalidToolId: It is not an id in any form.
            DuplicateTool: Several tools claim it, and none is served.
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
            ToolError: As `hydrate`.
            ArgumentError: The arguments do not satisfy the schema; `details["violations"]` lists every place.
            GatewayError: The server answered with a JSON-RPC error, which is in the details.
            UpstreamError: The server could not be asked, or gave no answer that can be used.
            UnknownOutcome: The connection was lost on the call, and the tool may have done its work.
            RpcError: The server answered with an error that only the client itself can act on.
        """
        tool = await self.hydrate(tool_id)
        try:
            arguments = _validated(tool, {} if args is None else args)
            return await self.call(tool, arguments, request=lone_request() if request is None else request)
        except ToolError as error:
            raise in_words_of_caller(error, tool, tool_id) from None

    async def call(
        self,
        tool: HydrationResult,
        arguments: Mapping[str, Any],
        *,
        request: Request,
        check: RiskCheck | None = None,
    ) -> dict[str, Any]:
        """Call a tool with arguments that were found to be valid, and give its result as its server sent it.

        `check` is asked first whether a tool of its risk may be called in this way.

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
            check=check,
        )
        if self._checkpoint is None:
            call.check_risk()
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


def _relay_of(hub: HubView) -> Relay:
    # Here, since only who has no relay yet pays for the import.
    from toolcrib_mcp.relay import Relay

    return Relay(hub)


def _validated(tool: HydrationResult, args: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return validate_arguments(tool.definition, args)
    except ArgumentError as error:
        error.hint = " ".join(filter(None, (error.hint, f"`{HYDRATE}` shows the schema.")))
        raise
