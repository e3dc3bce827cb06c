"""JSON-RPC 2.0 with one server over anything: messages, wires, and connections with many requests at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.rpc.calls import OnProgress
    from toolcrib_mcp.rpc.connection import Connection
    from toolcrib_mcp.rpc.incoming import OnNotification, OnRequest
    from toolcrib_mcp.rpc.memory_wire import MemoryWire, memory_wires
    from toolcrib_mcp.rpc.messages import RpcError
    from toolcrib_mcp.rpc.reader import MAX_LINE, MessageReader
    from toolcrib_mcp.rpc.stats import ConnectionStats
    from toolcrib_mcp.rpc.stdio_wire import StdioWire, open_stdio_wire
    from toolcrib_mcp.rpc.wire import Unreadable, Wire, WireClosed, WireNoise

_HOMES = {
    "MAX_LINE": "reader",
    "Connection": "connection",
    "ConnectionStats": "stats",
    "MemoryWire": "memory_wire",
    "MessageReader": "reader",
    "OnNotification": "incoming",
    "OnProgress": "calls",
    "OnRequest": "incoming",
    "RpcError": "messages",
    "StdioWire": "stdio_wire",
    "Unreadable": "wire",
    "Wire": "wire",
    "WireClosed": "wire",
    "WireNoise": "wire",
    "memory_wires": "memory_wire",
    "open_stdio_wire": "stdio_wire",
}

__all__ = [
    "MAX_LINE",
    "Connection",
    "ConnectionStats",
    "MemoryWire",
    "MessageReader",
    "OnNotification",
    "OnProgress",
    "OnRequest",
    "RpcError",
    "StdioWire",
    "Unreadable",
    "Wire",
    "WireClosed",
    "WireNoise",
    "memory_wires",
    "open_stdio_wire",
]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
