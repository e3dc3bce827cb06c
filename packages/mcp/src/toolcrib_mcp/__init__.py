"""One catalogue in front of any number of MCP servers: connections, catalogue, gateway, proxy, serving.

A name is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.browse import BrowseResult
    from toolcrib_mcp.catalog import (
        Catalog,
        CatalogChange,
        CatalogReport,
        CatalogSnapshot,
        HydrationResult,
        ToolFinding,
        ToolIdParts,
        UpstreamTerms,
    )
    from toolcrib_mcp.config import (
        GatewayConfig,
        GatewaySettings,
        ServerConfig,
        ServerSettings,
        find_client_configs,
        import_client_configs,
        load_config,
    )
    from toolcrib_mcp.errors import (
        ApprovalNotFound,
        AuditUnusable,
        AuthFailed,
        AuthRequired,
        ConfigError,
        GatewayError,
        ListingIncomplete,
        NotGranted,
        RateLimited,
        ResultTooLarge,
        ToolChanged,
        UpstreamBusy,
        UpstreamError,
        UpstreamFailed,
        UpstreamMalformed,
        UpstreamTimeout,
        UpstreamUnavailable,
        ViewFailed,
    )
    from toolcrib_mcp.front import Caller, Channel, Feed, Notice, Request, ServerFace, Service
    from toolcrib_mcp.front.http import HttpFrontSettings, http_app, serve_http
    from toolcrib_mcp.front.in_process import connect_service
    from toolcrib_mcp.front.stdio import serve_stdio
    from toolcrib_mcp.gateway import (
        ExecuteResult,
        Gateway,
        GatewayBehaviour,
        GatewayService,
        ResultEnvelope,
        open_gateway_service,
    )
    from toolcrib_mcp.hub import Hub, HubLimits, HubServer, HubStatus, ServerStatus
    from toolcrib_mcp.policy import Policy, PolicySource
    from toolcrib_mcp.proxy import ProxyRuntime, ProxyService
    from toolcrib_mcp.relay import Relay, TransparentService, rpc_error
    from toolcrib_mcp.rpc import Connection, Wire, open_stdio_wire
    from toolcrib_mcp.safeguards import Checkpoint, GuardedCall, Safeguards, open_safeguards
    from toolcrib_mcp.serving import serve
    from toolcrib_mcp.toolboxes import ToolboxService, import_tools
    from toolcrib_mcp.upstreams import Upstream, UpstreamHealth, UpstreamSettings, UpstreamState, close_all, start_all
    from toolcrib_mcp.upstreams.http_wire import open_http_wire
    from toolcrib_mcp.upstreams.in_process_wire import open_in_process_wire
    from toolcrib_mcp.upstreams.opening import upstream_of

_NAMES = {
    "browse": "BrowseResult",
    "catalog": (
        "Catalog CatalogChange CatalogReport CatalogSnapshot HydrationResult ToolFinding ToolIdParts UpstreamTerms"
    ),
    "config": (
        "GatewayConfig GatewaySettings ServerConfig ServerSettings find_client_configs import_client_configs "
        "load_config"
    ),
    "errors": (
        "ApprovalNotFound AuditUnusable AuthFailed AuthRequired ConfigError GatewayError ListingIncomplete NotGranted "
        "RateLimited ResultTooLarge ToolChanged UpstreamBusy UpstreamError UpstreamFailed UpstreamMalformed "
        "UpstreamTimeout UpstreamUnavailable ViewFailed"
    ),
    "front": "Caller Channel Feed Notice Request ServerFace Service",
    "front.http": "HttpFrontSettings http_app serve_http",
    "front.in_process": "connect_service",
    "front.stdio": "serve_stdio",
    "gateway": "ExecuteResult Gateway GatewayBehaviour GatewayService ResultEnvelope open_gateway_service",
    "hub": "Hub HubLimits HubServer HubStatus ServerStatus",
    "policy": "Policy PolicySource",
    "proxy": "ProxyRuntime ProxyService",
    "relay": "Relay TransparentService rpc_error",
    "rpc": "Connection Wire open_stdio_wire",
    "safeguards": "Checkpoint GuardedCall Safeguards open_safeguards",
    "serving": "serve",
    "toolboxes": "ToolboxService import_tools",
    "upstreams": "Upstream UpstreamHealth UpstreamSettings UpstreamState close_all start_all",
    "upstreams.http_wire": "open_http_wire",
    "upstreams.in_process_wire": "open_in_process_wire",
    "upstreams.opening": "upstream_of",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


__all__ = [
    "ApprovalNotFound",
    "AuditUnusable",
    "AuthFailed",
    "AuthRequired",
    "BrowseResult",
    "Caller",
    "Catalog",
    "CatalogChange",
    "CatalogReport",
    "CatalogSnapshot",
    "Channel",
    "Checkpoint",
    "ConfigError",
    "Connection",
    "ExecuteResult",
    "Feed",
    "Gateway",
    "GatewayBehaviour",
    "GatewayConfig",
    "GatewayError",
    "GatewayService",
    "GatewaySettings",
    "GuardedCall",
    "HttpFrontSettings",
    "Hub",
    "HubLimits",
    "HubServer",
    "HubStatus",
    "HydrationResult",
    "ListingIncomplete",
    "NotGranted",
    "Notice",
    "Policy",
    "PolicySource",
    "ProxyRuntime",
    "ProxyService",
    "RateLimited",
    "Relay",
    "Request",
    "ResultEnvelope",
    "ResultTooLarge",
    "Safeguards",
    "ServerConfig",
    "ServerFace",
    "ServerSettings",
    "ServerStatus",
    "Service",
    "ToolChanged",
    "ToolFinding",
    "ToolIdParts",
    "ToolboxService",
    "TransparentService",
    "Upstream",
    "UpstreamBusy",
    "UpstreamError",
    "UpstreamFailed",
    "UpstreamHealth",
    "UpstreamMalformed",
    "UpstreamSettings",
    "UpstreamState",
    "UpstreamTerms",
    "UpstreamTimeout",
    "UpstreamUnavailable",
    "ViewFailed",
    "Wire",
    "close_all",
    "connect_service",
    "find_client_configs",
    "http_app",
    "import_client_configs",
    "import_tools",
    "load_config",
    "open_gateway_service",
    "open_http_wire",
    "open_in_process_wire",
    "open_safeguards",
    "open_stdio_wire",
    "rpc_error",
    "serve",
    "serve_http",
    "serve_stdio",
    "start_all",
    "upstream_of",
]


if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
