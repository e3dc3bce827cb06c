"""Tools of one's own: what a principal sees beside the servers that everybody sees."""

from __future__ import annotations

from toolcrib_mcp.personal.joined_hub import JoinedHub
from toolcrib_mcp.personal.members import Members, PersonalServer, PersonalServers
from toolcrib_mcp.personal.service import PersonalGatewayService

__all__ = ["JoinedHub", "Members", "PersonalGatewayService", "PersonalServer", "PersonalServers"]
