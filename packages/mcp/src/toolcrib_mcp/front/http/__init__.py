"""Serving over streamable HTTP: an ASGI application, and a runner for it."""

from __future__ import annotations

from toolcrib_mcp.front.http.app import HEALTH_PATH, PATH, HttpFront
from toolcrib_mcp.front.http.guard import check_binding
from toolcrib_mcp.front.http.resource import ProtectedResource
from toolcrib_mcp.front.http.runner import http_app, serve_http
from toolcrib_mcp.front.http.settings import HttpFrontSettings

__all__ = [
    "HEALTH_PATH",
    "PATH",
    "HttpFront",
    "HttpFrontSettings",
    "ProtectedResource",
    "check_binding",
    "http_app",
    "serve_http",
]
