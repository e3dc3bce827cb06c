"""What a hub reports about its servers, for people and for programs."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hub_cases import CALL, caller, eventually, hub_of, listing
from scripted_servers import ECHO, ScriptedServer

from toolcrib_mcp.hub import HubLimits

UNNAMED: dict[str, Any] = {"inputSchema": {"type": "object"}}


@pytest.mark.req("GW-6.4")
async def test_the_report_has_every_server_its_tools_and_what_is_wrong() -> None:
    good = listing("echo", "denied")
    twins = [{"name": "twin", "inputSchema": {"type": "object", "properties": {each: {}}}} for each in "ab"]
    odd = ScriptedServer(**{"tools/list": {"tools": [ECHO, UNNAMED, *twins]}})
    bad = ScriptedServer()
    bad.refuses = OSError("no such program")
    ours = {"servers": {"good": {"deny": ["denied"], "namespace": "Fine"}}}

    async with hub_of({"good": good.connect, "odd": odd.connect, "bad": bad.connect}, ours=ours) as hub:
        await hub.start(timeout=5)
        report = hub.status().to_json()

    assert json.loads(json.dumps(report)) == report
    assert (report["ok"], [report["servers"][name]["ok"] for name in hub.servers]) == (False, [True, True, False])
    assert report["servers"]["good"]["namespace"] == "fine"
    assert report["servers"]["good"]["tools"] == _counts(served=1, denied=1)
    assert report["servers"]["odd"]["tools"] == _counts(served=1, leftOut=1, withheld=2)
    assert {each["kind"] for each in report["servers"]["odd"]["findings"]} >= {"left-out", "withheld"}
    assert report["servers"]["odd"]["health"]["state"] == "started"
    assert "no such program" in report["servers"]["bad"]["health"]["lastFailure"]["message"]
    assert report["totals"] == {
        "servers": 3,
        "running": 2,
        "tools": _counts(served=2, leftOut=1, withheld=2, denied=1),
        "private": 0,
        "watched": 0,
    }


async def test_a_hub_whose_servers_were_never_needed_is_not_ok_until_they_are_known() -> None:
    async with hub_of({"files": listing("echo").connect}) as hub:
        before = hub.status()
        await hub.start(timeout=5)
        after = hub.status()

    assert (before.ok, before.totals.running) == (False, 0)
    assert (after.ok, after.totals.running) == (True, 1)


async def test_a_server_whose_list_has_no_end_is_used_and_not_ok() -> None:
    looping = ScriptedServer(**{"tools/list": {"tools": [ECHO], "nextCursor": "again"}})

    async with hub_of({"files": looping.connect}) as hub:
        reports = await hub.start(timeout=5)
        status = hub.status().servers["files"]

    assert reports[0].error is None
    assert status.tools.served == 1
    assert not status.ok


async def test_a_server_that_ended_is_not_ok_while_it_waits_to_be_started_again() -> None:
    server = listing("echo")
    ours = {"servers": {"files": {"restart": {"initialDelay": 60}}}}

    async with hub_of({"files": server.connect}, ours=ours) as hub:
        await hub.start(timeout=5)
        await server.die(status=1)
        await eventually(lambda: hub.shared("files").agreement is None)
        status = hub.status()

    assert not status.ok
    assert status.servers["files"].tools.served == 1


async def test_the_servers_of_single_clients_are_counted() -> None:
    server = listing("echo")
    ours = {"servers": {"files": {"grants": ["roots"]}}}

    async with hub_of({"files": server.connect}, ours=ours) as hub:
        async with hub.lease("files", caller(capabilities={"roots": {}})) as upstream:
            await upstream.call("tools/call", CALL)
        status = hub.status()

    assert (status.servers["files"].private, status.totals.private) == (1, 1)


@pytest.mark.parametrize("bound", ["max_waiting", "max_private", "max_exclusive", "max_watched", "idle_after"])
def test_bounds_that_make_no_sense_are_refused(bound: str) -> None:
    with pytest.raises(ValueError, match=bound):
        HubLimits(**{bound: -1})


async def test_a_report_can_be_made_while_everything_is_under_way() -> None:
    server = listing("echo")

    async with hub_of({"files": server.connect}) as hub:
        starting = asyncio.create_task(hub.start(timeout=5))
        await asyncio.sleep(0)
        early = hub.status()
        await starting

    assert early.totals.tools.served == 0


def _counts(**more: int) -> dict[str, int]:
    return {"served": 0, "leftOut": 0, "withheld": 0, "unlisted": 0, "denied": 0, "beyondCap": 0, **more}
