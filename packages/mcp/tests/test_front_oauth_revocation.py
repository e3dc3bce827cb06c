"""Streams that are open when their token ends."""

from __future__ import annotations

import asyncio
import json

import pytest
from front_http_cases import (
    ACCEPT,
    FakeService,
    Link,
    call,
    data_of,
    initialize,
    modern,
    modern_headers,
    raw,
    serving,
    session_headers,
    session_of,
)

from toolcrib_core import ToolError
from toolcrib_mcp.front import Identity
from toolcrib_mcp.front.http import HttpFront, HttpFrontSettings
from toolcrib_mcp.front.http.rechecking import MAX_MISSED, UNWELCOME, Rechecked
from toolcrib_mcp.front.http.replies import Refusal

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-8.5")]

ANN = "Bearer token-of-ann"
LISTENING = {"notifications": {"toolsListChanged": True}}


class Register:
    """Who is known; a test may change its mind."""

    def __init__(self) -> None:
        self.known: Identity | None = Identity(name="ann")
        self.down = False
        self.asked = 0
        self.asked_again = asyncio.Event()

    async def authenticate(self, token: str) -> Identity | None:
        """Who the one token belongs to."""
        self.asked += 1
        if self.asked > 2:
            self.asked_again.set()
        if self.down:
            raise ToolError("The database failed.")
        return self.known

    def settings(self) -> dict[str, object]:
        """Those of a front that looks again all the time."""
        return {"authenticate": self.authenticate, "recheck_interval": 0.05}


@pytest.mark.parametrize("change", ["revoked", "narrowed"])
async def test_a_stream_for_notices_ends_soon_after_its_token(change):
    register, service = Register(), FakeService()

    async with asyncio.timeout(60), serving(service, **register.settings()) as url, raw(url) as client:
        await client.initialize(authorization=ANN)
        headers = {**session_headers(client), "authorization": ANN}
        async with client.client.stream("GET", url, headers=headers) as response:
            await register.asked_again.wait()
            register.known = None if change == "revoked" else Identity(name="ann", scopes=frozenset())
            rest = [line async for line in response.aiter_lines()]

    assert response.status_code == 200
    assert rest == []


async def test_a_stream_of_the_modern_era_ends_soon_after_its_token():
    register, service = Register(), FakeService()
    message = modern("subscriptions/listen", LISTENING)
    headers = {key.replace("_", "-"): str(each) for key, each in modern_headers(message).items()}

    async with asyncio.timeout(60), serving(service, **register.settings()) as url, raw(url) as client:
        sent = {**ACCEPT, **headers, "authorization": ANN}
        async with client.client.stream("POST", url, json=message, headers=sent) as response:
            said = data_of(response)
            acknowledged = json.loads(await anext(said))
            register.known = None
            rest = [json.loads(each) async for each in said]

    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert [each["id"] for each in rest] == [1]
    assert "result" in rest[0]


async def test_while_its_token_is_good_a_stream_stays_open():
    register, service = Register(), FakeService()

    async with asyncio.timeout(60), serving(service, **register.settings()) as url, raw(url) as client:
        await client.initialize(authorization=ANN)
        headers = {**session_headers(client), "authorization": ANN}
        async with client.client.stream("GET", url, headers=headers) as response:
            await register.asked_again.wait()
            await client.handshake("tools/call", call("change"), authorization=ANN)
            told = json.loads(await anext(data_of(response)))

    assert told["method"] == "notifications/tools/list_changed"


async def test_a_call_that_was_allowed_when_it_came_is_answered():
    register, service = Register(), FakeService()

    async with (
        asyncio.timeout(60),
        serving(service, ping_interval=0.05, **register.settings()) as url,
        raw(url) as client,
    ):
        calling = asyncio.create_task(client.modern("tools/call", call("wait", nonce="kept"), authorization=ANN))
        await service.hanging.wait()
        register.known = None
        late = await client.modern("tools/call", call("echo"), authorization=ANN)
        service.release.set()
        answer = await calling

    assert late.status_code == 401
    assert "kept" in answer.text


async def test_a_front_that_asks_nobody_does_not_look_again():
    front = HttpFront(FakeService(), settings=HttpFrontSettings(recheck_interval=0.01))

    async with asyncio.timeout(30):
        opening = Link(initialize())
        await front(opening.scope, opening.receive, opening.send)
        stream = Link(None, method="GET", mcp_session_id=session_of(opening))
        streaming = asyncio.create_task(front(stream.scope, stream.receive, stream.send))
        await stream.watched.wait()
        stream.gone.set()
        await streaming
        await front.aclose()

    assert stream.sent[-1]["more_body"] is False


async def test_a_request_ends_at_the_word_that_its_client_is_unwelcome():
    message = modern("subscriptions/listen", LISTENING)
    front = HttpFront(FakeService(), settings=HttpFrontSettings())
    link = Link(message, **{name: str(each) for name, each in modern_headers(message).items()})
    told = [{"type": "http.request", "body": link.body}, {"type": UNWELCOME}]

    async def receive():
        return told.pop(0)

    async with asyncio.timeout(30):
        await front(link.scope, receive, link.send)
        await front.aclose()

    assert link.sent[-1]["more_body"] is False
    assert b'"resultType":"complete"' in link.sent[-1]["body"]


async def _never():
    await asyncio.Event().wait()


async def _event_of(identify):
    async with asyncio.timeout(30):
        rechecked = Rechecked(_never, principal=Identity(name="ann"), identify=identify, every=0.001)
        return await rechecked()


async def test_when_nobody_can_tell_for_long_the_stream_ends():
    asked = 0

    async def cannot_tell():
        nonlocal asked
        asked += 1
        raise Refusal(503, "It cannot be told now.")

    assert await _event_of(cannot_tell) == {"type": UNWELCOME}
    assert asked == MAX_MISSED


async def test_when_somebody_can_tell_again_the_count_begins_anew():
    asked = 0

    async def seldom():
        nonlocal asked
        asked += 1
        if asked > 3 * MAX_MISSED:
            raise Refusal(401, "Not known.")
        if asked % MAX_MISSED:
            raise Refusal(503, "It cannot be told now.")
        return Identity(name="ann")

    assert await _event_of(seldom) == {"type": UNWELCOME}
    assert asked == 3 * MAX_MISSED + 1


async def test_one_who_takes_for_ever_to_tell_is_not_asked_for_ever():
    rechecked = Rechecked(_never, principal=None, identify=_never, every=0.001)
    event = None

    async with asyncio.timeout(30):
        while event is None:
            try:
                async with asyncio.timeout(0.05):
                    event = await rechecked()
            except TimeoutError:
                continue

    assert event == {"type": UNWELCOME}
