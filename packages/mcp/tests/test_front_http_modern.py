"""Modern requests over HTTP: what their headers must say, and what HTTP says of their errors."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from front_http_cases import META, MODERN, FakeService, Link, call, modern, modern_headers, raw, serving

from toolcrib_mcp.front.http import HttpFront, HttpFrontSettings
from toolcrib_mcp.upstreams.eras import META_CAPABILITIES, META_VERSION

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-6.2")]

LACKING_VERSION = {key: each for key, each in META.items() if key != META_VERSION}
LACKING_CAPABILITIES = {key: each for key, each in META.items() if key != META_CAPABILITIES}


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("tools/list", {"mcp_method": None}),
        ("tools/list", {"mcp_method": "TOOLS/LIST"}),
        ("tools/list", {"mcp_method": "prompts/list"}),
        ("tools/list", {"mcp_protocol_version": None}),
        ("tools/list", {"mcp_protocol_version": "2025-11-25"}),
        ("tools/list", {"mcp_protocol_version": "2027-01-01"}),
        ("tools/call", {"mcp_name": None}),
        ("tools/call", {"mcp_name": "another"}),
        ("tools/call", {"mcp_name": "=?base64?ZWNob?="}),
    ],
)
async def test_headers_that_do_not_repeat_the_request_are_refused(method, headers):
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        response = await client.modern(method, call("echo"), **headers)

    assert (response.status_code, response.json()["error"]["code"], response.json()["id"]) == (400, -32020, 1)
    assert service.requests == []


@pytest.mark.parametrize("name", ["mcp-protocol-version", "mcp-method", "mcp-name"])
async def test_a_header_that_comes_twice_is_refused(name):
    service = FakeService()
    message = modern("tools/call", call("echo"))
    headers = [(key.replace("_", "-"), str(each)) for key, each in modern_headers(message).items()]
    twice = [each for each in headers if each[0] == name]

    async with serving(service) as url, raw(url) as client:
        lines = [*headers, *twice, ("accept", "application/json"), ("accept", "text/event-stream")]
        response = await client.client.post(url, json=message, headers=lines)

    assert (response.status_code, response.json()["error"]["code"]) == (400, -32020)
    assert service.requests == []


@pytest.mark.parametrize("meta", [None, {}, LACKING_VERSION, LACKING_CAPABILITIES])
async def test_a_request_that_does_not_say_what_each_must_say_is_refused(meta):
    async with serving(FakeService()) as url, raw(url) as client:
        response = await client.modern("tools/list", {"_meta": meta})

    assert (response.status_code, response.json()["error"]["code"]) == (400, -32602)


async def test_a_version_that_is_not_served_is_answered_with_those_that_are():
    meta = {**META, META_VERSION: "2027-01-01"}

    async with serving(FakeService()) as url, raw(url) as client:
        response = await client.modern("tools/list", {"_meta": meta}, mcp_protocol_version="2027-01-01")

    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32022
    assert response.json()["error"]["data"] == {"supported": [MODERN], "requested": "2027-01-01"}


async def test_a_name_that_no_header_can_carry_comes_packed():
    name = "größer ☃"
    packed = f"=?base64?{base64.b64encode(name.encode()).decode()}?="

    async with serving(FakeService()) as url, raw(url) as client:
        response = await client.modern("tools/call", call(name, nonce="n"), mcp_name=packed)

    assert response.json()["result"]["content"][0]["text"] == "n"


@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("unknown/method", {}, 404, -32601),
        ("initialize", {}, 404, -32601),
        ("ping", {}, 404, -32601),
        ("tools/call", call("refuse"), 400, -32602),
        ("tools/call", call("fail"), 200, -32603),
        ("tools/call", call("ask"), 404, -32601),
    ],
)
async def test_the_status_says_what_the_error_says(method, params, status, code):
    async with serving(FakeService()) as url, raw(url) as client:
        response = await client.modern(method, params)

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


async def test_a_request_belongs_to_no_session():
    service = FakeService()

    async with serving(service) as url, raw(url) as client:
        response = await client.modern("tools/list", mcp_session_id="anything")

    assert "mcp-session-id" not in response.headers
    assert service.requests[0].caller.conversation is None


@pytest.mark.parametrize(
    ("message", "version", "status"),
    [
        ({"jsonrpc": "2.0", "method": "notifications/cancelled"}, MODERN, 202),
        ({"jsonrpc": "2.0", "method": "notifications/cancelled"}, "2027-01-01", 400),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, MODERN, 400),
    ],
)
async def test_notifications_are_acknowledged_and_answers_are_not(message, version, status):
    async with serving(FakeService()) as url, raw(url) as client:
        response = await client.post(message, mcp_protocol_version=version)

    assert response.status_code == status


async def test_there_is_no_stream_and_nothing_to_delete():
    async with serving(FakeService()) as url, raw(url) as client:
        headers = {"mcp-protocol-version": MODERN, "accept": "text/event-stream"}
        responses = [await client.client.request(each, url, headers=headers) for each in ("GET", "DELETE", "PUT")]

    assert [(each.status_code, each.headers["allow"]) for each in responses] == [(405, "POST")] * 3


@pytest.mark.fault("F16")
async def test_a_client_that_goes_takes_its_request_back():
    service = FakeService()
    front = HttpFront(service, settings=HttpFrontSettings())
    message = modern("tools/call", call("hang"))
    link = Link(message, **{key: str(each) for key, each in modern_headers(message).items()})

    async with asyncio.timeout(10):
        serving = asyncio.create_task(front(link.scope, link.receive, link.send))
        await link.watched.wait()
        link.gone.set()
        await serving
        await front.aclose()

    assert service.cancellations == 1
    assert link.sent == []


async def test_a_server_that_tells_of_an_empty_body_again_has_not_lost_the_client():
    service = FakeService()
    front = HttpFront(service, settings=HttpFrontSettings())
    message = modern("tools/call", call("wait"))
    link = Link(message, **{key: str(each) for key, each in modern_headers(message).items()})
    events = iter([await link.receive(), {"type": "http.request", "body": b""}])

    async def receive() -> Any:
        return next(events, None) or await link.receive()

    async with asyncio.timeout(10):
        serving = asyncio.create_task(front(link.scope, receive, link.send))
        await link.watched.wait()
        service.release.set()
        await serving
        await front.aclose()

    assert link.sent[0]["status"] == 200


@pytest.mark.fault("F16")
async def test_two_hundred_clients_that_go_leave_nothing_running():
    service = FakeService()
    message = modern("tools/call", call("hang"))

    async with asyncio.timeout(30), serving(service) as url, raw(url) as client:
        for _ in range(200):
            service.hanging.clear()
            service.cancelled.clear()
            calling = asyncio.create_task(client.post(message, **modern_headers(message)))
            await service.hanging.wait()
            calling.cancel()
        while service.cancellations < 200:
            service.cancelled.clear()
            await service.cancelled.wait()
        after = await client.modern("tools/call", call("echo", nonce="well"))

    assert service.cancellations == 200
    assert after.json()["result"]["content"][0]["text"] == "well"


async def test_a_front_that_has_enough_to_do_says_so():
    service = FakeService()

    async with asyncio.timeout(10), serving(service, max_requests=1) as url, raw(url) as client:
        calling = asyncio.create_task(client.modern("tools/call", call("wait")))
        await service.hanging.wait()
        refused = await client.modern("tools/call", call("echo"))
        service.release.set()
        served = await calling

    assert (refused.status_code, refused.json()["id"]) == (503, 1)
    assert served.status_code == 200


async def test_an_open_stream_of_changes_ends_with_a_result_when_the_front_closes():
    service = FakeService()
    front = HttpFront(service, settings=HttpFrontSettings(drain_timeout=60))
    message = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, request_id="s1")
    link = Link(message, mcp_protocol_version=MODERN, mcp_method="subscriptions/listen")

    async with asyncio.timeout(10):
        serving = asyncio.create_task(front(link.scope, link.receive, link.send))
        await link.watched.wait()
        await front.aclose()
        await serving

    last = json.loads(link.sent[-1]["body"].split(b"data: ")[1])
    assert last["id"] == "s1"
    assert last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s1"
    assert last["result"]["resultType"] == "complete"
