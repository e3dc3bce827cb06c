"""What the checkpoint is shown of requests that call no tool, and of calls that come past the gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import ToolDefinition, ToolRisk
from toolcrib_mcp.catalog import HydrationResult
from toolcrib_mcp.config.loading import namespace_of
from toolcrib_mcp.safeguards.call import GuardedCall

if TYPE_CHECKING:
    from toolcrib_mcp.front.service import Request
    from toolcrib_mcp.hub.servers import HubServer
    from toolcrib_mcp.safeguards.checkpoint import Checkpoint

GUARDED: Final = frozenset({"resources/read", "prompts/get", "completion/complete"})
"""The methods beside `tools/call` that read something of a server; a policy means them by these names."""

LISTING: Final = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})
"""The methods that list what there is."""

PASSED: Final = frozenset({"tools/call", *GUARDED, *LISTING})
"""All methods that a server is asked for clients; any other is refused."""

_READS: Final = ToolRisk(effects="read")
_NOT_ARGUMENTS: Final = frozenset({"_meta", "requestState", "inputResponses"})


def guarded_request(about: HubServer, request: Request) -> GuardedCall:
    """A request of one of the methods in `GUARDED`, with its params as the server gets them."""
    method = request.method
    tool = HydrationResult(
        # No tool has such an id: the name in it has no stroke.
        tool_id=f"{about.namespace}:{method}",
        upstream=about.name,
        upstream_name=method,
        definition=ToolDefinition(name=method.replace("/", "_"), namespace=about.namespace, risk=_READS),
        tool_json=b"{}",
    )
    arguments = {name: value for name, value in request.params.items() if name not in _NOT_ARGUMENTS}
    return GuardedCall(tool=tool, arguments=arguments, request=request, risk=_READS, listed=False)


async def run_directly(
    checkpoint: Checkpoint,
    *,
    server: str,
    tool: ToolDefinition,
    arguments: Mapping[str, Any],
    request: Request,
    proceed: Callable[[], Awaitable[Mapping[str, Any]]],
) -> Mapping[str, Any]:
    """What a call gives that reaches a tool of this process without a server between: it passes the checkpoint as well.

    `server` is what a gateway would call the server of the tool, whose risk is known here.

    Raises:
        ToolError: As `Checkpoint.run`, or as `proceed`.
    """
    namespace = namespace_of(server)
    hydrated = HydrationResult(
        tool_id=str(tool.model_copy(update={"namespace": namespace}).id),
        upstream=server,
        upstream_name=tool.name,
        definition=tool,
        tool_json=tool.wire_json,
    )
    params = {"name": tool.name, "arguments": arguments}
    call = GuardedCall(
        tool=hydrated, arguments=arguments, request=replace(request, params=params), risk=tool.risk, listed=False
    )

    async def send(_request: Request) -> dict[str, Any]:
        return {"structuredContent": dict(await proceed())}

    result = await checkpoint.run(call, send)
    answer: Mapping[str, Any] = result["structuredContent"]
    return answer
