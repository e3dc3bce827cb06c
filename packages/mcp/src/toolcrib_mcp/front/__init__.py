"""Where clients arrive: both eras of the protocol, over stdio and over streamable HTTP."""

from __future__ import annotations

from toolcrib_mcp.front.feed import Feed, Notice
from toolcrib_mcp.front.in_process import connect_service
from toolcrib_mcp.front.service import Caller, Channel, Identity, Request, ServerFace, Service
from toolcrib_mcp.front.stdio import STDIO_KEY, serve_stdio

__all__ = [
    "STDIO_KEY",
    "Caller",
    "Channel",
    "Feed",
    "Identity",
    "Notice",
    "Request",
    "ServerFace",
    "Service",
    "connect_service",
    "serve_stdio",
]
