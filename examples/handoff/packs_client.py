"""What the three agents share: an MCP client that starts `toolcrib pack serve` over one database."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

PROJECT = Path(__file__).parent / "project"
"""The source tree that the packs refer to."""


class Packs:
    """The tools `input` and `output` of a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def input(self, action: str, **arguments: Any) -> dict[str, Any]:
        """The payload of a call; a refusal is raised with the code of the contract."""
        payload: dict[str, Any] = json.loads(await self._text("input", {"action": action, **arguments}))["payload"]
        return payload

    async def output(self, action: str, **arguments: Any) -> str:
        """A page of Markdown."""
        return await self._text("output", {"action": action, **arguments})

    async def _text(self, tool: str, arguments: dict[str, Any]) -> str:
        result = await self._client.call_tool(tool, arguments)
        text = "".join(each.text for each in result.content if isinstance(each, TextContent))
        if result.is_error:
            raise Refused(json.loads(text))
        return text


class Refused(Exception):
    """The server refused a call."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.error = error


@asynccontextmanager
async def connected(database: str) -> AsyncIterator[Packs]:
    """A server of packs, in a process of its own."""
    command = ["-m", "toolcrib_cli", "pack", "serve", "--database", database, "--source-root", str(PROJECT)]
    async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
        yield Packs(client)


def legend(page: str) -> dict[str, str]:
    """The fields of a page's LEGEND."""
    head = page.partition("\n[CONTENT]\n")[0].splitlines()
    return dict(line.removeprefix("- ").split(": ", 1) for line in head if line.startswith("- "))
