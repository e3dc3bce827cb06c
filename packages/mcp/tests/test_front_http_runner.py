"""The HTTP front on a socket: bound with care, and gone without a trace."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys

import httpx2
import pytest
from front_http_cases import (
    ACCEPT,
    FakeService,
    Link,
    SlowToEnd,
    SlowToOpen,
    call,
    initialize,
    message_of,
    modern,
    modern_headers,
    raw,
    serving,
    start,
)
from mcp import Client

from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.front.http import HttpFront, HttpFrontSettings, serve_http
from toolcrib_mcp.front.http.uvicorn_server import QuietServer
from toolcrib_runtime.guards.secrets import Secret

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-6.2")]


async def test_a_cancelled_front_lets_requests_finish_and_ends_streams():
    service, before = FakeService(), asyncio.all_tasks()

    async with asyncio.timeout(20):
        task, url = await start(service, drain_timeout=10)
        async with raw(url) as client:
            await client.initialize()
            headers = {**ACCEPT, "mcp-session-id": str(client.session)}
            async with client.client.stream("GET", url, headers=headers) as notices:
                calling = asyncio.create_task(client.handshake("tools/call", call("wait", nonce="kept")))
                await service.hanging.wait()
                task.cancel()
                while (late := await client.modern("tools/call", call("echo"))).status_code == 200:
                    pass
                service.release.set()
                rest = [line async for line in notices.aiter_lines()]
                kept = await calling
            await asyncio.wait([task])

    assert late.status_code == 503
    assert message_of(kept)["result"]["content"][0]["text"] == "kept"
    assert rest == []
    assert task.cancelled()
    assert len(service.ended) == 1
    assert asyncio.all_tasks() == before


@pytest.mark.fault("F16")
async def test_what_does_not_finish_in_time_is_cancelled():
    service = FakeService()

    async with asyncio.timeout(20):
        task, url = await start(service, drain_timeout=0.05)
        async with raw(url) as client:
            await client.initialize()
            calling = asyncio.create_task(client.handshake("tools/call", call("hang")))
            await service.hanging.wait()
            message = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            headers = {key.replace("_", "-"): str(each) for key, each in modern_headers(message).items()}
            listening = asyncio.create_task(client.client.post(url, json=message, headers={**ACCEPT, **headers}))
            await client.modern("tools/call", call("echo"))
            task.cancel()
            ended, closed = await calling, await listening
        await asyncio.wait([task])

    assert message_of(ended)["error"] == {"code": -32000, "message": "The server ended the request."}
    assert closed.status_code in {200, 503}
    assert service.cancellations == 1


async def test_a_handshake_that_the_end_comes_before_leaves_nothing():
    service = SlowToOpen()

    async with asyncio.timeout(20):
        task, url = await start(service, drain_timeout=0)
        async with raw(url) as client:
            opening = asyncio.create_task(client.initialize())
            await service.hanging.wait()
            task.cancel()
            response = await opening
        await asyncio.wait([task])

    assert message_of(response)["error"]["code"] == -32000
    assert len(service.ended) == 1


async def test_a_service_that_does_not_get_done_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr("toolcrib_mcp.front.http.sessions._ENDING_SECONDS", 0.05)
    service = SlowToEnd()

    async with asyncio.timeout(20):
        async with serving(service) as url, raw(url) as client:
            await client.initialize()
            deleted = await client.client.delete(url, headers={"mcp-session-id": str(client.session)})
            pending = not service.cancelled.is_set()
        await service.cancelled.wait()

    assert (deleted.status_code, pending) == (200, True)


async def test_a_server_that_cannot_begin_says_why():
    server = QuietServer(HttpFront(FakeService(), settings=HttpFrontSettings()), settings=HttpFrontSettings())

    async def fail() -> None:
        raise OSError("no such device")

    with pytest.raises(OSError, match="no such device"):
        await server.until_ready(asyncio.create_task(fail()))


async def test_the_official_client_survives_the_end_of_the_server():
    service = FakeService()

    async with asyncio.timeout(20):
        task, url = await start(service)
        async with Client(url, mode="2026-07-28") as client, client.listen(tools_list_changed=True) as heard:
            task.cancel()
            events = [event async for event in heard]
        await asyncio.wait([task])

    assert events == []


async def test_signals_are_left_to_whoever_runs_the_front():
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    async with serving(FakeService()):
        during = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]

    assert during == handlers


async def test_nothing_is_written_to_the_standard_streams(capfd):
    async with serving(FakeService()) as url, raw(url) as client:
        await client.initialize()
        await client.client.get(url + "/nothing")

    assert capfd.readouterr() == ("", "")


async def test_the_network_is_not_served_without_tokens():
    with pytest.raises(ConfigError, match="no token"):
        await serve_http(FakeService(), host="0.0.0.0")


async def test_the_network_is_served_with_tokens():
    tokens = {"ann": Secret("token-of-ann")}

    async with serving(FakeService(), host="0.0.0.0", tokens=tokens) as url, raw(url) as client:
        for host in (None, "192.0.2.7:80"):
            response = await client.modern("tools/call", call("echo"), authorization="Bearer token-of-ann", host=host)
            assert response.status_code == 200

    assert url.startswith("http://127.0.0.1:")


async def test_all_addresses_of_both_families_are_served_with_tokens():
    tokens = {"ann": Secret("token-of-ann")}

    async with serving(FakeService(), host="::", tokens=tokens) as url, raw(url) as client:
        response = await client.modern("tools/list", authorization="Bearer token-of-ann")

    assert url.startswith("http://[::1]:")
    assert response.status_code == 200


async def test_nobody_needs_to_be_told_when_the_front_is_ready():
    service = FakeService()
    port = _free_port()
    task = asyncio.create_task(serve_http(service, port=port))

    async with asyncio.timeout(10), raw(f"http://127.0.0.1:{port}/mcp") as client:
        while True:
            try:
                response = await client.modern("tools/list")
                break
            except httpx2.ConnectError:
                await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])

    assert response.status_code == 200


async def test_the_other_loopback_is_served_under_its_own_name():
    async with serving(FakeService(), host="::1") as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"))

    assert url.startswith("http://[::1]:")
    assert response.status_code == 200


async def test_an_address_that_is_taken_is_a_clear_error():
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]

    with taken, pytest.raises(ConfigError, match="cannot be served on") as refused:
        await serve_http(FakeService(), port=port)

    assert refused.value.details["port"] == port


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70000), ("name.invalid", 0)])
async def test_an_address_that_is_none_is_a_clear_error(host, port):
    settings = HttpFrontSettings(tokens={"ann": Secret("t")})

    with pytest.raises(ConfigError, match="cannot be served on"):
        await serve_http(FakeService(), host=host, port=port, settings=settings)


@pytest.mark.fault("F19")
@pytest.mark.parametrize("head", [b"", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: "], ids=["nothing", "a part"])
async def test_a_connection_that_never_asks_is_closed(head):
    async with asyncio.timeout(10), serving(FakeService(), head_timeout=0.05) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2].split("/")[0]))
        writer.write(head)
        rest = await reader.read()
        writer.close()

    assert rest == b""


async def test_a_head_that_trickles_in_gains_no_time_by_it():
    async with asyncio.timeout(10), serving(FakeService(), head_timeout=0.1) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2].split("/")[0]))
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        first = await reader.readuntil(b"}\n")
        closed = asyncio.create_task(reader.read())
        while not closed.done():
            writer.write(b"P")
            await asyncio.wait([closed], timeout=0.02)
        writer.close()

    assert first.startswith(b"HTTP/1.1 200")


async def test_an_application_server_may_own_its_life():
    service = FakeService()
    front = HttpFront(service, settings=HttpFrontSettings())
    opening = Link(initialize())
    await front(opening.scope, opening.receive, opening.send)
    events = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[str] = []

    async def receive() -> dict[str, str]:
        return next(events)

    async def send(event: dict[str, str]) -> None:
        sent.append(event["type"])

    await front({"type": "lifespan"}, receive, send)
    await front({"type": "websocket"}, receive, send)

    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert len(service.ended) == 1


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_the_front_is_there_without_the_sdk_and_without_a_server():
    code = (
        "import sys, toolcrib_mcp.front.http; print([m for m in ('mcp', 'uvicorn', 'starlette') if m in sys.modules])"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"


@pytest.mark.fault("F19")
async def test_a_head_without_end_is_refused_before_it_fills_the_memory():
    async with asyncio.timeout(10), serving(FakeService()) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2].split("/")[0]))
        writer.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 100_000)
        answer = await reader.readline()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 400")
