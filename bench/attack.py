"""The HTTP front under attack: what others still get done, and how much memory it takes.

uv run python bench/attack.py [--quick] [--json]

One principal with a token, and one address without, do everything at once that takes up room: sessions, streams, slow
bodies, idle connections, wrong tokens, floods of headers, trailers and pipelined requests. Meanwhile other principals
call a tool at a steady pace. The front, the attackers and the others are three processes.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from ratios import Row, parser, report

_HOST: Final = "127.0.0.1"
_FROM: Final = "127.0.0.2"
_MODERN: Final = "2026-07-28"
_OTHERS: Final = 4
_PAUSE: Final = 0.04
_IDLE: Final = 1_500
_SLOW: Final = 300
_STREAMS: Final = 100
_GUESSERS: Final = 32
_PART: Final = 1024 * 1024

_ACCEPT = "host: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n"
_EVE = "authorization: Bearer token-of-eve\r\n"


async def serve() -> None:
    """Serve one tool to everybody who has a token, and print the URL."""
    from toolcrib_mcp.front.http import HttpFrontSettings, serve_http
    from toolcrib_mcp.toolboxes import ToolboxService
    from toolcrib_runtime import create_tool, create_toolbox
    from toolcrib_runtime.guards.secrets import Secret

    def echo(text: str) -> str:
        """Give a text back."""
        return text

    names = ["eve", *(f"other-{at}" for at in range(_OTHERS))]
    settings = HttpFrontSettings(tokens={name: Secret(f"token-of-{name}") for name in names}, requests_per_minute=1_200)
    service = ToolboxService(create_toolbox([create_tool(echo, effects="read")]), name="attacked", version="1")
    await serve_http(service, host=_HOST, settings=settings, on_ready=lambda url: print(url, flush=True))


def _request(body: bytes, *, headers: str, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"POST /mcp HTTP/1.1\r\n{_ACCEPT}{headers}content-length: {size}\r\n\r\n".encode() + body


def _call(name: str) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": _MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "echo", "arguments": {"text": "x" * 100}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    repeated = f"mcp-protocol-version: {_MODERN}\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n"
    return _request(body, headers=f"authorization: Bearer token-of-{name}\r\n{repeated}")


async def _answer(reader: asyncio.StreamReader) -> bytes:
    """The first line of an answer whose length is known."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
    await reader.readexactly(int(length.partition(b":")[2]))
    return head.split(b"\r\n")[0]


class Others:
    """Principals that call a tool at a steady pace."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def rate(self, seconds: float) -> float:
        """How many calls a second they get answered."""
        ends = time.monotonic() + seconds
        done = await asyncio.gather(*(self._work(f"other-{at}", ends) for at in range(_OTHERS)))
        return sum(done) / seconds

    async def _work(self, name: str, ends: float) -> int:
        done, request = 0, _call(name)
        reader = writer = None
        due = time.monotonic()
        while (now := time.monotonic()) < ends:
            if due > now:
                await asyncio.sleep(due - now)
            due += _PAUSE
            try:
                if reader is None or writer is None:
                    reader, writer = await asyncio.open_connection(_HOST, self._port)
                writer.write(request)
                async with asyncio.timeout(max(ends - time.monotonic(), 0.01)):
                    done += b" 200 " in await _answer(reader)
            except (OSError, EOFError, TimeoutError):
                reader = None
        if writer is not None:
            writer.close()
        return done


class Attackers:
    """Everything at once, until the process is ended."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def run(self) -> None:
        """Attack."""
        async with asyncio.TaskGroup() as group:
            for number, attack in (
                (_GUESSERS, self._guess),
                (_SLOW, self._send_slowly),
                (_STREAMS, self._open_sessions),
                (8, self._flood_headers),
                (8, self._send_trailers),
                (8, self._pipeline),
                (_IDLE, self._stay),
            ):
                for _ in range(number):
                    group.create_task(self._again(attack))

    async def _again(self, attack: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> None:
        while True:
            with suppress(OSError, EOFError, asyncio.LimitOverrunError):
                async with self._connected() as (reader, writer):
                    await attack(reader, writer)
            await asyncio.sleep(0.5)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        address = (_FROM, 0) if sys.platform == "linux" else None
        reader, writer = await asyncio.open_connection(_HOST, self._port, local_addr=address)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def _guess(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(_request(b"{}", headers="authorization: Bearer guess\r\n"))
            await _answer(reader)

    async def _send_slowly(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(_request(b'"' + b"x" * _PART, headers=_EVE, length=4 * _PART))
        await writer.drain()
        await reader.read()

    async def _open_sessions(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said = {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"x": {"y": "z" * 60_000}}}}
        said["clientInfo"] = {"name": "eve", "version": "1"}
        body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": said}).encode()
        writer.write(_request(body, headers=_EVE))
        head = await reader.readuntil(b"\r\n\r\n")
        session = next((line for line in head.split(b"\r\n") if line.lower().startswith(b"mcp-session-id")), b"")
        async with self._connected() as (streaming, asking):
            asking.write(f"GET /mcp HTTP/1.1\r\n{_ACCEPT}{_EVE}".encode() + session + b"\r\n\r\n")
            await streaming.read()

    async def _flood_headers(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"POST /mcp HTTP/1.1\r\n{_ACCEPT}".encode())
        while True:
            writer.write(b"x: " + b"y" * 16_000 + b"\r\n")
            await writer.drain()

    async def _send_trailers(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(
            f"POST /nowhere HTTP/1.1\r\n{_ACCEPT}transfer-encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n".encode()
        )
        while True:
            writer.write(b"x: " + b"y" * 16_000 + b"\r\n")
            await writer.drain()

    async def _pipeline(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(_call("eve") * 20)
            await writer.drain()

    async def _stay(self, reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()


def _memory(pid: int) -> float:
    """The most that the process ever took up, in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def measure(*, seconds: float) -> list[Row]:
    """The rows."""
    front = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    started = [front]
    try:
        assert front.stdout is not None
        port = urlsplit(front.stdout.readline()).port
        assert port is not None
        others = Others(port)
        asyncio.run(others.rate(1))
        calm = asyncio.run(others.rate(seconds))
        started.append(subprocess.Popen([sys.executable, __file__, "--attack", str(port)], text=True))
        under_attack = asyncio.run(others.rate(2 * seconds))
        taken = _memory(front.pid)
        alive = front.poll() is None
    finally:
        for process in started:
            process.kill()
            process.wait()
    share = under_attack / calm if alive else 0.0
    return [
        Row(id="K12", what="calls of others under attack", ours=share, unit="x calls in peace", target=">= 0.8"),
        Row(id="K12", what="memory of the front under attack", ours=taken, unit="MB", target="<= 300"),
    ]


def main() -> None:
    """Measure and print, or be one of the processes."""
    if "--serve" in sys.argv:
        asyncio.run(serve())
        return
    if "--attack" in sys.argv:
        asyncio.run(Attackers(int(sys.argv[-1])).run())
        return
    options = parser(__doc__ or "").parse_args()
    rows = measure(seconds=5 if options.quick else 20)
    report("attack", rows, as_json=options.json)


if __name__ == "__main__":
    main()
