"""Passing requests on to the servers behind, without loss and across the eras; and the service that does only that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.relay.failures import rpc_error
    from toolcrib_mcp.relay.relay import Relay
    from toolcrib_mcp.relay.transparent import TransparentService

_HOMES = {
    "Relay": "relay",
    "TransparentService": "transparent",
    "rpc_error": "failures",
}

__all__ = ["Relay", "TransparentService", "rpc_error"]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
