"""A server that lists the tools of another as they are, and answers every call with its own name and arguments.

It serves both protocol eras. As a process it needs nothing but a Python, and serves the tools of one server out of
a catalogue with a line `{"server": …, "tool": …}` for each; run it with `-I -S` from anywhere:

    python -I -S replaying_server.py CATALOGUE.jsonl SERVER
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from toolcrib_mcp.rpc import MemoryWire

Json: TypeAlias = dict[str, Any]

_VERSIONS = ("2025-11-25", "2026-07-28")
_STAMP = "io.modelcontextprotocol/protocolVersion"
_SERVER = "io.modelcontextprotocol/serverInfo"
_IDENTITY = {"name": "replaying", "version": "1"}
_CAPABILITIES: Json = {"tools": {}}
_PASSING: Json = {"ttlMs": 0, "cacheScope": "private"}


def read_catalogue(path: Path) -> dict[str, list[Json]]:
    """The tools of every server of a catalogue, in its order."""
    servers: dict[str, list[Json]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        servers.setdefault(row["server"], []).append(row["tool"])
    return servers


class ReplayingServer:
    """One server. `calls` are the name and the arguments of every call that came, in order."""

    def __init__(self, tools: Iterable[Mapping[str, Any]]) -> None:
        self.tools = [dict(tool) for tool in tools]
        self.calls: list[tuple[str, Json]] = []
        self._names = frozenset(tool["name"] for tool in self.tools)
        self._serving: set[asyncio.Task[None]] = set()

    def answer(self, message: Mapping[str, Any]) -> Json | None:
        """The answer to a message; none to a notification."""
        if "id" not in message or "method" not in message:
            return None
        params = message.get("params") or {}
        stateless = _STAMP in (params.get("_meta") or {})
        envelope: Json = {"jsonrpc": "2.0", "id": message["id"]}
        result = self._result(message["method"], params, stateless=stateless)
        if result is None:
            return {**envelope, "error": {"code": -32601, "message": "Method not found"}}
        return {**envelope, "result": {**({"resultType": "complete"} if stateless else {}), **result}}

    def serve_stdio(self) -> None:
        """Read and answer until standard input ends."""
        for line in sys.stdin.buffer:
            answer = self.answer(json.loads(line))
            if answer is not None:
                sys.stdout.buffer.write(json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
                sys.stdout.buffer.flush()

    async def connect(self) -> MemoryWire:
        """What a `Hub` is given to reach it in this process."""
        # Here, since the process has none of our packages.
        from toolcrib_mcp.rpc import memory_wires

        theirs, ours = memory_wires()
        task = asyncio.create_task(self._serve(ours))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return theirs

    async def _serve(self, wire: MemoryWire) -> None:
        from toolcrib_mcp.rpc import WireClosed

        try:
            while True:
                message = await wire.receive()
                answer = self.answer(message) if isinstance(message, dict) else None
                if answer is not None:
                    await wire.send(answer)
        except WireClosed:
            return

    def _result(self, method: str, params: Mapping[str, Any], *, stateless: bool) -> Json | None:
        if method == "initialize":
            return {"protocolVersion": _VERSIONS[0], "capabilities": _CAPABILITIES, "serverInfo": _IDENTITY}
        if method == "server/discover":
            about = {"supportedVersions": list(_VERSIONS), "capabilities": _CAPABILITIES, **_PASSING}
            return {**about, "_meta": {_SERVER: _IDENTITY}}
        if method == "tools/list":
            return {"tools": self.tools, **(_PASSING if stateless else {})}
        if method == "tools/call":
            return self._called(params["name"], params.get("arguments") or {})
        return {} if method == "ping" else None

    def _called(self, name: str, arguments: Json) -> Json:
        self.calls.append((name, arguments))
        return {**echo_of(name, arguments), **({} if name in self._names else {"isError": True})}


def echo_of(name: str, arguments: Mapping[str, Any]) -> Json:
    """The result of a call."""
    told = json.dumps({"name": name, "arguments": arguments}, separators=(",", ":"), ensure_ascii=False)
    return {"content": [{"type": "text", "text": told}]}


if __name__ == "__main__":
    ReplayingServer(read_catalogue(Path(sys.argv[1]))[sys.argv[2]]).serve_stdio()
