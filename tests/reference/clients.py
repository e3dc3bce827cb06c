"""Unmodified clients: the official SDK's, whose results are kept raw, and the Inspector's command line."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import mcp.types as t
from mcp import Client, MCPError, StdioServerParameters
from pydantic import TypeAdapter

from tests.reference.parts import Command, node_package
from tests.reference.processes import listening, run, serve_command, write_config

Era: TypeAlias = Literal["legacy", "2026-07-28"]
"""As the SDK calls them: the handshake, and the version without one."""

ERAS: Final[tuple[Era, ...]] = ("legacy", "2026-07-28")

TRANSPORTS: Final = ("stdio", "http")

_RAW: Final = TypeAdapter(dict[str, Any])
_ANSWER_SECONDS: Final = 60.0
_INSPECTOR_SECONDS: Final = 90
# The SDK mirrors the name of what is asked for into a header; it has to know where that stands.
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass
class RawClient:
    """A session of the SDK, asked method by method."""

    client: Client
    heard: list[dict[str, Any]] = field(default_factory=list)
    """Every notification that came, as it would be written."""
    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def logged(self) -> list[dict[str, Any]]:
        """The params of every log message that came."""
        return [dict(each["params"]) for each in self.heard if each["method"] == "notifications/message"]

    async def ask(self, method: str, /, **params: Any) -> dict[str, Any]:
        """The result as it came."""
        request = _request(method, params)
        session: Any = self.client.session  # its types do not admit raw results, though it gives them
        result: dict[str, Any] = await session.send_request(request, _RAW, progress_callback=self._on_progress)
        return result

    async def outcome(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result as it came, or the error in the same form."""
        try:
            return await self.ask(method, **params)
        except MCPError as error:
            return {"error": {"code": error.code, "message": error.message, "data": error.data}}

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The raw result of a tool."""
        return await self.ask("tools/call", name=name, arguments=arguments)

    async def every(self, method: str, key: str) -> list[dict[str, Any]]:
        """All pages of a list."""
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = await self.ask(method, **params)
            found.extend(page[key])
            if page.get("nextCursor") is None:
                return found
            params = {"cursor": page["nextCursor"]}

    async def wait_for(self, method: str) -> dict[str, Any]:
        """The params of the first notification of this kind."""
        async with asyncio.timeout(_ANSWER_SECONDS):
            while True:
                self.arrived.clear()
                for notification in self.heard:
                    if notification["method"] == method:
                        return dict(notification["params"])
                await self.arrived.wait()

    async def _on_progress(self, done: float, total: float | None, message: str | None) -> None:
        self.progress.append((done, total, message))

    async def _on_message(self, message: object) -> None:
        if isinstance(message, t.Notification):
            self.heard.append(message.model_dump(by_alias=True, mode="json", exclude_none=True))
            self.arrived.set()


@asynccontextmanager
async def connected(target: Command | str, era: Era, **options: Any) -> AsyncIterator[RawClient]:
    """A client of one era, to a program or a URL; it offers nothing that a server could ask for."""
    server: StdioServerParameters | str = target if isinstance(target, str) else _parameters(target)
    raw: RawClient

    async def on_message(message: object) -> None:
        await raw._on_message(message)

    client = Client(
        server,
        mode=era,
        read_timeout_seconds=_ANSWER_SECONDS,
        message_handler=on_message,
        cache=None,
        **options,
    )
    raw = RawClient(client)
    async with client:
        yield raw


@asynccontextmanager
async def through_proxy(
    server: Command,
    *,
    mode: Literal["proxy", "transparent"],
    transport: str,
    era: Era,
    folder: Path,
    grants: Sequence[str] = ("logging",),
    **options: Any,
) -> AsyncIterator[RawClient]:
    """A client of the proxy, which has this one server behind it."""
    config = write_config(folder, {"only": server.entry}, grants=grants)
    if transport == "stdio":
        async with connected(serve_command(config, mode), era, **options) as client:
            yield client
        return
    with listening(serve_command(config, mode, "--http", "127.0.0.1:0")) as url:
        async with connected(url, era, **options) as client:
            yield client


async def inspect(*arguments: str) -> dict[str, Any]:
    """What the Inspector prints for a method."""
    command = node_package("inspector", "--cli", *arguments)
    search_path = f"{command.program.parent}{os.pathsep}{os.environ['PATH']}"
    command = Command(program=command.program, arguments=command.arguments, environment={"PATH": search_path})
    code, out, err = await run(command, seconds=_INSPECTOR_SECONDS)
    assert code == 0, f"the Inspector ended with {code}:\n{out}\n{err}"
    printed: dict[str, Any] = json.loads(out)
    return printed


def _parameters(command: Command) -> StdioServerParameters:
    return StdioServerParameters(
        command=str(command.program),
        args=list(command.arguments),
        env=dict(command.environment),
        cwd=command.folder,
    )


def _request(method: str, params: Mapping[str, Any]) -> t.Request[dict[str, Any], str]:
    class Named(t.Request[dict[str, Any], str]):
        name_param = _NAMED.get(method)

    return Named(method=method, params=dict(params))
