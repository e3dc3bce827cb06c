"""A request that no client made: for programs that use the proxy without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib_mcp.front.service import Caller, Request
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.upstreams.eras import MODERN_VERSIONS, Era


def lone_request() -> Request:
    """A call on nobody's behalf: it offers a server nothing, and hears nothing but the result."""
    caller = Caller(era=Era.MODERN, protocol_version=MODERN_VERSIONS[-1])
    return Request(method="tools/call", params={}, caller=caller, channel=_Nobody())


class _Nobody:
    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Nobody hears it."""

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ARG002, ASYNC109  # as in `Channel`
        """Nobody answers."""
        raise RpcError(METHOD_NOT_FOUND, "There is no client to ask.")
