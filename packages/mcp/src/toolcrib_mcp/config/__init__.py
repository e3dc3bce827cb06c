"""The gateway's configuration: the files that MCP clients already have, with our own settings beside them."""

from __future__ import annotations

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
