"""Clients hear of changes of the resources that they listen for, in both eras and through all lives of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hub_cases import Heard
from resource_cases import LOG, NOTES, OFTEN, UPDATED, ModernServer, hub_over, to
from scripted_servers import UNKNOWN, ScriptedServer

from toolcrib_mcp.errors import UpstreamBusy, UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.hub import HubLimits
from toolcrib_mcp.rpc import RpcError

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def handshake_server(**answers: Any) -> ScriptedServer:
    return ScriptedServer(**{"resources/subscribe": {}, "resources/unsubscribe": {}, **answers})


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("make", [handshake_server, ModernServer])
async def test_exactly_those_who_listen_hear_of_a_change(make: Callable[[], ScriptedServer]) -> None:
    server = make()

    async with hub_over(server) as hub:
        heard = Heard(hub)
        await hub.subscribe("c1", "files", LOG)
        await hub.subscribe("c2", "files", LOG)
        await hub.subscribe("c2", "files", NOTES)
        await server.tell(UPDATED, uri=LOG, _meta={SUBSCRIPTION: 4, "novel": 1})
        await server.tell(UPDATED, uri=NOTES, _meta={SUBSCRIPTION: 4})
        await server.tell(UPDATED, uri="file:///other")
        await server.tell(UPDATED, uri=LOG)
        await heard.until(lambda notices: len(notices) == 3)

    assert to(heard) == [(LOG, {"c1", "c2"}), (NOTES, {"c2"}), (LOG, {"c1", "c2"})]
    assert [notice.params.get("_meta") for notice in heard.notices] == [{"novel": 1}, None, None]


@pytest.mark.parametrize("uri", [f"{LOG}/today/mail", LOG])
async def test_who_listens_to_a_resource_hears_of_what_is_a_part_of_it(uri: str) -> None:
    server = handshake_server()

    async with hub_over(server) as hub:
        heard = Heard(hub)
        await hub.subscribe("c1", "files", LOG)
        await hub.subscribe("c2", "files", "file:///logs")
        await server.tell(UPDATED, uri=uri)
        await heard.until(bool)

    assert to(heard) == [(uri, {"c1"})]


async def test_a_notification_without_a_resource_is_for_nobody() -> None:
    server = handshake_server()

    async with hub_over(server) as hub:
        heard = Heard(hub)
        await hub.subscribe("c1", "files", LOG)
        await server.tell(UPDATED, uri=7)
        await server.tell(UPDATED, uri=LOG)
        await heard.until(bool)

    assert to(heard) == [(LOG, {"c1"})]


async def test_a_server_is_asked_once_however_many_listen_and_told_when_nobody_does() -> None:
    server = handshake_server()

    async with hub_over(server) as hub:
        await hub.subscribe("c1", "files", LOG)
        await hub.subscribe("c2", "files", LOG)
        await hub.subscribe("c2", "files", LOG)
        await hub.unsubscribe("c1", "files", LOG)
        told_early = server.methods.count("resources/unsubscribe")
        await hub.unsubscribe("c2", "files", LOG)
        await hub.unsubscribe("c2", "files", LOG)
        watched = hub.status().totals.watched

    assert server.methods.count("resources/subscribe") == 1
    assert (told_early, server.methods.count("resources/unsubscribe")) == (0, 1)
    assert watched == 0


async def test_a_client_that_has_gone_listens_to_nothing() -> None:
    server = handshake_server()

    async with hub_over(server) as hub:
        await hub.subscribe("c1", "files", LOG)
        await hub.subscribe("c1", "files", NOTES)
        await hub.subscribe("c2", "files", NOTES)
        await hub.end("c1")
        watched = hub.status().totals.watched

    assert watched == 1
    assert server.params_of("resources/unsubscribe") == {"uri": LOG}


@pytest.mark.parametrize("make", [handshake_server, ModernServer])
async def test_a_server_that_was_started_again_is_listened_to_again(make: Callable[[], ScriptedServer]) -> None:
    server = make()
    asked = "subscriptions/listen" if isinstance(server, ModernServer) else "resources/subscribe"

    async with hub_over(server, ours=OFTEN) as hub:
        heard = Heard(hub)
        await hub.subscribe("c1", "files", LOG)
        await server.die(status=1)
        await server.until_heard(asked, 2)
        await server.tell(UPDATED, uri=LOG)
        await heard.until(lambda notices: bool(to(heard)))

    assert to(heard) == [(LOG, {"c1"})]
    assert server.lives == 2


async def test_a_resource_that_the_next_life_of_a_server_does_not_know_keeps_no_other_from_being_heard() -> None:
    server = handshake_server()

    async with hub_over(server, ours=OFTEN) as hub:
        await hub.subscribe("c1", "files", LOG)
        await hub.subscribe("c1", "files", NOTES)
        server.answers["resources/subscribe"] = lambda params: {} if params["uri"] == NOTES else UNKNOWN
        await server.die(status=1)
        await server.until_heard("resources/subscribe", 4)

    assert server.params_of("resources/subscribe") == {"uri": NOTES}


async def test_a_refusal_is_the_servers_own_and_leaves_nothing_behind() -> None:
    server = handshake_server(**{"resources/subscribe": RpcError(-32002, "Resource not found")})

    async with hub_over(server) as hub:
        with pytest.raises(UpstreamFailed, match="Resource not found"):
            await hub.subscribe("c1", "files", LOG)
        watched = hub.status().totals.watched

    assert watched == 0


async def test_a_server_that_is_not_there_cannot_be_listened_to() -> None:
    server = handshake_server()
    server.refuses = OSError("no such program")

    async with hub_over(server) as hub:
        with pytest.raises(UpstreamUnavailable):
            await hub.subscribe("c1", "files", LOG)


async def test_no_more_than_so_many_resources_are_listened_for() -> None:
    async with hub_over(handshake_server(), limits=HubLimits(max_watched=1)) as hub:
        await hub.subscribe("c1", "files", LOG)
        await hub.subscribe("c2", "files", LOG)
        with pytest.raises(UpstreamBusy, match="1 resource"):
            await hub.subscribe("c1", "files", NOTES)


async def test_whoever_leaves_while_another_comes_does_not_take_it_along() -> None:
    server = handshake_server()

    async with hub_over(server) as hub:
        await hub.subscribe("c1", "files", LOG)
        async with asyncio.TaskGroup() as group:
            group.create_task(hub.unsubscribe("c1", "files", LOG))
            group.create_task(hub.subscribe("c2", "files", LOG))
        told = [each for each in server.methods if each.startswith("resources/")]

    assert told in (["resources/subscribe", "resources/unsubscribe", "resources/subscribe"], ["resources/subscribe"])
