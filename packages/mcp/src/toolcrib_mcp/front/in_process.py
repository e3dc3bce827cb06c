"""A service as a server in the same process: for whoever has the other end of a wire, without the SDK between."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_mcp.front.dialogue import serve_wire
from toolcrib_mcp.front.service import Identity, Service
from toolcrib_mcp.rpc import MemoryWire, Unreadable, Wire, WireNoise, memory_wires
from toolcrib_mcp.upstreams.links import Connect, stop
from toolcrib_runtime.guards.secrets import Scrubber

SHUTDOWN_GRACE: Final = 2.0
"""How long the service may take to let go of a client that has closed its wire; then it is cancelled."""

_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class ServiceConnection:
    """Reaches a service; every connection is a conversation of its own."""

    service: Service
    principal: str | None = None

    @property
    def hears_callers(self) -> bool:
        """Whether the service wants to be told whose each request is, by a gateway that all its requests come from."""
        return bool(getattr(self.service, "hears_callers", False))

    async def __call__(self) -> Wire:
        """One more connection."""
        return _ServedWire(self.service, principal=self.principal)


def connect_service(service: Service, *, principal: str | None = None) -> Connect:
    """What an `Upstream` is given to reach a service; every connection is a conversation of its own."""
    return ServiceConnection(service=service, principal=principal)


class _ServedWire:
    """One end of a pair of wires; a task of ours serves the other."""

    def __init__(self, service: Service, *, principal: str | None) -> None:
        self._inner, theirs = memory_wires()
        key = f"in-process-{next(_numbers)}"
        self._serving = asyncio.create_task(self._serve(service, theirs, key, principal))

    @property
    def noise(self) -> WireNoise:
        """Nothing: a service says nothing but messages."""
        return self._inner.noise

    async def send(self, message: Mapping[str, Any]) -> None:
        """As that of `Wire`."""
        await self._inner.send(message)

    async def receive(self) -> dict[str, Any] | Unreadable:
        """As that of `Wire`."""
        return await self._inner.receive()

    async def aclose(self) -> None:
        """Let the service see that the client has gone, and wait until it has let go of it."""
        await self._inner.aclose()
        try:
            await asyncio.wait([self._serving], timeout=SHUTDOWN_GRACE)
        finally:
            await stop(self._serving, scrubber=Scrubber())

    async def _serve(self, service: Service, wire: MemoryWire, key: str, principal: str | None) -> None:
        try:
            await serve_wire(service, wire, key=key, principal=None if principal is None else Identity(name=principal))
        finally:
            await wire.aclose()
