"""Outbound HTTP: names are resolved, every address is checked, and the checked one is dialled."""

from __future__ import annotations

from toolcrib_runtime.guards.net.client import FetchLimits, GuardedClient
from toolcrib_runtime.guards.net.dial import Resolver
from toolcrib_runtime.guards.net.exchange import FetchResponse
from toolcrib_runtime.guards.net.grant import NetGrant
from toolcrib_runtime.guards.net.transport import guarded_transport

__all__ = ["FetchLimits", "FetchResponse", "GuardedClient", "NetGrant", "Resolver", "guarded_transport"]
