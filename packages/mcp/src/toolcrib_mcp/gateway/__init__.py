"""The gateway: browse any number of tools for a few hundred tokens, execute them, view what is too large to send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.gateway.behaviour import GatewayBehaviour
    from toolcrib_mcp.gateway.envelope import ExecuteResult, KeptPart, ResultEnvelope
    from toolcrib_mcp.gateway.gateway import Gateway
    from toolcrib_mcp.gateway.opening import open_gateway_service
    from toolcrib_mcp.gateway.service import GatewayService

_HOMES = {
    "ExecuteResult": "envelope",
    "Gateway": "gateway",
    "GatewayBehaviour": "behaviour",
    "GatewayService": "service",
    "KeptPart": "envelope",
    "ResultEnvelope": "envelope",
    "open_gateway_service": "opening",
}

__all__ = [
    "ExecuteResult",
    "Gateway",
    "GatewayBehaviour",
    "GatewayService",
    "KeptPart",
    "ResultEnvelope",
    "open_gateway_service",
]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
