"""Servers that speak HTTP with SSE, the transport of 2024-11-05: a real one of the SDK, and hostile ones."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp.server.sse import SseServerTransport
from sdk_servers import LOOPBACK, SdkServer, call, conversing, serving_sdk
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route

from toolcrib_mcp import load_config, upstream_of
from toolcrib_mcp.errors import UpstreamError
from toolcrib_mcp.rpc import WireClosed
from toolcrib_mcp.upstreams import sse_wire
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_mcp.upstreams.http_wire import open_http_wire
from toolcrib_mcp.upstreams.sse_wire import DetectingWire, SseWire, open_sse_wire
from toolcrib_runtime.errors import BlockedAddress
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.guards.secrets import Secret

pytestmark = [pytest.mark.req("CL-9"), pytest.mark.enable_socket]


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """The origin of an application on loopback."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    running = uvicorn.Server(
        uvicorn.Config(app, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=0)
    )
    listening.listen()
    task = asyncio.create_task(running.serve([listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        running.should_exit = True
        await task
        listening.close()


def real_app(fixture: SdkServer, seen: list[Any] | None = None) -> Starlette:
    transport = SseServerTransport("/messages/")

    async def listen(request: Request) -> Response:
        if seen is not None:
            seen.append(request.headers.get("x-key"))
        async with transport.connect_sse(request.scope, request.receive, request._send) as streams:
            await fixture.server.run(streams[0], streams[1], fixture.server.create_initialization_options())
        return Response()

    return Starlette(routes=[Route("/sse", listen), Mount("/messages/", app=transport.handle_post_message)])


@asynccontextmanager
async def wired(url: str, **options: Any) -> AsyncIterator[SseWire]:
    wire = await open_sse_wire(url, **{"headers": {}, "grant": LOOPBACK, **options})
    try:
        yield wire
    finally:
        await wire.aclose()


async def test_a_real_server_is_called_with_progress_and_a_question_back() -> None:
    fixture, seen = SdkServer(), []
    steps: list[Any] = []

    async def note(params: dict[str, Any]) -> None:
        steps.append(params["message"])

    async def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"colour": "blue"}}

    async with (
        serving(real_app(fixture, seen)) as origin,
        wired(f"{origin}/sse", headers={"X-Key": Secret("the-key-of-ada")}) as wire,
        conversing(wire, Era.HANDSHAKE, capabilities={"elicitation": {}}, on_request=answer) as session,
    ):
        result = await call(session, "echo", nonce="n1")
        await session.request("tools/call", {"name": "progress", "arguments": {}}, timeout=20, on_progress=note)
        asked = await call(session, "ask")
        several = await asyncio.gather(*(call(session, "echo", nonce=str(number)) for number in range(20)))

    assert result["content"][0]["text"] == "n1"
    assert steps == ["step 1", "step 2", "step 3"]
    assert "blue" in asked["content"][0]["text"]
    assert [each["content"][0]["text"] for each in several] == [str(number) for number in range(20)]
    assert seen == ["the-key-of-ada"]


def _config(folder: Path, entry: dict[str, Any]) -> Any:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"it": entry}}), "utf-8")
    return load_config(file).servers["it"]


@pytest.mark.parametrize("more", [{"type": "sse"}, {}], ids=["named", "found-out"])
async def test_a_configured_server_is_reached_whether_or_not_its_file_names_the_transport(
    tmp_path: Path, more: dict[str, str]
) -> None:
    async with (
        serving(real_app(SdkServer())) as origin,
        upstream_of(_config(tmp_path, {"url": f"{origin}/sse", **more})) as upstream,
    ):
        names = [each["name"] for each in (await upstream.tools()).items]
        result = await upstream.call("tools/call", {"name": "echo", "arguments": {"nonce": "n1"}})

    assert "echo" in names
    assert result["content"][0]["text"] == "n1"


async def test_without_a_type_a_server_over_streamable_http_is_spoken_to_as_before(tmp_path: Path) -> None:
    async with (
        serving_sdk(SdkServer().server) as url,
        upstream_of(_config(tmp_path, {"url": url})) as upstream,
    ):
        assert "echo" in [each["name"] for each in (await upstream.tools()).items]


@pytest.mark.parametrize("method", ["initialize", "server/discover"])
async def test_a_refused_initialize_is_sent_again_and_a_probe_is_answered_in_its_place(method: str) -> None:
    answer = b'data: {"jsonrpc": "2.0", "id": 1, "result": {"over": "sse"}}\n\n'
    async with serving(saying(NAMED, answer)) as origin:
        http = await open_http_wire(f"{origin}/sse", headers={}, grant=LOOPBACK)
        wire = DetectingWire(http, lambda: open_sse_wire(f"{origin}/sse", headers={}, grant=LOOPBACK))
        try:
            await wire.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}})
            first: Any = await wire.receive()
            noise = wire.noise
        finally:
            await wire.aclose()

    assert noise.lines == 0
    if method == "initialize":
        assert first["result"] == {"over": "sse"}
    else:
        assert (first["id"], first["error"]["code"]) == (1, -32601)


async def test_what_is_neither_transport_fails_with_the_first_refusal(tmp_path: Path) -> None:
    async with (
        serving(Starlette()) as origin,
        upstream_of(_config(tmp_path, {"url": f"{origin}/mcp"})) as upstream,
    ):
        with pytest.raises(UpstreamError, match="404"):
            await upstream.start(timeout=30)


