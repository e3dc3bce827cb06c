"""A service for the tests of the HTTP front, the front on a real socket, and requests as clients of each era send."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson

from toolcrib_mcp.front import Feed, Notice, Request, ServerFace
from toolcrib_mcp.front.http import HttpFrontSettings, serve_http
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.shared.session_book import SessionBook
from toolcrib_mcp.upstreams.eras import META_CAPABILITIES, META_CLIENT, META_VERSION

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
META = {META_VERSION: MODERN, META_CLIENT: {"name": "t", "version": "1"}, META_CAPABILITIES: {}}
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}

TOOLS_CHANGED = Notice(method="notifications/tools/list_changed")

_SAMPLING = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 9}
_COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}}


class FakeService:
    """A service whose tools do what the tests look at; it remembers what it was asked."""

    info: Mapping[str, Any] = {"name": "fixture", "version": "1"}

    def __init__(self) -> None:
        self.feed = Feed()
        self.requests: list[Request] = []
        self.ended: list[str] = []
        self.subscribed: list[tuple[str, str]] = []
        self.hanging = asyncio.Event()
        self.release = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.cancellations = 0
        self.finished = asyncio.Event()
        self.refusals: asyncio.Queue[RpcError] = asyncio.Queue()

    async def face(self) -> ServerFace:
        changing = {"listChanged": True}
        capabilities = {"tools": changing, "prompts": changing, "logging": {}, "resources": {"subscribe": True}}
        return ServerFace(capabilities=capabilities, instructions="Try it.")

    async def answer(self, request: Request) -> Mapping[str, Any]:
        self.requests.append(request)
        match request.method:
            case "tools/list":
                return {"tools": [_tool("echo"), _tool("routed", region={"type": "string", "x-mcp-header": "Region"})]}
            case "prompts/list":
                return {"prompts": []}
            case "tools/call":
                return await self._call(request)
        raise RpcError(-32601, "Method not found")

    async def subscribe(self, listener: str, uri: str) -> None:
        self.subscribed.append((listener, uri))

    async def unsubscribe(self, listener: str, uri: str) -> None:
        self.subscribed.remove((listener, uri))

    async def end(self, conversation: str) -> None:
        self.ended.append(conversation)

    @property
    def calls(self) -> list[str]:
        """The tools that were called."""
        return [each.params["name"] for each in self.requests if each.method == "tools/call"]

    async def _call(self, request: Request) -> Mapping[str, Any]:
        channel, arguments = request.channel, request.params.get("arguments") or {}
        match request.params["name"]:
            case "progress":
                assert request.on_progress is not None
                for step in (1, 2, 3):
                    await request.on_progress({"progress": step, "total": 3})
            case "log":
                await channel.notify("notifications/message", {"level": "info", "data": "working"})
            case "ask":
                return await self._ask(request, arguments.get("seconds", 10))
            case "sample":
                return _text(str(await channel.ask("sampling/createMessage", _SAMPLING, timeout=10)))
            case "change":
                self.feed.publish(TOOLS_CHANGED)
            case "unwritable":
                return {"content": [object()]}
            case other:
                await self._misbehave(other)
        return _text(str(arguments.get("nonce", "done")))

    async def _misbehave(self, name: str) -> None:
        match name:
            case "hang":
                await self._hang()
            case "wait":
                self.hanging.set()
                await self.release.wait()
                self.finished.set()
            case "reluctant":
                await self._hang_on()
            case "fail":
                raise ValueError("secret detail")
            case "refuse":
                raise RpcError(-32602, "Unknown tool", {"tool": "refuse"})

    async def _ask(self, request: Request, seconds: float) -> Mapping[str, Any]:
        params = {"mode": "form", "message": "Which colour?", "requestedSchema": _COLOUR}
        try:
            return _text(str(await request.channel.ask("elicitation/create", params, timeout=seconds)))
        except RpcError as error:
            self.refusals.put_nowait(error)
            raise

    async def _hang_on(self) -> None:
        try:
            await self._hang()
        finally:
            await self.release.wait()

    async def _hang(self) -> None:
        self.hanging.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancellations += 1
            self.cancelled.set()


async def start(
    service: FakeService, *, host: str = "127.0.0.1", book: SessionBook | None = None, **settings: Any
) -> tuple[asyncio.Task[None], str]:
    """The task of a front, and its URL; with a book it is one of several replicas."""
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    front = HttpFrontSettings(**{"drain_timeout": 0.2, **settings})
    task = asyncio.create_task(serve_http(service, host=host, settings=front, on_ready=ready.set_result, book=book))
    task.add_done_callback(lambda _: ready.done() or ready.cancel())
    async with asyncio.timeout(10):
        return task, await ready


@asynccontextmanager
async def serving(service: FakeService, **settings: Any) -> AsyncIterator[str]:
    """The URL of a front on loopback, which is gone afterwards."""
    task, url = await start(service, **settings)
    try:
        yield url
    finally:
        task.cancel()
        await asyncio.wait([task])


class Raw:
    """Sends single requests, with any headers, and gives the responses as they came."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        self.client = client
        self.url = url
        self.session: str | None = None

    async def post(self, message: object, **headers: str | None) -> httpx2.Response:
        """Post a message; underscores in names of headers are hyphens, and `None` leaves one out."""
        return await self.client.post(self.url, json=message, headers=_headers(headers))

    async def initialize(self, **headers: str | None) -> httpx2.Response:
        """Open a session, which later handshake requests are of."""
        response = await self.post(initialize(), **headers)
        self.session = response.headers.get("mcp-session-id")
        return response

    async def handshake(self, method: str, params: Mapping[str, Any] | None = None, **headers: str | None) -> Any:
        """Post a request of the session."""
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": dict(params or {})}
        return await self.post(message, **{"mcp_session_id": self.session, **headers})

    async def modern(self, method: str, params: Mapping[str, Any] | None = None, **headers: str | None) -> Any:
        """Post a modern request, with the headers that repeat it."""
        message = modern(method, params)
        return await self.post(message, **{**modern_headers(message), **headers})


