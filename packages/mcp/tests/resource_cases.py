"""Servers that tell of resources, and what their clients hear."""

from __future__ import annotations

import asyncio
from typing import Any

from hub_cases import Heard, hub_of
from scripted_servers import MODERN, UNKNOWN, ScriptedServer

from toolcrib_mcp.hub import Hub
from toolcrib_mcp.rpc import RpcError

LOG, NOTES = "file:///log", "file:///notes"
UPDATED = "notifications/resources/updated"
OFTEN = {"servers": {"files": {"restart": {"initialDelay": 0.01}}}}


class ModernServer(ScriptedServer):
    """Tells of the resources that it is asked for, but for those that it does not know."""

    def __init__(self, *, unknown: str = "", acknowledges: bool = True) -> None:
        super().__init__(**{"server/discover": MODERN, "initialize": UNKNOWN, "subscriptions/listen": self._listen})
        self.streams: list[list[str]] = []
        self.ended = 0
        self.refusal: RpcError | None = None
        self.ending = asyncio.Event()
        self._unknown = unknown
        self.acknowledges = acknowledges
        self.refused: str | None = None

    async def _listen(self, params: dict[str, Any]) -> dict[str, Any] | RpcError:
        uris = params["notifications"]["resourceSubscriptions"]
        self.streams.append(uris)
        if self.refusal is not None or self.refused in uris:
            return self.refusal or UNKNOWN
        if self.acknowledges:
            told = [uri for uri in uris if uri != self._unknown]
            honoured = {"resourceSubscriptions": told} if told else {}
            await self.tell("notifications/subscriptions/acknowledged", notifications=honoured)
        await self.ending.wait()
        self.ended += 1
        return {}

    @property
    def closed(self) -> int:
        """How many streams we have given up."""
        return self.methods.count("notifications/cancelled")


def to(heard: Heard) -> list[tuple[Any, set[str]]]:
    return [(notice.params["uri"], set(notice.to or ())) for notice in heard.notices if notice.method == UPDATED]


def hub_over(server: ScriptedServer, **options: Any) -> Hub:
    return hub_of({"files": server.connect}, **options)
