"""The catalogue of a hub is in step with what its servers list, and clients are told when what they see has changed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from hub_cases import Heard, eventually, hub_of, listing
from scripted_servers import ECHO, ScriptedServer

from toolcrib_mcp.catalog import Catalog, CatalogChange
from toolcrib_mcp.hub import Hub
from toolcrib_runtime.testing import FakeClock

CHANGED = "notifications/tools/list_changed"


def names(hub: Hub) -> list[str]:
    return [each.partition("#")[0] for each in hub.catalog.snapshot().ids]


def offer(server: ScriptedServer, *tools: dict[str, Any]) -> None:
    server.answers["tools/list"] = {"tools": list(tools)}


@pytest.mark.req("GW-1.2")
@pytest.mark.fault("F9")
async def test_two_servers_with_one_tool_name_and_one_with_a_reserved_one_are_told_apart() -> None:
    servers = {"github": listing("search").connect, "jira": listing("search", "tool_execute").connect}

    async with hub_of(servers) as hub:
        await hub.start(timeout=5)
        snapshot = hub.catalog.snapshot()
        found = [snapshot.hydrate(each) for each in snapshot.ids]

    assert names(hub) == ["github:search", "jira:search", "jira:tool_execute"]
    assert [(each.upstream, each.upstream_name) for each in found] == [
        ("github", "search"),
        ("jira", "search"),
        ("jira", "tool_execute"),
    ]
    assert snapshot.report.findings == ()
    assert len({snapshot.wire_names.encode(each) for each in snapshot.ids} - {"search", "tool_execute"}) == 3


@pytest.mark.req("GW-1.2")
async def test_the_namespace_is_the_one_that_the_operator_gives() -> None:
    ours = {"servers": {"files": {"namespace": "Archive"}}}

    async with hub_of({"files": listing("find").connect}, ours=ours) as hub:
        await hub.start(timeout=5)

    assert names(hub) == ["archive:find"]


async def test_only_tools_that_the_operator_lets_in_are_served() -> None:
    server = listing("read_file", "read_secret", "write_file")
    ours = {"servers": {"files": {"allow": ["read_*"], "deny": ["*secret"]}}}

    async with hub_of({"files": server.connect}, ours=ours) as hub:
        await hub.start(timeout=5)
        counts = hub.status().servers["files"].tools

    assert names(hub) == ["files:read_file"]
    assert (counts.served, counts.denied) == (1, 2)


@pytest.mark.req("CT-28")
async def test_the_operator_names_a_tool_as_it_is_shown_or_as_its_server_calls_it() -> None:
    server = listing("files.read", "files__drop", "files.drop_all", "files.find")
    own = {
        "allow": ["read", "*drop*", "find"],
        "deny": ["drop", "files.drop_all"],
        "risk": {"fin?": {"effects": "read"}},
    }

    async with hub_of({"files": server.connect}, ours={"servers": {"files": own}}) as hub:
        await hub.start(timeout=5)
        risks = {each: hub.server("files").risk_of(hub.catalog.hydrate(each)).effects for each in names(hub)}

    assert risks == {"files:find": "read", "files:read": "unknown"}


async def test_tools_beyond_the_cap_are_left_out_and_counted() -> None:
    ours = {"limits": {"maxTools": 2}}

    async with hub_of({"files": listing("a", "b", "c").connect}, ours=ours) as hub:
        await hub.start(timeout=5)
        counts = hub.status().servers["files"].tools

    assert names(hub) == ["files:a", "files:b"]
    assert (counts.served, counts.beyond_cap) == (2, 1)


async def test_what_a_server_says_of_its_tools_lowers_their_risk_only_if_it_is_trusted() -> None:
    tool = {**ECHO, "annotations": {"readOnlyHint": True}}
    one, other = (
        ScriptedServer(**{"tools/list": {"tools": [tool]}}),
        ScriptedServer(**{"tools/list": {"tools": [tool]}}),
    )
    ours = {"servers": {"trusted": {"trusted": True}}}

    async with hub_of({"trusted": one.connect, "unknown": other.connect}, ours=ours) as hub:
        await hub.start(timeout=5)
        found = {
            each.upstream: each.definition.risk.effects for each in map(hub.catalog.hydrate, hub.catalog.snapshot().ids)
        }

    assert found == {"trusted": "read", "unknown": "unknown"}


@pytest.mark.req("GW-6.5")
async def test_clients_are_told_once_when_servers_start_together() -> None:
    clock = FakeClock()
    servers = {f"s{number}": listing("echo").connect for number in range(5)}

    async with hub_of(servers, clock=clock) as hub:
        heard = Heard(hub)
        await hub.start(timeout=5)
        before = list(heard.methods)
        await clock.advance(1)
        await heard.until(bool)

    assert before == []
    assert heard.methods == [CHANGED]
    assert heard.notices[0].to is None


@pytest.mark.req("GW-6.5")
@pytest.mark.fault("F11")
async def test_a_storm_of_changes_is_read_a_few_times_and_told_once() -> None:
    server = listing("echo")

    async with hub_of({"files": server.connect}) as hub:
        await hub.start(timeout=5)
        heard = Heard(hub)
        await heard.until(lambda notices: len(notices) == 1)
        offer(server, ECHO, {**ECHO, "name": "more"})
        for _ in range(1_000):
            await server.tell("notifications/tools/list_changed")
        await heard.until(lambda notices: len(notices) == 2)

    assert names(hub) == ["files:echo", "files:more"]
    assert heard.methods == [CHANGED, CHANGED]
    assert server.methods.count("tools/list") <= 4


@pytest.mark.req("GW-6.5")
@pytest.mark.parametrize(("mode", "times"), [("proxy", 1), ("transparent", 2)])
async def test_a_change_that_clients_do_not_see_is_not_told(mode: str, times: int) -> None:
    server = listing("echo")
    unseen = {**ECHO, "outputSchema": {"type": "object"}}

    async with hub_of({"files": server.connect}, ours={"mode": mode}) as hub:
        await hub.start(timeout=5)
        heard = Heard(hub)
        await heard.until(lambda notices: len(notices) == 1)
        offer(server, unseen)
        await server.tell("notifications/tools/list_changed")
        await eventually(lambda: b"outputSchema" in hub.catalog.hydrate(hub.catalog.snapshot().ids[0]).tool_json)
        # Whatever is to be told is told before this is.
        await server.tell("notifications/prompts/list_changed")
        await heard.until(lambda notices: notices[-1].method == "notifications/prompts/list_changed")

    assert heard.methods.count(CHANGED) == times


@pytest.mark.req("GW-6.5")
async def test_a_server_that_comes_back_with_the_same_tools_is_no_news() -> None:
    server = listing("echo")
    ours = {"servers": {"files": {"restart": {"initialDelay": 0.01}}}}

    async with hub_of({"files": server.connect}, ours=ours) as hub:
        await hub.start(timeout=5)
        heard = Heard(hub)
        await heard.until(lambda notices: len(notices) == 1)
        await server.die(status=1)
        await server.until_heard("tools/list", 2)
        await server.tell("notifications/resources/list_changed")
        await heard.until(lambda notices: len(notices) == 2)

    assert heard.methods == [CHANGED, "notifications/resources/list_changed"]
    assert names(hub) == ["files:echo"]


async def test_an_empty_list_is_no_news_to_clients_that_saw_none() -> None:
    server = listing()

    async with hub_of({"files": server.connect}, ours={"mode": "transparent"}) as hub:
        heard = Heard(hub)
        await hub.start(timeout=5)
        await server.tell("notifications/prompts/list_changed")
        await heard.until(bool)

    assert heard.methods == ["notifications/prompts/list_changed"]
    assert hub.catalog.snapshot().upstreams == ("files",)


async def test_of_lists_that_come_while_one_is_read_only_the_newest_is(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, go_on, read = threading.Event(), threading.Event(), []
    update = Catalog.update

    def slowly(self: Catalog, upstream: str, tools: Any, **options: Any) -> CatalogChange:
        tools = list(tools)
        read.append([each["name"] for each in tools])
        reading.set()
        go_on.wait(10)
        return update(self, upstream, tools, **options)

    monkeypatch.setattr(Catalog, "update", slowly)
    async with hub_of({"files": listing().connect}) as hub:
        keeper = hub._keeper  # lists have to come faster than any server can be read
        keeper.take("files", [{**ECHO, "name": "first"}])
        await eventually(reading.is_set)
        keeper.take("files", [{**ECHO, "name": "second"}])
        keeper.take("files", [{**ECHO, "name": "third"}])
        loop_is_free = await asyncio.sleep(0, result=True)
        go_on.set()
        await keeper.settled("files")

    assert loop_is_free
    assert read == [["first"], ["third"]]
    assert names(hub) == ["files:third"]


async def test_a_list_that_makes_the_reading_fail_does_not_stop_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    update = Catalog.update

    def fail(self: Catalog, upstream: str, tools: Any, **options: Any) -> CatalogChange:
        monkeypatch.setattr(Catalog, "update", update)
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(Catalog, "update", fail)
    server = listing("echo")
    async with hub_of({"files": server.connect}) as hub:
        reports = await hub.start(timeout=5)
        offer(server, {**ECHO, "name": "next"})
        await server.tell("notifications/tools/list_changed")
        await eventually(lambda: names(hub) == ["files:next"])

    assert reports[0].error is None
    assert "could not be put into the catalogue" in caplog.text
