"""An MCP client over standard input and output that keeps every message as it came; no SDK is between."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

Message: TypeAlias = dict[str, Any]
Elicit: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""From the params of an `elicitation/create` to its result."""

_VERSION: Final = "2025-06-18"
_LINE_BYTES: Final = 64 * 1024 * 1024
_STOP_SECONDS: Final = 15.0
_STDERR_LINES: Final = 20
_METHOD_NOT_FOUND: Final = -32601


class ServerEnded(Exception):
    """The server closed its output; the message is the end of what it wrote to standard error."""


@dataclass(frozen=True, kw_only=True)
class ServerCommand:
    """How a server is started: what a client's configuration says of it."""

    program: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path

    @property
    def entry(self) -> dict[str, Any]:
        """As `mcpServers` has it."""
        environment, folder = dict(self.environment), str(self.folder)
        return {"command": self.program, "args": list(self.arguments), "env": environment, "cwd": folder}


class StdioClient:
    """A session with one server; made by `connect`."""

    def __init__(self, process: asyncio.subprocess.Process, elicit: Elicit | None) -> None:
        self._process = process
        self._elicit = elicit
        self._pending: dict[int, asyncio.Future[Message]] = {}
        self._last_id = 0
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self.instructions = ""
        """What the server says of itself to a model."""

    async def request(self, method: str, params: Mapping[str, Any], *, seconds: float = 120.0) -> Message:
        """The response without its id: `{"result": …}` or `{"error": …}`.

        Raises:
            ServerEnded: There is no server to answer.
            TimeoutError: It did not answer in time.
        """
        self._last_id += 1
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._pending[self._last_id] = answer
        await self._send({"id": self._last_id, "method": method, "params": dict(params)})
        response = await asyncio.wait_for(answer, seconds)
        return {key: response[key] for key in ("result", "error") if key in response}

    async def call_tool(self, name: str, arguments: Mapping[str, Any], *, seconds: float = 120.0) -> Message:
        """The response to `tools/call`."""
        return await self.request("tools/call", {"name": name, "arguments": dict(arguments)}, seconds=seconds)

    async def list_tools(self) -> list[Message]:
        """Every page of `tools/list`; an error gives none."""
        tools: list[Message] = []
        params: Message = {}
        while True:
            page = (await self.request("tools/list", params)).get("result", {})
            tools += page.get("tools", [])
            if not page.get("nextCursor"):
                return tools
            params = {"cursor": page["nextCursor"]}

    async def initialize(self) -> None:
        """Open the session.

        Raises:
            ServerEnded: The server refuses.
        """
        offered: Message = {"elicitation": {}} if self._elicit is not None else {}
        me = {"name": "toolcrib-checks", "version": "1"}
        params = {"protocolVersion": _VERSION, "capabilities": offered, "clientInfo": me}
        response = await self.request("initialize", params)
        if "error" in response:
            raise ServerEnded(f"initialize: {response['error'].get('message')}")
        await self._send({"method": "notifications/initialized"})
        self.instructions = response.get("result", {}).get("instructions") or ""

    async def read_messages(self) -> None:
        """Hand each response to its request, and answer what the server asks; returns when the server ends."""
        stdout = self._process.stdout
        while stdout is not None and (line := await stdout.readline()):
            with suppress(json.JSONDecodeError):  # some servers print a greeting
                await self._receive(json.loads(line))
        await self._process.wait()
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(ServerEnded("".join(self._stderr).strip() or "it wrote no error"))

    async def read_stderr(self) -> None:
        """Keep the last lines."""
        stderr = self._process.stderr
        while stderr is not None and (line := await stderr.readline()):
            self._stderr.append(line.decode(errors="replace"))

    async def _receive(self, message: Message) -> None:
        if "method" not in message:
            answer = self._pending.pop(message.get("id", 0), None)
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif "id" in message:
            await self._send({"id": message["id"], **self._answer(message)})

    def _answer(self, message: Message) -> Message:
        if message["method"] == "elicitation/create" and self._elicit is not None:
            return {"result": dict(self._elicit(message["params"]))}
        if message["method"] == "ping":
            return {"result": {}}
        return {"error": {"code": _METHOD_NOT_FOUND, "message": "Method not found"}}

    async def _send(self, message: Message) -> None:
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing():
            raise ServerEnded("its input is closed")
        stdin.write(f"{json.dumps({'jsonrpc': '2.0', **message})}\n".encode())
        with suppress(ConnectionError):
            await stdin.drain()


@asynccontextmanager
async def connect(command: ServerCommand, *, elicit: Elicit | None = None) -> AsyncIterator[StdioClient]:
    """Start a server and open a session; with `elicit`, the client offers elicitation. All is ended afterwards.

    The server has the whole environment of this process, as most clients hand it on, and its folder as its home.
    """
    process = await asyncio.create_subprocess_exec(
        command.program,
        *command.arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "HOME": str(command.folder), **command.environment},
        cwd=command.folder,
        limit=_LINE_BYTES,
        start_new_session=True,
    )
    client = StdioClient(process, elicit)
    readers = [asyncio.create_task(client.read_messages()), asyncio.create_task(client.read_stderr())]
    try:
        await client.initialize()
        yield client
    finally:
        await _end(process, readers)


async def _end(process: asyncio.subprocess.Process, readers: Sequence[Awaitable[None]]) -> None:
    """Close the input, which is how a client says goodbye; kill what is then left of the session."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
    await asyncio.gather(*readers, return_exceptions=True)
