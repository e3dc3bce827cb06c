"""Servers behind the gateway: reached in both eras of the protocol, kept running, and asked within deadlines."""

from __future__ import annotations

from toolcrib_mcp.upstreams.breaker import Circuit
from toolcrib_mcp.upstreams.eras import Agreement, ClientFace, Era
from toolcrib_mcp.upstreams.links import Connect
from toolcrib_mcp.upstreams.listing import Listing, ListingCaps, ListKind
from toolcrib_mcp.upstreams.settings import RestartRules, UpstreamSettings
from toolcrib_mcp.upstreams.starting import StartReport, close_all, start_all
from toolcrib_mcp.upstreams.states import Phase, UpstreamHealth, UpstreamState
from toolcrib_mcp.upstreams.supervisor import Upstream, UpstreamHooks

__all__ = [
    "Agreement",
    "Circuit",
    "ClientFace",
    "Connect",
    "Era",
    "ListKind",
    "Listing",
    "ListingCaps",
    "Phase",
    "RestartRules",
    "StartReport",
    "Upstream",
    "UpstreamHealth",
    "UpstreamHooks",
    "UpstreamSettings",
    "UpstreamState",
    "close_all",
    "start_all",
]
