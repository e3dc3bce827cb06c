"""Sessions of the handshake era: opened, used, taken back, left and forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from front_http_cases import (
    ACCEPT,
    HANDSHAKE,
    FakeService,
    Link,
    Raw,
    call,
    initialize,
    message_of,
    notices_of,
    raw,
    serving,
    session_call,
    session_headers,
    session_of,
)

from toolcrib_mcp.front.http import HttpFront, HttpFrontSettings
from toolcrib_mcp.front.http.sessions import Sessions
from toolcrib_runtime.testing import FakeClock

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-6.2")]


async def test_a_session_opens_with_initialize_and_has_a_name_that_nobody_guesses():
    async with serving(FakeService()) as url, raw(url) as client:
        first, second = await client.initialize(), await client.initialize()

    assert first.status_code == 200
    assert first.headers["content-type"] == "text/event-stream"
    names = {first.headers["mcp-session-id"], second.headers["mcp-session-id"]}
    assert len(names) == 2
    assert all(len(name) >= 32 for name in names)


async def test_the_name_of_a_session_is_not_what_the_service_knows_it_by():
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        await client.initialize()
        await client.handshake("tools/call", call("echo"))

    conversation = service.requests[0].caller.conversation
    assert conversation is not None
    assert client.session not in conversation
    assert service.ended == [conversation]


@pytest.mark.parametrize(
    ("session", "status"), [(None, 400), ("nobody-has-this-one", 404)], ids=["none", "an unknown one"]
)
async def test_a_request_of_no_session_is_refused(session, status):
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        client.session = session
        posted = await client.handshake("tools/call", call("echo"))
        headers = {"mcp-session-id": session} if session else {}
        got = await client.client.get(url, headers={**ACCEPT, **headers})
        deleted = await client.client.delete(url, headers=headers)

    assert [posted.status_code, got.status_code, deleted.status_code] == [status] * 3
    assert message_of(posted)["error"]["code"] == -32600
    assert service.requests == []


async def test_an_initialize_that_fails_leaves_no_session():
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        response = await client.post({**initialize(), "params": {}})

    assert message_of(response)["error"]["code"] == -32602
    assert len(service.ended) == 1


async def test_initialize_may_come_again_in_the_same_session():
    async with serving(FakeService()) as url, raw(url) as client:
        await client.initialize()
        again = await client.post(initialize("2025-06-18"), mcp_session_id=client.session)

    assert message_of(again)["result"]["protocolVersion"] == "2025-06-18"
    assert "mcp-session-id" not in again.headers


async def test_notifications_are_taken_without_an_answer():
    async with serving(FakeService()) as url, raw(url) as client:
        await client.initialize()
        message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        response = await client.post(message, mcp_session_id=client.session, mcp_protocol_version=HANDSHAKE)

    assert (response.status_code, response.content) == (202, b"")


async def test_a_session_ends_when_its_client_deletes_it():
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        await client.initialize()
        deleted = await client.client.delete(url, headers={"mcp-session-id": str(client.session)})
        ended = list(service.ended)
        after = await client.handshake("ping")

    assert (deleted.status_code, after.status_code) == (200, 404)
    assert len(ended) == 1


async def test_deleting_a_session_ends_what_it_has_under_way():
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, raw(url) as client:
        await client.initialize()
        calling = asyncio.create_task(client.handshake("tools/call", call("hang")))
        await service.hanging.wait()
        async with notices_of(client) as lines:
            await client.client.delete(url, headers={"mcp-session-id": str(client.session)})
            rest = [line async for line in lines]
        response = await calling

    assert rest == []
    assert message_of(response)["error"]["code"] == -32000


@pytest.mark.fault("F16")
async def test_a_request_that_is_taken_back_ends_with_the_error_that_says_so():
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, raw(url) as client:
        await client.initialize()
        calling = asyncio.create_task(client.handshake("tools/call", call("hang")))
        await service.hanging.wait()
        for wrong in (8, None, 7.0, "7", [7]):
            await _take_back(client, wrong)
        assert not service.cancelled.is_set()
        await _take_back(client, 7)
        response = await calling

    assert message_of(response) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32800, "message": "Request cancelled"},
    }
    assert service.cancellations == 1


async def test_true_is_not_the_id_one():
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, raw(url) as client:
        await client.initialize()
        message = {**session_call("wait"), "id": 1}
        calling = asyncio.create_task(client.post(message, mcp_session_id=client.session))
        await service.hanging.wait()
        await _take_back(client, request_id=True)
        service.release.set()
        response = await calling

    assert "result" in message_of(response)


async def test_a_request_that_is_stopped_twice_is_stopped_once():
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, raw(url) as client:
        await client.initialize()
        calling = asyncio.create_task(client.handshake("tools/call", call("reluctant")))
        await service.hanging.wait()
        await _take_back(client, 7)
        await _take_back(client, 7)
        service.release.set()
        response = await calling

    assert message_of(response)["error"]["code"] == -32800
    assert service.cancellations == 1


async def test_a_server_that_gives_a_request_up_is_not_kept_by_it():
    service = FakeService()
    front = HttpFront(service, settings=HttpFrontSettings())

    async with asyncio.timeout(10):
        opening = Link(initialize())
        await front(opening.scope, opening.receive, opening.send)
        link = Link(session_call("hang"), mcp_session_id=session_of(opening))
        serving = asyncio.create_task(front(link.scope, link.receive, link.send))
        await service.hanging.wait()
        serving.cancel()
        await asyncio.wait([serving])
        await front.aclose()

    assert serving.cancelled()
    assert service.cancellations == 1


@pytest.mark.parametrize("modern", [False, True])
async def test_fifty_clients_at_once_each_get_their_own_answers(modern):
    async def talk(number: int) -> list[str]:
        client = Raw(connections, url)
        await client.initialize()
        post = client.modern if modern else client.handshake
        answers = [await post("tools/call", call("echo", nonce=f"{number}-{each}")) for each in range(4)]
        return [message_of(answer)["result"]["content"][0]["text"] for answer in answers]

    connections = httpx2.AsyncClient(timeout=30, limits=httpx2.Limits(max_connections=None), verify=False)
    async with asyncio.timeout(30), serving(FakeService()) as url, connections:
        said = await asyncio.gather(*(talk(number) for number in range(50)))

    assert said == [[f"{number}-{each}" for each in range(4)] for number in range(50)]


async def test_two_requests_of_one_id_are_not_mixed_up():
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, raw(url) as client:
        await client.initialize()
        calling = asyncio.create_task(client.handshake("tools/call", call("wait", nonce="first")))
        await service.hanging.wait()
        second = await client.handshake("tools/call", call("echo", nonce="second"))
        service.release.set()
        first = await calling

    assert (second.status_code, message_of(second)["id"]) == (400, 7)
    assert message_of(first)["result"]["content"][0]["text"] == "first"


async def test_a_client_that_goes_does_not_take_its_request_back():
    service = FakeService()
    front = HttpFront(service, settings=HttpFrontSettings())

    async with asyncio.timeout(10):
        opening = Link(initialize())
        await front(opening.scope, opening.receive, opening.send)
        link = Link(session_call("wait"), mcp_session_id=session_of(opening))
        serving = asyncio.create_task(front(link.scope, link.receive, link.send))
        await link.watched.wait()
        link.gone.set()
        await asyncio.sleep(0)
        service.release.set()
        await serving
        await front.aclose()

    assert service.finished.is_set()
    assert link.sent == []


@pytest.mark.fault("F16")
async def test_what_a_client_left_behind_is_cancelled_after_a_while():
    service = FakeService()

    async with asyncio.timeout(10), serving(service, abandoned_timeout=0.05) as url, raw(url) as client:
        await client.initialize()
        await _leave_while_session_call(client, service, "hang")
        await service.cancelled.wait()

    assert service.cancellations == 1


async def test_there_are_not_more_sessions_than_allowed():
    async with serving(FakeService(), max_sessions=1) as url, raw(url) as client:
        await client.initialize()
        first = client.session
        refused = await client.initialize()
        client.session = first
        pong = await client.handshake("ping")

    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert message_of(refused)["error"]["code"] == -32000
    assert pong.status_code == 200


async def test_a_session_that_nobody_uses_is_forgotten():
    clock, service = FakeClock(), FakeService()
    front = HttpFront(service, settings=HttpFrontSettings(session_idle=100), clock=clock)

    async with _in_process(front) as client:
        await client.initialize()
        await clock.advance(60)
        used = await client.handshake("ping")
        await clock.advance(60)
        still = front.sessions
        await clock.advance(60)
        after = await client.handshake("ping")
        await front.aclose()

    assert (used.status_code, still, after.status_code) == (200, 1, 404)
    assert len(service.ended) == 1


async def test_a_session_ends_once():
    service = FakeService()
    sessions = Sessions(service, settings=HttpFrontSettings())
    session = sessions.open(None)

    await sessions.close(session)
    await sessions.close(session)

    assert service.ended == [session.conversation.key]


async def test_a_session_with_a_request_under_way_is_in_use():
    clock, service = FakeClock(), FakeService()
    front = HttpFront(service, settings=HttpFrontSettings(session_idle=100), clock=clock)

    async with asyncio.timeout(10), _in_process(front) as client:
        await client.initialize()
        calling = asyncio.create_task(client.handshake("tools/call", call("wait")))
        await service.hanging.wait()
        await clock.advance(150)
        service.release.set()
        response = await calling
        sessions = front.sessions
        await front.aclose()

    assert (response.status_code, sessions) == (200, 1)


@asynccontextmanager
async def _in_process(front: HttpFront) -> AsyncIterator[Raw]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=front)) as client:
        yield Raw(client, "http://localhost/mcp")


async def _take_back(client: Raw, request_id: object) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
    assert (await client.post(message, mcp_session_id=client.session)).status_code == 202


async def _leave_while_session_call(client: Raw, service: FakeService, name: str) -> None:
    """Close the connection while the tool works."""
    async with httpx2.AsyncClient(verify=False) as other:
        calling = asyncio.create_task(other.post(client.url, json=session_call(name), headers=session_headers(client)))
        await service.hanging.wait()
        calling.cancel()
        await asyncio.wait([calling])
