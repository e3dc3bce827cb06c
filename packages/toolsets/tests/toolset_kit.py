"""What tests of toolsets share: a type that counts what happens, and users."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pydantic import JsonValue

from toolcrib_runtime import Toolbox, create_tool, create_toolbox
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.contract import ToolsetDefinition
from toolcrib_toolsets.errors import InvalidSettings
from toolcrib_toolsets.types import Credentials

ALICE = "alice@example.org"
BOB = "bob@example.org"
CANARY = "canary-key-7f3a91d2c4"
KEY = Secret(CANARY)


class Echo:
    """A type whose one method says what it was asked; it counts what was done and keeps what it was opened with."""

    def __init__(self, name: str = "echo", *, requires_api_key: bool = True) -> None:
        self._name = name
        self._requires = requires_api_key
        self.counts: Counter[str] = Counter()
        self.opened_with: list[Credentials] = []
        self.begun = asyncio.Event()
        self.held = asyncio.Event()
        self.held.set()

    @property
    def definition(self) -> ToolsetDefinition:
        return ToolsetDefinition(
            toolset_id=self._name, name="Echo", description="Says it again.", requires_api_key=self._requires
        )

    def check_settings(self, settings: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        self.counts["checked"] += 1
        if "bad" in settings:
            raise InvalidSettings.because("`bad` is not known")
        return settings

    def key_destinations(self, settings: Mapping[str, JsonValue]) -> frozenset[str]:
        if settings.get("at") == "gone":
            raise InvalidSettings.because("`at` is gone")
        return frozenset({f"{settings.get('at')} {settings.get('header')}"})

    @asynccontextmanager
    async def open(self, credentials: Credentials) -> AsyncIterator[Toolbox]:
        self.counts["opened"] += 1
        self.opened_with.append(credentials)

        async def say(text: str) -> str:
            self.counts["called"] += 1
            self.begun.set()
            await self.held.wait()
            return text

        try:
            yield create_toolbox([create_tool(say, namespace=credentials.namespace, effects="read")])
        finally:
            self.counts["closed"] += 1
