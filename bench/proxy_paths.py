"""The ways from a client to the echo server: direct, through us, through peers; each started, asked and ended alike."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from peer_environments import environment, reason
from process_trees import tree_of

_HERE = Path(__file__).resolve().parent
ECHO = [sys.executable, str(_HERE / "proxy_server.py")]
OURS = [sys.executable, "-m", "toolcrib_cli", "serve"]

PEERS = {"fastmcp": "fastmcp==4.1.2", "contextweaver": "contextweaver==0.18.2", "mcp-proxy": "mcp-proxy==0.13.0"}
_FASTMCP = "import sys; from fastmcp.server import create_proxy; import json; \
create_proxy(json.loads(sys.argv[1]), mode='auto').run(**json.loads(sys.argv[2]))"

_READY_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class MetaTools:
    """The search and the call behind which all tools stand: their names and parameters."""

    search: str = "tool_browse"
    execute: str = "tool_execute"
    tool_key: str = "tool_id"
    args_key: str = "args"
    found: re.Pattern[str] = re.compile(r"[\w-]+:[\w.-]+(?:#[0-9a-f]{8}|@[\w.-]+)")
    """The id of a tool in what the search says."""

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The name and the arguments of the call that calls a tool."""
        return self.execute, {self.tool_key: tool, self.args_key: dict(arguments)}


@dataclass(frozen=True, kw_only=True)
class PathTo:
    """One way to the echo tool; over HTTP when it has a `port`, which its command listens on."""

    name: str
    command: list[str]
    port: int | None = None
    url: str | None = None
    tool: str = "echo"
    wrap: bool = False
    """Whether the call is made through a `tool_execute`."""
    meta: MetaTools | None = None
    """Through what else it is made, where the tool is not even listed."""
    needs: tuple[list[str], ...] = ()
    """What must run beside it: servers over HTTP."""
    env: Mapping[str, str] = field(default_factory=dict)


class Way:
    """A way that is open."""

    def __init__(self, path: PathTo, client: Client, pids: list[int]) -> None:
        self.path = path
        self.pids = [os.getpid(), *pids]
        self._client = client
        self._tool = path.tool

    async def prepare(self) -> None:
        """Find what the tool is called there."""
        if self.path.meta is not None:
            self._tool = await self._searched(self.path.meta)
            return
        listed = await self._client.list_tools()
        names = [tool.name for tool in listed.tools]
        if self.path.wrap:
            self._tool = next(name for name in names if "echo" in name)
        elif self._tool not in names:
            self._tool = next(name for name in names if name.endswith("echo"))

    async def call(self, text: str) -> None:
        """One call; the answer is checked."""
        name, arguments = self._tool, {"text": text, "count": 3}
        if self.path.wrap:
            name, arguments = "tool_execute", {"tool_id": self._tool, "args": arguments}
        elif self.path.meta is not None:
            name, arguments = self.path.meta.call(self._tool, arguments)
        result = await self._client.call_tool(name, arguments)
        if text not in str(result.content[0]):
            raise RuntimeError(f"{self.path.name} answered something else: {result}")

    async def _searched(self, meta: MetaTools) -> str:
        result = await self._client.call_tool(meta.search, {"query": "echo"})
        said = "".join(getattr(each, "text", "") for each in result.content)
        return next(str(each) for each in meta.found.findall(said) if "echo" in each)


@asynccontextmanager
async def opened(path: PathTo) -> AsyncIterator[Way]:
    """Start what the way needs, connect the SDK's client, and end it all."""
    started = [_started(command, path.env) for command in path.needs]
    try:
        for command in path.needs:
            await _until_listening(int(command[-1]))
        before = set(tree_of(os.getpid()))
        if path.port is None:
            target: Any = StdioServerParameters(command=path.command[0], args=path.command[1:], env=dict(path.env))
        else:
            started.append(_started(path.command, path.env))
            await _until_listening(path.port)
            target = path.url or f"http://127.0.0.1:{path.port}/mcp"
        async with Client(target, read_timeout_seconds=_READY_SECONDS) as client:
            new = [pid for pid in tree_of(os.getpid()) if pid not in before]
            helpers = [pid for process in started for pid in tree_of(process.pid)]
            way = Way(path, client, sorted({*new, *helpers}))
            await way.prepare()
            way.pids = [
                os.getpid(),
                *sorted({*helpers, *(p for p in tree_of(os.getpid()) if p not in before)} - {os.getpid()}),
            ]
            yield way
    finally:
        for process in started:
            process.terminate()
            process.wait(10)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def config_file(folder: Path, name: str, entry: Mapping[str, Any]) -> str:
    """A configuration with one server."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"mcpServers": {"echo": dict(entry)}}))
    allow_everything(folder)
    return str(file)


def allow_everything(folder: Path) -> None:
    """A policy beside the configuration: nobody declares what the server's tools do, and nobody can be asked."""
    (folder / "toolcrib.policy.toml").write_text('version = 1\ndefault = "allow"\n')


