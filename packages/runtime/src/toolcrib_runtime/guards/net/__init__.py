"""Outbound HTTP: names are resolved, every address is checked, and the checked one is dialled.

A name is loaded when it is first used: who only reads a grant needs no HTTP client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_runtime.guards.net.client import FetchLimits, GuardedClient
    from toolcrib_runtime.guards.net.dial import Resolver
    from toolcrib_runtime.guards.net.exchange import FetchResponse
    from toolcrib_runtime.guards.net.grant import NetGrant
    from toolcrib_runtime.guards.net.transport import guarded_transport

_HOMES = {
    "FetchLimits": "client",
    "FetchResponse": "exchange",
    "GuardedClient": "client",
    "NetGrant": "grant",
    "Resolver": "dial",
    "guarded_transport": "transport",
}

__all__ = ["FetchLimits", "FetchResponse", "GuardedClient", "NetGrant", "Resolver", "guarded_transport"]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
