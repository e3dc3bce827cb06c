"""A modern server tells of resources on a stream: it is opened anew when their set changes, and no change is missed."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp.types as t
import pytest
from hub_cases import Heard, eventually, hub_of
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from resource_cases import LOG, NOTES, OFTEN, UPDATED, ModernServer, hub_over, to

from toolcrib_mcp.errors import UpstreamError, UpstreamFailed
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams import Era
from toolcrib_mcp.upstreams.in_process_wire import open_in_process_wire
from toolcrib_runtime.testing import FakeClock


async def test_a_modern_server_that_refuses_says_why_and_keeps_telling_of_the_others() -> None:
    server = ModernServer()

    async with hub_over(server) as hub:
        heard = Heard(hub)
        await hub.subscribe("c1", "files", LOG)
        server.refusal = RpcError(-32602, "No such resource")
        with pytest.raises(UpstreamFailed, match="No such resource"):
            await hub.subscribe("c1", "files", NOTES)
        closed = server.closed
        await server.tell(UPDATED, uri=LOG)
        await heard.until(bool)
        watched = hub.status().totals.watched

    assert closed == 0, "the stream before it stays open"
    assert server.streams == [[LOG], [LOG, NOTES]]
    assert watched == 1


async def test_a_modern_server_that_tells_of_some_resources_only_is_believed() -> None:
    server = ModernServer(unknown=NOTES)

    async with hub_over(server) as hub:
        await hub.subscribe("c1", "files", LOG)
        with pytest.raises(UpstreamError, match="does not tell of changes"):
            await hub.subscribe("c1", "files", NOTES)
        await eventually(lambda: server.streams[-1] == [LOG])

    assert server.streams == [[LOG], [LOG, NOTES], [LOG]]


async def test_a_modern_server_that_tells_of_nothing_is_believed() -> None:
    async with hub_over(ModernServer(unknown=LOG)) as hub:
        with pytest.raises(UpstreamError, match="does not tell of changes"):
            await hub.subscribe("c1", "files", LOG)


async def test_a_modern_server_that_does_not_say_what_it_tells_is_not_waited_for() -> None:
    server, clock = ModernServer(acknowledges=False), FakeClock()

    async with hub_over(server, clock=clock) as hub:
        subscribing = asyncio.create_task(hub.subscribe("c1", "files", LOG))
        await server.until_heard("subscriptions/listen")
        await clock.advance(5)
        with pytest.raises(UpstreamError, match="does not tell of changes"):
            await subscribing


async def test_the_next_stream_is_open_before_the_last_is_closed() -> None:
    server = ModernServer()

    async with hub_over(server) as hub:
        await hub.subscribe("c1", "files", LOG)
        await hub.subscribe("c1", "files", NOTES)
        await eventually(lambda: server.closed == 1)
        await hub.unsubscribe("c1", "files", LOG)
        await eventually(lambda: server.closed == 2)
        await hub.unsubscribe("c1", "files", NOTES)
        await eventually(lambda: server.closed == 3)

    assert server.streams == [[LOG], [LOG, NOTES], [NOTES]]
    assert server.methods.count("tools/list") == 1, "what is said about resources makes no list be read again"


async def test_a_stream_that_the_server_ends_is_opened_again_after_a_pause() -> None:
    server, clock = ModernServer(), FakeClock()

    async with hub_over(server, clock=clock) as hub:
        await hub.subscribe("c1", "files", LOG)
        server.ending.set()
        await eventually(lambda: server.ended == 1)
        server.ending.clear()
        await clock.advance(0.5)
        during_the_pause = len(server.streams)
        await clock.advance(0.5)
        await server.until_heard("subscriptions/listen", 2)

    assert during_the_pause == 1
    assert server.streams == [[LOG], [LOG]]


async def test_somebody_new_is_not_kept_waiting_by_the_pause() -> None:
    server, clock = ModernServer(), FakeClock()

    async with hub_over(server, clock=clock) as hub:
        await hub.subscribe("c1", "files", LOG)
        server.ending.set()
        await eventually(lambda: server.ended == 1)
        server.ending.clear()
        async with asyncio.timeout(5):
            await hub.subscribe("c1", "files", NOTES)

    assert server.streams == [[LOG], [LOG, NOTES]]


async def test_a_server_that_dies_before_it_has_agreed_is_asked_in_its_next_life() -> None:
    server = ModernServer(acknowledges=False)

    async with hub_over(server, ours=OFTEN) as hub:
        subscribing = asyncio.create_task(hub.subscribe("c1", "files", LOG))
        await server.until_heard("subscriptions/listen")
        server.acknowledges = True
        await server.die(status=1)
        async with asyncio.timeout(5):
            await subscribing
        watched = hub.status().totals.watched

    assert server.lives == 2
    assert watched == 1


async def test_somebody_who_comes_back_before_the_stream_has_changed_is_told() -> None:
    server = ModernServer()

    async with hub_over(server) as hub:
        await hub.subscribe("c1", "files", LOG)
        await hub.unsubscribe("c1", "files", LOG)
        await hub.subscribe("c1", "files", LOG)
        heard = Heard(hub)
        await server.tell(UPDATED, uri=LOG)
        await heard.until(bool)

    assert server.streams == [[LOG]]
    assert to(heard) == [(LOG, {"c1"})]


async def test_of_two_who_come_at_once_only_the_one_that_is_refused_fails() -> None:
    server = ModernServer()
    server.refused = NOTES

    async with hub_over(server) as hub:
        outcomes = await asyncio.gather(
            hub.subscribe("c1", "files", NOTES), hub.subscribe("c2", "files", LOG), return_exceptions=True
        )
        watched = hub.status().totals.watched

    assert isinstance(outcomes[0], UpstreamFailed)
    assert outcomes[1] is None
    assert watched == 1


async def test_a_next_life_that_refuses_one_of_several_resources_tells_of_the_others() -> None:
    server = ModernServer()

    async with hub_over(server, ours=OFTEN) as hub:
        heard = Heard(hub)
        await hub.subscribe("c1", "files", NOTES)
        await hub.subscribe("c1", "files", LOG)
        server.refused = NOTES
        await server.die(status=1)
        await eventually(lambda: server.streams[-1] == [LOG])
        await server.tell(UPDATED, uri=LOG)
        await heard.until(lambda notices: bool(to(heard)))

    assert server.streams[2] == [LOG, NOTES]


async def test_whoever_takes_it_back_while_the_server_thinks_about_it_leaves_nothing_behind() -> None:
    server = ModernServer(acknowledges=False)

    async with hub_over(server) as hub:
        subscribing = asyncio.create_task(hub.subscribe("c1", "files", LOG))
        await server.until_heard("subscriptions/listen")
        subscribing.cancel()
        await asyncio.wait([subscribing])
        await server.tell("notifications/subscriptions/acknowledged", notifications={"resourceSubscriptions": [LOG]})
        await eventually(lambda: server.closed == 1)
        watched = hub.status().totals.watched

    assert watched == 0


async def test_a_hub_that_closes_while_the_server_thinks_about_it_waits_for_nothing() -> None:
    server = ModernServer(acknowledges=False)
    hub = hub_over(server)
    subscribing = asyncio.create_task(hub.subscribe("c1", "files", LOG))
    await server.until_heard("subscriptions/listen")

    async with asyncio.timeout(5):
        await hub.aclose(drain=0)
        subscribing.cancel()
        await asyncio.wait([subscribing])

    assert not hub.status().totals.watched


@pytest.mark.req("GW-6.6")
async def test_a_modern_server_of_the_official_sdk_is_heard() -> None:
    bus = InMemorySubscriptionBus()
    server = Server("fixture", version="1", on_list_tools=_no_tools, on_subscriptions_listen=ListenHandler(bus))

    async with hub_of({"files": lambda: open_in_process_wire(server)}) as hub:
        heard = Heard(hub)
        await hub.subscribe("c1", "files", LOG)
        await hub.subscribe("c2", "files", NOTES)
        await bus.publish(ResourceUpdated(uri=LOG))
        await bus.publish(ResourceUpdated(uri=NOTES))
        await heard.until(lambda notices: (NOTES, {"c2"}) in to(heard))
        era = (await hub.shared("files").agreed()).era

    assert era is Era.MODERN
    # While the stream changes, both the old and the new one may tell.
    assert [each for each in to(heard) if each[0] == LOG][:1] == [(LOG, {"c1"})]
    assert len(to(heard)) <= 4


async def _no_tools(context: Any, params: Any) -> t.ListToolsResult:
    return t.ListToolsResult(tools=[])