def stdio_paths(folder: Path, *, install: bool) -> list[PathTo]:
    """Everything over stdio on both sides."""
    entry = {"command": ECHO[0], "args": ECHO[1:]}
    file = config_file(folder, "stdio", entry)
    state = {"TOOLCRIB_STATE_DIR": str(folder), "PATH": os.environ["PATH"]}
    paths = [
        PathTo(name="direct", command=ECHO),
        PathTo(name="transparent", command=[*OURS, "--mode", "transparent", "--config", file], env=state),
        PathTo(name="tool_execute", command=[*OURS, "--mode", "proxy", "--config", file], wrap=True, env=state),
    ]
    for name, bin_folder in installed_peers(("fastmcp", "contextweaver"), install=install):
        if name == "fastmcp":
            command = [str(bin_folder / "python"), "-c", _FASTMCP, Path(file).read_text(), '{"show_banner": false}']
            paths.append(PathTo(name=PEERS[name].replace("==", " "), command=command))
        else:
            theirs = folder / "contextweaver.json"
            theirs.write_text(json.dumps({"mode": "proxy", "upstreams": {"echo": {"type": "stdio", **entry}}}))
            command = [str(bin_folder / name), "mcp", "serve", "--config", str(theirs)]
            paths.append(PathTo(name=PEERS[name].replace("==", " "), command=command, wrap=True))
    return paths


def http_paths(folder: Path, *, install: bool) -> list[PathTo]:
    """Everything with HTTP in front; ours and FastMCP's with HTTP on both sides, too."""
    direct, upstream = free_port(), free_port()
    server = [*ECHO, "--http", str(upstream)]
    state = {"TOOLCRIB_STATE_DIR": str(folder), "PATH": os.environ["PATH"]}
    over_http = config_file(folder, "http", {"url": f"http://127.0.0.1:{upstream}/mcp"})
    over_stdio = config_file(folder, "stdio", {"command": ECHO[0], "args": ECHO[1:]})
    paths = [PathTo(name="direct", command=[*ECHO, "--http", str(direct)], port=direct)]
    for name, file, needs in (("http to http", over_http, (server,)), ("http to stdio", over_stdio, ())):
        port = free_port()
        command = [*OURS, "--mode", "transparent", "--config", file, "--http", f"127.0.0.1:{port}"]
        paths.append(PathTo(name=name, command=command, port=port, needs=needs, env=state))
    for name, bin_folder in installed_peers(("fastmcp", "mcp-proxy"), install=install):
        port = free_port()
        if name == "fastmcp":
            how = json.dumps({"show_banner": False, "transport": "http", "port": port, "log_level": "error"})
            command = [str(bin_folder / "python"), "-c", _FASTMCP, Path(over_stdio).read_text(), how]
        else:
            command = [str(bin_folder / name), "--port", str(port), "--log-level", "ERROR", "--", *ECHO]
        paths.append(PathTo(name=PEERS[name].replace("==", " "), command=command, port=port))
    return paths


def installed_peers(names: tuple[str, ...], *, install: bool) -> list[tuple[str, Path]]:
    """The peers that are there, or can be installed, with the folder of their programs; the others are told of."""
    found = []
    for name in names:
        try:
            found.append((name, environment(name, PEERS[name], install=install)))
        except (OSError, subprocess.SubprocessError) as failure:
            print(f"{name} is left out: {reason(failure)}", file=sys.stderr)
    return found


def _started(command: list[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **env},
    )


async def _until_listening(port: int) -> None:
    async with asyncio.timeout(_READY_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return
