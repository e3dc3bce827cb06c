"""All servers of a configuration as one: started together, catalogued together, asked and listened to by clients."""

from __future__ import annotations

from toolcrib_mcp.hub.hub import Hub
from toolcrib_mcp.hub.limits import HubLimits
from toolcrib_mcp.hub.servers import HubServer
from toolcrib_mcp.hub.status import HubStatus, ServerStatus

__all__ = ["Hub", "HubLimits", "HubServer", "HubStatus", "ServerStatus"]
