"""Passing requests on to the servers behind, without loss and across the eras; and the service that does only that."""

from __future__ import annotations

from toolcrib_mcp.relay.failures import rpc_error
from toolcrib_mcp.relay.relay import Relay
from toolcrib_mcp.relay.transparent import TransparentService

__all__ = ["Relay", "TransparentService", "rpc_error"]
