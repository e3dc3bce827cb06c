"""A scripted server and an upstream to it, at a time that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, Self

from scripted_servers import ScriptedServer

from toolcrib_mcp.upstreams import RestartRules, Upstream, UpstreamHooks, UpstreamSettings
from toolcrib_runtime.testing import FakeClock

CALL = {"name": "echo", "arguments": {"nonce": "n1"}}
ECHOED = {"echo": {"nonce": "n1"}}
RULES = RestartRules(first_delay=1, max_delay=8, max_failures=3, window=60, rest=30)


class Case:
    """Waits for nothing but conditions; the time moves when the test moves the clock."""

    def __init__(self, server: ScriptedServer, restarts: RestartRules = RULES, **settings: Any) -> None:
        self.clock = FakeClock()
        self.server = server
        self.tools: list[int] = []
        self.upstream = Upstream(
            "files",
            server.connect,
            settings=UpstreamSettings(restarts=restarts, **settings),
            hooks=UpstreamHooks(on_tools=lambda listing: self.tools.append(len(listing.items))),
            clock=self.clock,
            random=Random(7),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.upstream.aclose(drain=0)

    async def call(self, **options: Any) -> dict[str, Any]:
        async with asyncio.timeout(5):
            return await self.upstream.call("tools/call", CALL, **options)

    async def die(self, **last_words: Any) -> None:
        before = self.upstream.agreement
        await self.server.die(**last_words)
        await self.until(lambda: self.upstream.agreement is not before)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not condition():
                await self.clock.advance(0)
