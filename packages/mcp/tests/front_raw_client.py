"""A client that writes raw lines to a service over pipes in this process, and reads raw lines back."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from front_services import FixtureService

from toolcrib_mcp.front import serve_stdio
from toolcrib_mcp.upstreams.eras import META_CAPABILITIES, META_VERSION

INITIALIZE: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "raw", "version": "1"},
}
ENVELOPE: dict[str, Any] = {META_VERSION: "2026-07-28", META_CAPABILITIES: {}}


class RawClient:
    """Both ends of the pipes that a service is served over."""

    def __init__(self, reader: asyncio.StreamReader, write_fd: int, serving: asyncio.Task[None]) -> None:
        self.serving = serving
        self._reader = reader
        self._write_fd: int | None = write_fd

    def write(self, *lines: bytes) -> None:
        """Write lines as they are, all at once."""
        assert self._write_fd is not None
        data = b"".join(line + b"\n" for line in lines)
        while data:
            data = data[os.write(self._write_fd, data) :]

    def write_bytes(self, data: bytes) -> None:
        """Write what is no whole line."""
        assert self._write_fd is not None
        os.write(self._write_fd, data)

    def ask(self, request_id: object, method: str, **params: Any) -> None:
        """Write a request."""
        self.write(request(request_id, method, **params))

    def tell(self, method: str, **params: Any) -> None:
        """Write a notification."""
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    async def read(self) -> dict[str, Any]:
        """The next message."""
        async with asyncio.timeout(10):
            line = await self._reader.readline()
        message: dict[str, Any] = json.loads(line)
        return message

    async def read_to_end(self) -> list[dict[str, Any]]:
        """All that comes until the service has closed its end."""
        async with asyncio.timeout(10):
            return [json.loads(line) for line in (await self._reader.read()).splitlines()]

    async def exchange(self, request_id: object, method: str, **params: Any) -> dict[str, Any]:
        """Write a request, and give the next message."""
        self.ask(request_id, method, **params)
        return await self.read()

    async def shake_hands(self) -> None:
        """Open the conversation as clients of the handshake era do."""
        assert "result" in await self.exchange(0, "initialize", **INITIALIZE)
        self.tell("notifications/initialized")

    def end_input(self) -> None:
        """Say that nothing more comes."""
        if self._write_fd is not None:
            os.close(self._write_fd)
            self._write_fd = None


def request(request_id: object, method: str, **params: Any) -> bytes:
    """The line of a request."""
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).encode()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """The params of a call."""
    return {"name": name, "arguments": arguments}


@asynccontextmanager
async def raw_client(service: FixtureService, **options: Any) -> AsyncIterator[RawClient]:
    """A client whose service has ended afterwards."""
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    reader = asyncio.StreamReader(limit=64 * 1024 * 1024)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(our_in, "rb", buffering=0)
    )
    serving = asyncio.create_task(_serve(service, their_in, their_out, options))
    client = RawClient(reader, our_out, serving)
    try:
        yield client
    finally:
        client.end_input()
        transport.close()
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


async def _serve(service: FixtureService, their_in: int, their_out: int, options: dict[str, Any]) -> None:
    with os.fdopen(their_in, "rb", buffering=0) as stdin, os.fdopen(their_out, "wb", buffering=0) as stdout:
        await serve_stdio(service, stdin=stdin, stdout=stdout, **options)
