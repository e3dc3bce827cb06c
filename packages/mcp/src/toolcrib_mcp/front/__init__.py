"""Where clients arrive: both eras of the protocol, over stdio and over streamable HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.front.feed import Feed, Notice
    from toolcrib_mcp.front.in_process import connect_service
    from toolcrib_mcp.front.service import Caller, Channel, Identity, Request, ServerFace, Service
    from toolcrib_mcp.front.stdio import STDIO_KEY, serve_stdio

_HOMES = {
    "STDIO_KEY": "stdio",
    "Caller": "service",
    "Channel": "service",
    "Feed": "feed",
    "Identity": "service",
    "Notice": "feed",
    "Request": "service",
    "ServerFace": "service",
    "Service": "service",
    "connect_service": "in_process",
    "serve_stdio": "stdio",
}

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

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
