"""The gateway: browse any number of tools for a few hundred tokens, execute them, view what is too large to send."""

from __future__ import annotations

from toolcrib_mcp.gateway.behaviour import GatewayBehaviour
from toolcrib_mcp.gateway.browsing import BrowseResult
from toolcrib_mcp.gateway.envelope import ExecuteResult, KeptPart, ResultEnvelope
from toolcrib_mcp.gateway.gateway import Gateway
from toolcrib_mcp.gateway.opening import open_gateway_service
from toolcrib_mcp.gateway.service import GatewayService

__all__ = [
    "BrowseResult",
    "ExecuteResult",
    "Gateway",
    "GatewayBehaviour",
    "GatewayService",
    "KeptPart",
    "ResultEnvelope",
    "open_gateway_service",
]
