"""One catalogue in front of any number of MCP servers: configuration, connections, catalogue.

A name is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
        AuthFailed,
        AuthRequired,
        ConfigError,
        GatewayError,
        ResultTooLarge,
        UpstreamBusy,
        UpstreamError,
        UpstreamFailed,
        UpstreamMalformed,
        UpstreamTimeout,
        UpstreamUnavailable,
    )
    from toolcrib_mcp.rpc import Connection, Wire, open_stdio_wire
    from toolcrib_mcp.upstreams import Upstream, UpstreamHealth, UpstreamSettings, UpstreamState, close_all, start_all
    from toolcrib_mcp.upstreams.http_wire import open_http_wire
    from toolcrib_mcp.upstreams.in_process_wire import open_in_process_wire
    from toolcrib_mcp.upstreams.opening import upstream_of

_NAMES = {
    "catalog": (
        "Catalog CatalogChange CatalogReport CatalogSnapshot HydrationResult ToolFinding ToolIdParts UpstreamTerms"
    ),
    "config": (
        "GatewayConfig GatewaySettings ServerConfig ServerSettings find_client_configs import_client_configs "
        "load_config"
    ),
    "errors": (
        "AuthFailed AuthRequired ConfigError GatewayError ResultTooLarge UpstreamBusy UpstreamError "
        "UpstreamFailed UpstreamMalformed UpstreamTimeout UpstreamUnavailable"
    ),
    "rpc": "Connection Wire open_stdio_wire",
    "upstreams": "Upstream UpstreamHealth UpstreamSettings UpstreamState close_all start_all",
    "upstreams.http_wire": "open_http_wire",
    "upstreams.in_process_wire": "open_in_process_wire",
    "upstreams.opening": "upstream_of",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


__all__ = [
    "AuthFailed",
    "AuthRequired",
    "Catalog",
    "CatalogChange",
    "CatalogReport",
    "CatalogSnapshot",
    "ConfigError",
    "Connection",
    "GatewayConfig",
    "GatewayError",
    "GatewaySettings",
    "HydrationResult",
    "ResultTooLarge",
    "ServerConfig",
    "ServerSettings",
    "ToolFinding",
    "ToolIdParts",
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
    "Wire",
    "close_all",
    "find_client_configs",
    "import_client_configs",
    "load_config",
    "open_http_wire",
    "open_in_process_wire",
    "open_stdio_wire",
    "start_all",
    "upstream_of",
]


if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
        value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
