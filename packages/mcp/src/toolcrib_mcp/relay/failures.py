"""How a failure travels to a client: as a JSON-RPC error that keeps its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolcrib_core import ToolError, ToolErrorCategory
from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.outward import outward
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import INTERNAL_ERROR

CONNECTION_CLOSED: Final = -32000
"""The code that official clients use for a server that is gone."""

REQUEST_TIMEOUT: Final = -32001
"""The code that official clients use for a server that did not answer in time."""

_CODES: Mapping[ToolErrorCategory, int] = {
    ToolErrorCategory.VALIDATION: INVALID_PARAMS,
    ToolErrorCategory.NOT_FOUND: INVALID_PARAMS,
    ToolErrorCategory.CONFLICT: INVALID_PARAMS,
    ToolErrorCategory.UNAVAILABLE: CONNECTION_CLOSED,
    ToolErrorCategory.TIMEOUT: REQUEST_TIMEOUT,
}


def rpc_error(error: ToolError) -> RpcError:
    """The error that a client gets. What a server answered with passes as it came; ours says what it is in `data`.

    A call whose server ended before it answered stays `UPSTREAM_UNAVAILABLE`; unless `details.sent` is false, nobody
    knows whether it took effect.
    """
    if isinstance(error, UpstreamFailed):
        return RpcError(error.rpc_code, error.rpc_message, error.rpc_data)
    return RpcError(_CODES.get(error.category, INTERNAL_ERROR), error.message, outward(error))
