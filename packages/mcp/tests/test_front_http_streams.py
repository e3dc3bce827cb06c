"""What clients of the handshake era are told and asked: on the stream of a request, and on one of its own."""

from __future__ import annotations

import asyncio
import json

import pytest
from front_http_cases import (
    TOOLS_CHANGED,
    FakeService,
    Link,
    Raw,
    call,
    data_of,
    initialize,
    key_of,
    notices_of,
    raw,
    serving,
    session_call,
    session_headers,
    session_of,
)

from toolcrib_mcp.front import Notice
from toolcrib_mcp.front.http import HttpFront, HttpFrontSettings

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-6.2")]


async def test_a_client_that_goes_can_no_longer_be_asked():
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, raw(url) as client:
        await client.initialize()
        stream = client.client.stream("POST", url, json=session_call("ask"), headers=session_headers(client))
        async with stream as response:
            asked = await anext(data_of(response))
        refusal = await service.refusals.get()

    assert "elicitation/create" in asked
    assert (refusal.code, refusal.message) == (-32000, "The client has gone.")


async def test_a_client_is_not_asked_more_than_it_can_bear():
    service = FakeService()
    front = HttpFront(service, settings=HttpFrontSettings(abandoned_timeout=0))

    async with asyncio.timeout(10):
        opening = Link(initialize())
        await front(opening.scope, opening.receive, opening.send)
        links = [
            Link({**session_call("ask"), "id": number}, mcp_session_id=session_of(opening)) for number in range(65)
        ]
        tasks = [asyncio.create_task(front(each.scope, each.receive, each.send)) for each in links]
        refusal = await service.refusals.get()
        await front.aclose(drain=0)
        await asyncio.wait(tasks)

    assert refusal.message == "The client is asked too much at once."


async def test_a_question_that_takes_too_long_is_taken_back():
    async with asyncio.timeout(10), serving(FakeService()) as url, raw(url) as client:
        await client.initialize()
        response = await client.handshake("tools/call", call("ask", seconds=0.05))

    asked, taken_back, answer = [json.loads(line[6:]) for line in response.text.splitlines() if line[:5] == "data:"]
    assert asked["method"] == "elicitation/create"
    assert taken_back == {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked["id"]}}
    assert answer["error"]["code"] == -32001


@pytest.mark.parametrize(
    "answer", [{"result": []}, {"error": "no"}, {"error": {"code": "x", "message": "y"}}], ids=repr
)
async def test_an_answer_that_is_none_is_an_error_of_the_client(answer):
    async with asyncio.timeout(10), serving(FakeService()) as url, raw(url) as client:
        await client.initialize()
        async with client.client.stream(
            "POST", url, json=session_call("ask"), headers=session_headers(client)
        ) as response:
            lines = data_of(response)
            asked = json.loads(await anext(lines))
            await client.post({"jsonrpc": "2.0", "id": asked["id"], **answer}, mcp_session_id=client.session)
            said = json.loads(await anext(lines))

    assert said["error"]["code"] == -32603


@pytest.mark.req("GW-6.5")
async def test_notices_wait_for_the_stream_and_then_come_in_order():
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, raw(url) as client:
        await client.initialize()
        key = frozenset({await key_of(client, service)})
        service.feed.publish(TOOLS_CHANGED)
        async with notices_of(client) as lines:
            service.feed.publish(Notice(method="notifications/resources/updated", params={"uri": "x://1"}, to=key))
            methods = [json.loads(await anext(lines))["method"] for _ in range(2)]

    assert methods == ["notifications/tools/list_changed", "notifications/resources/updated"]


async def test_the_oldest_notices_go_when_nobody_listens():
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, raw(url) as client:
        await client.initialize()
        key = frozenset({await key_of(client, service)})
        for number in range(300):
            params = {"uri": f"x://{number}"}
            service.feed.publish(Notice(method="notifications/resources/updated", params=params, to=key))
        async with notices_of(client) as lines:
            first = json.loads(await anext(lines))

    assert first["params"]["uri"] == "x://44"


async def test_talk_does_not_drive_out_what_has_changed():
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, raw(url) as client:
        await client.initialize()
        key = frozenset({await key_of(client, service)})
        service.feed.publish(TOOLS_CHANGED)
        for _ in range(1000):
            service.feed.publish(Notice(method="notifications/message", params={"level": "info"}, to=key))
        async with notices_of(client) as lines:
            first = json.loads(await anext(lines))

    assert first["method"] == "notifications/tools/list_changed"


async def test_a_session_has_one_stream_for_notices_at_a_time():
    async with asyncio.timeout(10), serving(FakeService()) as url, raw(url) as client:
        await client.initialize()
        async with notices_of(client):
            second = await client.client.get(url, headers=session_headers(client))
        while (third := await _status_of_stream(client)) == 409:
            await client.handshake("ping")

    assert (second.status_code, third) == (409, 200)


async def test_a_stream_for_notices_is_only_for_those_who_take_streams():
    async with serving(FakeService()) as url, raw(url) as client:
        await client.initialize()
        response = await client.client.get(url, headers={**session_headers(client), "accept": "application/json"})

    assert response.status_code == 406


async def test_a_silent_stream_says_that_it_is_still_there():
    service = FakeService()

    async with asyncio.timeout(10), serving(service, ping_interval=0.02) as url, raw(url) as client:
        await client.initialize()
        async with client.client.stream("GET", url, headers=session_headers(client)) as notices:
            silent = await anext(notices.aiter_lines())
        async with client.client.stream(
            "POST", url, json=session_call("wait"), headers=session_headers(client)
        ) as calling:
            lines = calling.aiter_lines()
            working = await anext(lines)
            service.release.set()
            rest = [line async for line in lines if line.startswith("data:")]

    assert (silent, working) == (": ping", ": ping")
    assert calling.headers["content-type"] == "text/event-stream"
    assert json.loads(rest[0][6:])["result"]["content"][0]["text"] == "done"


async def test_an_answer_that_nobody_waits_for_is_taken_and_dropped():
    async with serving(FakeService()) as url, raw(url) as client:
        await client.initialize()
        answer = {"jsonrpc": "2.0", "id": 99, "result": {}}
        response = await client.post(answer, mcp_session_id=client.session)

    assert response.status_code == 202


async def test_a_client_that_does_not_read_has_gone():
    service = FakeService()
    settings = HttpFrontSettings(write_timeout=0.02, abandoned_timeout=0.02)
    front = HttpFront(service, settings=settings)

    async with asyncio.timeout(10):
        opening = Link(initialize())
        await front(opening.scope, opening.receive, opening.send)
        link = Link(session_call("ask"), mcp_session_id=session_of(opening))
        link.reads.clear()
        await front(link.scope, link.receive, link.send)
        notices = Link(None, method="GET", mcp_session_id=session_of(opening))
        streaming = asyncio.create_task(front(notices.scope, notices.receive, notices.send))
        await notices.watched.wait()
        notices.reads.clear()
        service.feed.publish(TOOLS_CHANGED)
        await streaming
        await front.aclose()

    assert (await service.refusals.get()).message == "The client has gone."
    assert link.sent == []


async def test_an_answer_that_nobody_reads_is_not_waited_for():
    front = HttpFront(FakeService(), settings=HttpFrontSettings(write_timeout=0.02))
    link = Link(initialize())
    link.reads.clear()

    async with asyncio.timeout(10):
        await front(link.scope, link.receive, link.send)
        await front.aclose()

    assert link.sent == []


async def _status_of_stream(client: Raw) -> int:
    async with client.client.stream("GET", client.url, headers=session_headers(client)) as response:
        return response.status_code
