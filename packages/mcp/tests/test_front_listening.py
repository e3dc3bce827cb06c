"""`subscriptions/listen`: what a modern client is told while its request stays open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from front_raw_client import ENVELOPE, RawClient, raw_client
from front_services import WATCHED, FixtureService
from process_children import until

from toolcrib_mcp.front import Notice
from toolcrib_mcp.front.listening import MAX_RESOURCES, MAX_WAITING, META_SUBSCRIPTION, listen

TOOLS_CHANGED = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"

pytestmark = pytest.mark.req("GW-6.5")


async def _listen(client: RawClient, request_id: object = 1, **wanted: Any) -> dict[str, Any]:
    return await client.exchange(request_id, "subscriptions/listen", notifications=wanted, _meta=ENVELOPE)


async def test_a_client_is_told_what_it_asked_for_and_nothing_else() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        acknowledged = await _listen(client, "sub", toolsListChanged=True, promptsListChanged=False)
        service.feed.publish(Notice(method="notifications/prompts/list_changed"))
        service.feed.publish(Notice(method=TOOLS_CHANGED, params={"novel": 1, "_meta": {"io.example/kept": 2}}))
        told = await client.read()

    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"] == {"notifications": {"toolsListChanged": True}, "_meta": {META_SUBSCRIPTION: "sub"}}
    assert told["method"] == TOOLS_CHANGED
    assert told["params"] == {"novel": 1, "_meta": {"io.example/kept": 2, META_SUBSCRIPTION: "sub"}}


async def test_a_resource_that_cannot_be_watched_is_left_out_and_the_others_are_told_of() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        acknowledged = await _listen(client, resourceSubscriptions=[WATCHED, "file:///other", WATCHED])
        service.touch()
        told = await client.read()

    assert acknowledged["params"]["notifications"] == {"resourceSubscriptions": [WATCHED]}
    assert (told["method"], told["params"]["uri"]) == (UPDATED, WATCHED)


async def test_two_streams_are_told_apart() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await _listen(client, 1, toolsListChanged=True)
        await _listen(client, "1", toolsListChanged=True, resourceSubscriptions=[WATCHED])
        service.touch()
        resource = await client.read()
        service.change()
        tools = [await client.read(), await client.read()]

    assert resource["params"]["_meta"] == {META_SUBSCRIPTION: "1"}
    assert [each["params"]["_meta"][META_SUBSCRIPTION] for each in tools] == [1, "1"]


async def test_a_stream_that_is_taken_back_ends_and_leaves_nothing_behind() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await _listen(client, toolsListChanged=True, resourceSubscriptions=[WATCHED])
        client.tell("notifications/cancelled", requestId=1)
        await until(lambda: not service.listeners[WATCHED])
        service.change()
        answer = await client.exchange(2, "tools/list", _meta=ENVELOPE)

    assert answer["id"] == 2
    assert service.feed._listeners == {}


@pytest.mark.parametrize(
    "wanted",
    [
        None,
        [],
        {"resourceSubscriptions": WATCHED},
        {"resourceSubscriptions": [1]},
        {"resourceSubscriptions": [f"file:///{number}" for number in range(MAX_RESOURCES + 1)]},
    ],
)
async def test_a_stream_that_does_not_say_what_it_wants_is_refused(wanted: object) -> None:
    async with raw_client(FixtureService()) as client:
        refused = await client.exchange(1, "subscriptions/listen", notifications=wanted, _meta=ENVELOPE)

    assert refused["error"]["code"] == -32602


class _SlowChannel:
    """A client that reads one message whenever the test says so."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Mapping[str, Any]]] = []
        self.read = asyncio.Semaphore(1)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        await self.read.acquire()
        self.told.append((method, params))

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ASYNC109  # the shape of a channel
        raise AssertionError


async def _start(service: FixtureService, channel: _SlowChannel, **wanted: Any) -> asyncio.Task[Mapping[str, Any]]:
    task = asyncio.create_task(listen(service, {"notifications": wanted}, request_id=1, channel=channel))
    await until(lambda: bool(channel.told))
    return task


def _updated(service: FixtureService, number: int) -> None:
    to = frozenset(service.listeners[WATCHED])
    service.feed.publish(Notice(method=UPDATED, params={"uri": f"{WATCHED}/{number}"}, to=to))


async def test_changes_that_wait_are_not_told_twice() -> None:
    service, channel = FixtureService(), _SlowChannel()
    task = await _start(service, channel, toolsListChanged=True, resourceSubscriptions=[WATCHED])

    for _ in range(2 * MAX_WAITING):
        service.change()
        service.touch()
    for _ in range(2):
        channel.read.release()
    await until(lambda: len(channel.told) == 3)
    task.cancel()

    assert [method for method, _ in channel.told[1:]] == [TOOLS_CHANGED, UPDATED]


async def test_the_stream_of_a_client_that_falls_behind_ends_and_leaves_nothing_behind() -> None:
    service, channel = FixtureService(), _SlowChannel()
    task = await _start(service, channel, resourceSubscriptions=[WATCHED])

    for number in range(MAX_WAITING + 10):
        _updated(service, number)
    channel.read.release()
    async with asyncio.timeout(5):
        result = await task

    assert result == {"_meta": {META_SUBSCRIPTION: 1}}
    assert len(channel.told) <= 2
    assert service.listeners == {WATCHED: set()}
    assert service.feed._listeners == {}


async def test_a_stream_that_cannot_be_taken_back_takes_the_others_back(caplog: pytest.LogCaptureFixture) -> None:
    taken_back: list[str] = []

    class Failing(FixtureService):
        async def subscribe(self, listener: str, uri: str) -> None:
            pass

        async def unsubscribe(self, listener: str, uri: str) -> None:
            taken_back.append(uri)
            raise ValueError(uri)

    service = Failing()
    task = await _start(service, _SlowChannel(), resourceSubscriptions=["a", "b"])
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert taken_back == ["a", "b"]
    assert "could not be taken back" in caplog.text
