"""Servers behind the gateway: reached in both eras of the protocol, kept running, and asked within deadlines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.upstreams.breaker import Circuit
    from toolcrib_mcp.upstreams.eras import Agreement, ClientFace, Era
    from toolcrib_mcp.upstreams.links import Connect
    from toolcrib_mcp.upstreams.listing import Listing, ListingCaps, ListKind
    from toolcrib_mcp.upstreams.settings import RestartRules, UpstreamSettings
    from toolcrib_mcp.upstreams.starting import StartProgress, StartReport, close_all, start_all
    from toolcrib_mcp.upstreams.states import Phase, UpstreamHealth, UpstreamState
    from toolcrib_mcp.upstreams.supervisor import Upstream, UpstreamHooks

_HOMES = {
    "Agreement": "eras",
    "Circuit": "breaker",
    "ClientFace": "eras",
    "Connect": "links",
    "Era": "eras",
    "ListKind": "listing",
    "Listing": "listing",
    "ListingCaps": "listing",
    "Phase": "states",
    "RestartRules": "settings",
    "StartProgress": "starting",
    "StartReport": "starting",
    "Upstream": "supervisor",
    "UpstreamHealth": "states",
    "UpstreamHooks": "supervisor",
    "UpstreamSettings": "settings",
    "UpstreamState": "states",
    "close_all": "starting",
    "start_all": "starting",
}

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
    "StartProgress",
    "StartReport",
    "Upstream",
    "UpstreamHealth",
    "UpstreamHooks",
    "UpstreamSettings",
    "UpstreamState",
    "close_all",
    "start_all",
]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
