"""The gateway's configuration: the files that MCP clients already have, with our own settings beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.config.clients import FoundConfig, find_client_configs
    from toolcrib_mcp.config.findings import Finding
    from toolcrib_mcp.config.grants import network_for
    from toolcrib_mcp.config.importing import ImportedConfig, ImportNote, import_client_configs
    from toolcrib_mcp.config.loading import load_config
    from toolcrib_mcp.config.model import GatewayConfig, ServerConfig
    from toolcrib_mcp.config.settings import (
        ArtifactSettings,
        GatewayLimits,
        GatewaySettings,
        HttpFront,
        RestartPolicy,
        RiskOverride,
        ServerSettings,
    )
    from toolcrib_mcp.config.templates import ConfigText, reveal
    from toolcrib_mcp.config.transports import HttpTransport, StdioTransport

_HOMES = {
    "ArtifactSettings": "settings",
    "ConfigText": "templates",
    "Finding": "findings",
    "FoundConfig": "clients",
    "GatewayConfig": "model",
    "GatewayLimits": "settings",
    "GatewaySettings": "settings",
    "HttpFront": "settings",
    "HttpTransport": "transports",
    "ImportNote": "importing",
    "ImportedConfig": "importing",
    "RestartPolicy": "settings",
    "RiskOverride": "settings",
    "ServerConfig": "model",
    "ServerSettings": "settings",
    "StdioTransport": "transports",
    "find_client_configs": "clients",
    "import_client_configs": "importing",
    "load_config": "loading",
    "network_for": "grants",
    "reveal": "templates",
}

__all__ = [
    "ArtifactSettings",
    "ConfigText",
    "Finding",
    "FoundConfig",
    "GatewayConfig",
    "GatewayLimits",
    "GatewaySettings",
    "HttpFront",
    "HttpTransport",
    "ImportNote",
    "ImportedConfig",
    "RestartPolicy",
    "RiskOverride",
    "ServerConfig",
    "ServerSettings",
    "StdioTransport",
    "find_client_configs",
    "import_client_configs",
    "load_config",
    "network_for",
    "reveal",
]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
