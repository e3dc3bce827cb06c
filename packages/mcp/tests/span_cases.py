"""Calls for the tests of spans and of what is written down about a call."""

from __future__ import annotations

from typing import Any

from toolcrib_core import ToolDefinition, ToolRisk
from toolcrib_mcp.catalog import HydrationResult
from toolcrib_mcp.front import Request
from toolcrib_mcp.front.service import Caller
from toolcrib_mcp.proxy.embedding import lone_request
from toolcrib_mcp.safeguards.call import GuardedCall
from toolcrib_mcp.upstreams.eras import Era

CANARY = "canary-61d0aa"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


def guarded(
    *, named: bool = False, meta: dict[str, Any] | None = None, arguments: Any = None, **client: Any
) -> GuardedCall:
    """A call of a tool; a `named` one says which trace it belongs to."""
    tool = HydrationResult(
        tool_id="files:read#01234567",
        upstream="files",
        upstream_name="read",
        definition=ToolDefinition(name="read", description=CANARY),
        tool_json=b'{"name":"read"}',
    )
    given = {"traceparent": PARENT, "tracestate": "vendor=1"} if named else meta
    params: dict[str, Any] = {} if given is None else {"_meta": given}
    caller = Caller(era=Era.HANDSHAKE, protocol_version="2025-11-25", conversation="c1", **client)
    request = Request(method="tools/call", params=params, caller=caller, channel=lone_request().channel)
    chosen = {"query": CANARY} if arguments is None else arguments
    return GuardedCall(tool=tool, arguments=chosen, request=request, risk=ToolRisk(effects="read"))