class SlowToOpen(FakeService):
    """A service whose clients are kept waiting at the handshake."""

    async def face(self) -> ServerFace:
        self.hanging.set()
        await self.release.wait()
        return await super().face()


class SlowToEnd(FakeService):
    """A service that does not get done with a client that has gone."""

    async def end(self, conversation: str) -> None:
        await self._hang()


class Link:
    """One request to a front without a socket: the test says when its client goes, and when it stops to read."""

    def __init__(self, message: object, *, method: str = "POST", body: bytes | None = None, **headers: str) -> None:
        named = {**ACCEPT, "host": "localhost", **{name.replace("_", "-"): each for name, each in headers.items()}}
        lines = [(name.encode(), each.encode()) for name, each in named.items()]
        self.scope = {"type": "http", "method": method, "path": "/mcp", "headers": lines}
        self.body = orjson.dumps(message) if body is None else body
        self.sent: list[Any] = []
        self.watched = asyncio.Event()
        """Set when the front looks whether the client is still there."""
        self.gone = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self._received = False

    async def receive(self) -> Any:
        """The body, and then nothing until the client goes."""
        if not self._received:
            self._received = True
            return {"type": "http.request", "body": self.body}
        self.watched.set()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: Any) -> None:
        """Take what the front sends."""
        await self.reads.wait()
        self.sent.append(event)


@asynccontextmanager
async def raw(url: str) -> AsyncIterator[Raw]:
    """A plain HTTP client of the front; it loads no certificates, which takes most of the time of a short test."""
    async with httpx2.AsyncClient(timeout=20, verify=False) as client:
        yield Raw(client, url)


def initialize(version: str = HANDSHAKE, **capabilities: Any) -> dict[str, Any]:
    """The first request of a handshake client."""
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def modern(method: str, params: Mapping[str, Any] | None = None, *, request_id: str | int = 1) -> dict[str, Any]:
    """A request of the modern era."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {"_meta": META, **(params or {})}}


def modern_headers(message: Mapping[str, Any]) -> dict[str, str | None]:
    """The headers that repeat it."""
    headers: dict[str, str | None] = {"mcp_protocol_version": MODERN, "mcp_method": message["method"]}
    if message["method"] == "tools/call":
        headers["mcp_name"] = message["params"]["name"]
    return headers


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """The params of a call."""
    return {"name": name, "arguments": arguments}


def session_of(link: Link) -> str:
    """The name of the session that a request has opened."""
    return str(dict(link.sent[0]["headers"])[b"mcp-session-id"].decode())


def session_headers(client: Raw) -> dict[str, str]:
    """The headers of a request of the session."""
    return {**ACCEPT, "mcp-session-id": str(client.session)}


def session_call(name: str) -> dict[str, Any]:
    """A call of a tool in a session."""
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call(name)}


def message_of(response: httpx2.Response) -> Any:
    """The message of an answer, whether it came as JSON or as the one event of a stream."""
    streamed = response.headers["content-type"] == "text/event-stream"
    return json.loads(response.text.partition("data: ")[2] if streamed else response.text)


async def data_of(response: httpx2.Response) -> Any:
    """What the events of a stream carry, one by one."""
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            yield line[6:]


async def key_of(client: Raw, service: FakeService) -> str:
    """What the service knows the session by."""
    await client.handshake("tools/call", call("echo"))
    return str(service.requests[-1].caller.conversation)


@asynccontextmanager
async def notices_of(client: Raw) -> AsyncIterator[Any]:
    """What the client of the session is told without having asked."""
    async with client.client.stream("GET", client.url, headers=session_headers(client)) as response:
        assert response.status_code == 200
        yield data_of(response)


def _headers(headers: Mapping[str, str | None]) -> dict[str, str]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {name: value for name, value in {**ACCEPT, **named}.items() if value is not None}


def _tool(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema}


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": False}
