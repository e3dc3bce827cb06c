"""What clients are told without having asked: changes, resources, log messages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from front_raw_client import ENVELOPE, call, raw_client
from front_services import WATCHED, FixtureService
from process_children import until

from toolcrib_mcp.front import Feed, Notice
from toolcrib_mcp.front.unasked import MAX_CHANGES, MAX_OTHERS, Unasked

TOOLS_CHANGED = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
LOG = "notifications/message"


@pytest.mark.req("GW-6.5")
async def test_a_client_is_told_that_a_list_has_changed() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        service.change()
        told = await client.read()

    assert told == {"jsonrpc": "2.0", "method": TOOLS_CHANGED, "params": {}}


@pytest.mark.req("GW-6.5")
async def test_a_client_that_has_not_shaken_hands_is_told_nothing() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.exchange(1, "tools/list", _meta=ENVELOPE)
        service.change()
        answer = await client.exchange(2, "tools/list", _meta=ENVELOPE)

    assert answer["id"] == 2


@pytest.mark.req("GW-6.6")
async def test_a_client_is_told_of_a_resource_from_when_it_subscribes_until_it_no_longer_does() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        assert (await client.exchange(1, "resources/subscribe", uri=WATCHED))["result"] == {}
        service.touch()
        told = await client.read()
        assert (await client.exchange(2, "resources/unsubscribe", uri=WATCHED))["result"] == {}
        service.touch()
        after = await client.exchange(3, "ping")

    assert told == {"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": WATCHED}}
    assert after["id"] == 3


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
async def test_a_subscription_needs_a_uri(method: str) -> None:
    async with raw_client(FixtureService()) as client:
        await client.shake_hands()
        refused = await client.exchange(1, method, uri=["no"])

    assert refused["error"]["code"] == -32602


async def test_a_resource_that_cannot_be_watched_is_refused_as_the_service_says() -> None:
    async with raw_client(FixtureService()) as client:
        await client.shake_hands()
        refused = await client.exchange(1, "resources/subscribe", uri="file:///other")

    assert refused["error"] == {"code": -32602, "message": "Nobody tells of its changes."}


@pytest.mark.req("GW-6.6")
async def test_log_messages_come_from_the_level_that_was_asked_for() -> None:
    async with raw_client(FixtureService()) as client:
        await client.shake_hands()
        client.ask(1, "tools/call", **call("log"))
        before = [await client.read() for _ in range(3)]
        assert (await client.exchange(2, "logging/setLevel", level="error"))["result"] == {}
        client.ask(3, "tools/call", **call("log"))
        after = [await client.read() for _ in range(2)]

    assert [each["params"]["level"] for each in before if "method" in each] == ["debug", "error"]
    assert [each["params"] for each in after if "method" in each] == [
        {"level": "error", "data": "from error", "novel": True}
    ]


@pytest.mark.parametrize("level", ["loud", None, ["error"]])
async def test_a_level_that_there_is_not_is_refused(level: object) -> None:
    async with raw_client(FixtureService()) as client:
        await client.shake_hands()
        refused = await client.exchange(1, "logging/setLevel", level=level)

    assert refused["error"]["code"] == -32602
    assert "emergency" in refused["error"]["message"]


async def test_a_log_message_without_a_level_that_is_known_comes_through() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        await client.exchange(1, "logging/setLevel", level="emergency")
        service.feed.publish(Notice(method=LOG, params={"level": "loud"}, to=frozenset({"stdio"})))
        told = await client.read()

    assert told["params"] == {"level": "loud"}


async def test_what_is_for_others_or_for_nobody_in_particular_is_not_told() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        service.feed.publish(Notice(method=TOOLS_CHANGED, to=frozenset({"somebody else"})))
        service.feed.publish(Notice(method=LOG, params={"level": "error"}))
        answer = await client.exchange(1, "ping")

    assert answer["id"] == 1


async def test_what_is_not_json_is_not_told_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        service.feed.publish(Notice(method=TOOLS_CHANGED, params={"set": {1}}))
        service.feed.publish(Notice(method="notifications/prompts/list_changed"))
        told = await client.read()

    assert told["method"] == "notifications/prompts/list_changed"
    assert "is not JSON" in caplog.text


async def test_a_client_that_shakes_hands_twice_is_told_once() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        await client.shake_hands()
        service.change()
        told = await client.read()
        answer = await client.exchange(1, "ping")

    assert told["method"] == TOOLS_CHANGED
    assert answer["id"] == 1


async def _sent(unasked: Unasked) -> list[dict[str, Any]]:
    """All that waits there."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    task = asyncio.create_task(unasked.send_all(send))
    await until(lambda: not unasked._changes and not unasked._others)
    task.cancel()
    return sent


async def test_a_change_that_waits_is_not_told_twice() -> None:
    unasked = Unasked()
    for _ in range(5):
        unasked.add(TOOLS_CHANGED, {})
    for uri in ("a", "b", "a"):
        unasked.add(UPDATED, {"uri": uri})

    sent = await _sent(unasked)

    assert [(each["method"], each["params"].get("uri")) for each in sent] == [
        (TOOLS_CHANGED, None),
        (UPDATED, "a"),
        (UPDATED, "b"),
    ]


async def test_a_flood_of_log_messages_is_bounded_and_pushes_out_no_change() -> None:
    unasked = Unasked()
    for number in range(2 * MAX_OTHERS):
        unasked.add(LOG, {"level": "info", "data": number})
    unasked.add(TOOLS_CHANGED, {})

    sent = await _sent(unasked)

    assert len(sent) == MAX_OTHERS + 1
    assert sent[0]["method"] == TOOLS_CHANGED
    assert unasked.dropped == MAX_OTHERS


async def test_a_flood_of_changes_is_bounded() -> None:
    unasked = Unasked()
    for number in range(MAX_CHANGES + 7):
        unasked.add(UPDATED, {"uri": f"file:///{number}"})

    sent = await _sent(unasked)

    assert (len(sent), unasked.dropped) == (MAX_CHANGES, 7)


def test_a_listener_that_fails_keeps_nobody_else_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    feed, heard = Feed(), []

    def fail(notice: Notice) -> None:
        raise ValueError(notice.method)

    feed.subscribe(fail)
    stop = feed.subscribe(heard.append)
    feed.publish(Notice(method=TOOLS_CHANGED))
    stop()
    feed.publish(Notice(method=LOG))

    assert [notice.method for notice in heard] == [TOOLS_CHANGED]
    assert "could not be handed on" in caplog.text