# The server of the SDK leaves streams open where its request is cancelled.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_stream_that_ends_is_opened_again_for_the_next_call(tmp_path: Path) -> None:
    fixture = SdkServer()
    app, streams = real_app(fixture), 0
    ending = asyncio.Event()

    async def cut(scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        nonlocal streams
        if scope["path"] != "/sse":
            await app(scope, receive, send)
            return
        streams += 1
        serve = asyncio.create_task(app(scope, receive, send))  # type: ignore[arg-type]  # as starlette names it
        if streams == 1:
            await ending.wait()
            serve.cancel()
        await asyncio.wait([serve])

    async with (
        serving(cut) as origin,
        upstream_of(_config(tmp_path, {"url": f"{origin}/sse", "type": "sse"})) as upstream,
    ):
        await upstream.call("tools/call", {"name": "echo", "arguments": {"nonce": "n1"}})
        ending.set()
        async with asyncio.timeout(60):
            while streams == 1:  # noqa: ASYNC110  # the server sets no event
                await asyncio.sleep(0.01)
        again = await upstream.call("tools/call", {"name": "echo", "arguments": {"nonce": "n2"}})

    assert again["content"][0]["text"] == "n2"
    assert streams == 2


# What follows is hostile.


def saying(
    *chunks: bytes, status: int = 200, kind: str = "text/event-stream", post: int = 202, hold: bool = True
) -> Any:
    """An application whose stream has these bytes, and which answers every POST with a status."""

    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk
        if hold:
            await asyncio.Event().wait()

    async def listen(request: Request) -> Response:
        return StreamingResponse(body(), status_code=status, media_type=kind)

    async def take(request: Request) -> Response:
        return Response(status_code=post)

    return Starlette(routes=[Route("/sse", listen), Route("/post", take, methods=["POST"])])


NAMED = b"event: endpoint\ndata: /post?session=1\n\n"


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        (saying(b"event: endpoint\ndata: http://evil.example/post\n\n"), "another origin"),
        (saying(b"event: endpoint\ndata: //127.0.0.1:1/post\n\n"), "another origin"),
        (saying(b"event: endpoint\ndata: http://[\n\n"), "no URL|another origin"),
        (saying(b"event: endpoint\ndata: /" + b"x" * 5000 + b"\n\n"), "no URL"),
        (saying(b"event: endpoint\ndata: \xff\n\n"), "no URL"),
        (saying(b"data: {}\n\n"), "before it named an address"),
        (saying(b"data: " + b"x" * 200_000), "before it named an address"),
        (saying(b": hello\n\n", hold=False), "broke off"),
        (saying(NAMED, kind="text/html"), "no event stream"),
        (saying(NAMED, status=404), "404"),
        (saying(NAMED, status=401), "401"),
    ],
)
async def test_a_stream_that_does_not_begin_as_it_should_is_refused(app: Any, reason: str) -> None:
    async with serving(app) as origin:
        with pytest.raises(UpstreamError, match=reason):
            await open_sse_wire(f"{origin}/sse", headers={}, grant=LOOPBACK, max_message=100_000)


async def test_a_stream_that_names_no_address_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_wire, "ENDPOINT_SECONDS", 0.05)
    async with serving(saying(b": still here\n\n")) as origin:
        with pytest.raises(UpstreamError, match="no address to write to in time"):
            await open_sse_wire(f"{origin}/sse", headers={}, grant=LOOPBACK)


async def test_an_address_that_is_not_granted_is_not_reached() -> None:
    with pytest.raises(BlockedAddress):
        await open_sse_wire("http://127.0.0.1:9/sse", headers={}, grant=NetGrant(hosts=("example.com",)))


INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}


async def test_a_request_that_cannot_be_delivered_fails_and_a_notice_is_lost_in_silence() -> None:
    async with serving(saying(NAMED, post=400)) as origin, wired(f"{origin}/sse") as wire:
        await wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await wire.send(INITIALIZE)
        failed: Any = await wire.receive()

    assert (failed.id, "400" in failed.reason) == (1, True)
    assert wire.noise.lines == 0


async def test_a_server_that_forgot_the_session_ends_the_wire() -> None:
    async with serving(saying(NAMED, post=404)) as origin, wired(f"{origin}/sse") as wire:
        await wire.send(INITIALIZE)
        failed: Any = await wire.receive()
        with pytest.raises(WireClosed, match="forgotten the session"):
            await wire.receive()
        with pytest.raises(WireClosed):
            await wire.send(INITIALIZE)

    assert "forgotten the session" in failed.reason


async def test_a_request_that_is_not_taken_in_time_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_wire, "_POST_SECONDS", 0.05)
    waiting = saying(NAMED)

    async def hang(request: Request) -> Response:
        await asyncio.Event().wait()
        return Response()

    waiting.router.routes[1] = Route("/post", hang, methods=["POST"])
    async with serving(waiting) as origin, wired(f"{origin}/sse") as wire:
        await wire.send(INITIALIZE)
        failed: Any = await wire.receive()

    assert "broke off" in failed.reason


async def test_an_answer_that_is_too_long_fails_its_call_alone() -> None:
    long = b'data: {"jsonrpc": "2.0", "id": 1, "result": {"x": "' + b"x" * 200_000 + b'"}}\n\n'
    short = b'data: {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n\n'
    async with (
        serving(saying(NAMED, long, short)) as origin,
        wired(f"{origin}/sse", max_message=100_000) as wire,
    ):
        first: Any = await wire.receive()
        second = await wire.receive()

    assert (first.limit, first.is_answer) == (100_000, True)
    assert second == {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}


async def test_a_stream_that_breaks_off_ends_the_wire_with_its_reason() -> None:
    async with serving(saying(NAMED, hold=False)) as origin, wired(f"{origin}/sse") as wire:
        with pytest.raises(WireClosed, match="ended its event stream"):
            await wire.receive()
