"""Real servers on loopback that say exactly the bytes a test wants, and a resolver that knows them by name."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

Behaviour: TypeAlias = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """What a server saw: connections, and the head and body of every request."""

    port: int = 0
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def url(self, path: str = "/", *, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@dataclass
class FakeResolver:
    """Gives the addresses of each name in turn, and the last ones for ever."""

    names: dict[str, list[Sequence[str]]]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self.names[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


def answer(status: str = "200 OK", *headers: str, body: bytes = b"", length: int | None = None) -> bytes:
    """The bytes of an answer, with an honest length unless another is given."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@asynccontextmanager
async def serving(*answers: bytes | Behaviour, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server that gives one answer per request, in order and then the last one for ever, and closes."""
    seen = Server()
    busy: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        busy.add(task)
        seen.connections += 1
        try:
            seen.requests.append(await _request(reader))
            seen.asked.set()
            reply = answers[min(len(seen.requests), len(answers)) - 1]
            await (_write(writer, reply) if isinstance(reply, bytes) else reply(writer))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            busy.discard(task)
            writer.transport.abort() if writer.transport.is_closing() else writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        server.close()
        for task in tuple(busy):
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
        await server.wait_closed()


def header_of(request: bytes, name: str) -> str | None:
    """The value of a header in a request that a server saw."""
    for line in request.split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]:
        key, _, value = line.partition(": ")
        if key.lower() == name.lower():
            return value
    return None


async def silence(writer: asyncio.StreamWriter) -> None:
    """Say nothing, for ever."""
    await asyncio.Event().wait()


def endlessly(first: bytes, then: bytes, *, every: float = 0.0) -> Behaviour:
    """Say something, and then something else again and again, so many seconds apart."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(then)
            await writer.drain()
            await asyncio.sleep(every)

    return behave


def then_silence(first: bytes) -> Behaviour:
    """Say something, and then nothing, with the connection kept open."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        await _write(writer, first)
        await silence(writer)

    return behave


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    return head + await reader.readexactly(int(header_of(head, "Content-Length") or 0))
