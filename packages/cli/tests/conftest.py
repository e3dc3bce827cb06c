"""Real processes of the `toolcrib` command, and servers of the official SDK behind them."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from process_children import SIGN, alive, until

from tests.chaos import hostile_server

ECHO_SERVER = Path(__file__).with_name("echo_server.py")
COMMAND = (sys.executable, "-m", "toolcrib_cli")
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
# Seconds: how soon something comes is not the point where this stands, only that it does.
PATIENCE = 120


class Workshop:
    """A directory with a configuration and a state of its own; at the end, no process of its servers lives."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.family = secrets.token_hex(8)
        self.config = directory / "mcp.json"
        self.state = directory / "state"

    def server(self, *tools: str) -> dict[str, Any]:
        """The entry of a server with these tools."""
        return self._entry(sys.executable, str(ECHO_SERVER), "--tools", *(tools or ("echo",)))

    def hostile(self, mode: str) -> dict[str, Any]:
        """The entry of a server that misbehaves."""
        return self._entry(sys.executable, "-I", "-S", hostile_server.__file__, "--mode", mode)

    def failing(self) -> dict[str, Any]:
        """The entry of a server that cannot start."""
        return self.hostile("crash")

    def write(self, settings: dict[str, Any] | None = None, /, **servers: Any) -> None:
        """Put these servers into the configuration."""
        document = {"mcpServers": servers, **({"toolcrib": settings} if settings else {})}
        self.config.write_text(json.dumps(document), encoding="utf-8")
        self.permit('default = "allow"')

    def permit(self, *lines: str) -> None:
        """Let this be the policy; without a word of a test everything is allowed, since servers declare no effects."""
        policy = "\n".join(("version = 1", *lines))
        self.config.with_name("toolcrib.policy.toml").write_text(policy, encoding="utf-8")

    def command(self, name: str, *options: str) -> list[str]:
        """The command line for a command about this configuration."""
        return [*COMMAND, name, "--config", str(self.config), "--state-dir", str(self.state), *options]

    async def run(self, name: str, *options: str) -> Outcome:
        """Run a command to its end."""
        return await self.run_raw(*self.command(name, *options))

    async def run_raw(self, *argv: str, **options: Any) -> Outcome:
        """Run a command line to its end."""
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            **options,
        )
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        assert process.returncode is not None
        return Outcome(process.returncode, out.decode(), err.decode())

    @asynccontextmanager
    async def serving(
        self, *options: str, seconds: float = PATIENCE, command: list[str] | None = None
    ) -> AsyncIterator[Served]:
        """A process of `toolcrib serve`; it is killed at the end if it still lives."""
        process = await asyncio.create_subprocess_exec(
            *(command or self.command("serve", *options)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        served = Served(process)
        try:
            async with asyncio.timeout(seconds):
                yield served
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await served.ended()

    def client(self, *options: str, era: str) -> Client:
        """An unmodified client that starts `toolcrib serve` itself."""
        command, *arguments = self.command("serve", *options)
        return Client(StdioServerParameters(command=command, args=arguments), mode=era, read_timeout_seconds=PATIENCE)

    async def told_live(self) -> None:
        """Wait until a process that serves tells that every server has tools."""

        def told() -> bool:
            files = list(self.state.glob("*/serving-*.json"))
            healths = [
                server["health"]
                for file in files
                for server in json.loads(file.read_text(encoding="utf-8"))["hub"]["servers"].values()
            ]
            return bool(files) and all("tools" in health for health in healths)

        await until(told)

    def alive(self) -> set[int]:
        """The servers that run."""
        return alive(self.family)

    async def none_left(self) -> None:
        """Wait until no server is left."""
        await until(lambda: not self.alive())

    def _entry(self, command: str, *arguments: str) -> dict[str, Any]:
        return {"command": command, "args": list(arguments), "env": {SIGN: self.family}}


class Outcome:
    """How a command ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def json(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


class Served:
    """A process that serves, spoken to in plain JSON lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.err = ""
        self._last_id = 0

    @property
    def pid(self) -> int:
        return self.process.pid

    async def line(self, containing: str) -> str:
        """The first line on standard error with these words."""
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while line := (await self.process.stderr.readline()).decode():
                self.err += line
                if containing in line:
                    return line
        raise AssertionError(f"it never said {containing!r}, but:\n{self.err}")

    async def url(self) -> str:
        """Where it serves over HTTP."""
        return (await self.line(" at http")).split()[-1]

    def send(self, method: str, params: dict[str, Any]) -> int:
        """Send a request, and give its id."""
        assert self.process.stdin is not None
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        return self._last_id

    async def receive(self) -> Any:
        """The next message; `None` when there is no more."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := await self.process.stdout.readline():
                message = json.loads(line)
                if "id" in message:
                    return message
        return None

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request and give its result; no other may be under way."""
        sent = self.send(method, params)
        answer = await self.receive()
        assert answer is not None, await self.ended()
        assert answer["id"] == sent
        return answer["result"]

    async def greet(self) -> None:
        """Shake hands."""
        await self.ask("initialize", INITIALIZE)

    async def has_read(self) -> None:
        """Wait until all that was sent has been taken in."""
        await self.ask("ping", {})

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    async def ended(self) -> int:
        """Its exit code, once it has one."""
        async with asyncio.timeout(PATIENCE):
            assert self.process.stdin is not None
            self.process.stdin.close()
            _, err = await self.process.communicate()
        self.err += err.decode()
        assert self.process.returncode is not None
        return self.process.returncode


@pytest.fixture
async def workshop(tmp_path: Path) -> AsyncIterator[Workshop]:
    """A place for a configuration; no server that was started from it outlives the test."""
    workshop = Workshop(tmp_path)
    try:
        yield workshop
        await workshop.none_left()
    finally:
        for pid in workshop.alive():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
