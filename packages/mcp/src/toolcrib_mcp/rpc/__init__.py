"""JSON-RPC 2.0 with one server over anything: messages, wires, and connections with many requests at once."""

from __future__ import annotations

from toolcrib_mcp.rpc.calls import OnProgress
from toolcrib_mcp.rpc.connection import Connection
from toolcrib_mcp.rpc.incoming import OnNotification, OnRequest
from toolcrib_mcp.rpc.memory_wire import MemoryWire, memory_wires
from toolcrib_mcp.rpc.messages import RpcError
from toolcrib_mcp.rpc.reader import MAX_LINE, MessageReader
from toolcrib_mcp.rpc.stats import ConnectionStats
from toolcrib_mcp.rpc.stdio_wire import StdioWire, open_stdio_wire
from toolcrib_mcp.rpc.wire import Unreadable, Wire, WireClosed, WireNoise

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
