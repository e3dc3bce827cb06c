"""A hub: all servers of a configuration started at once, asked within bounds, and closed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from hub_cases import CALL, ECHOED, Heard, Held, caller, config_file, eventually, hub_of, listing, program
from process_children import alive, nothing_left
from scripted_servers import ScriptedServer

from toolcrib_mcp.errors import UpstreamBusy, UpstreamUnavailable
from toolcrib_mcp.hub import Hub, HubLimits
from toolcrib_mcp.upstreams import UpstreamState
from toolcrib_runtime.testing import FakeClock


async def test_every_server_is_started_catalogued_and_reported() -> None:
    one, other = listing("echo"), listing("find", "put")

    async with hub_of({"one": one.connect, "other": other.connect}) as hub:
        reports = await hub.start(timeout=5)
        ids = hub.catalog.snapshot().ids

    assert [(each.name, each.error) for each in reports] == [("one", None), ("other", None)]
    assert [each.partition("#")[0] for each in ids] == ["one:echo", "other:find", "other:put"]
    assert list(hub.servers) == ["one", "other"]


@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F1")
async def test_a_server_that_never_answers_delays_no_other() -> None:
    silent = ScriptedServer(**{"initialize": None, "server/discover": None})
    good = listing("echo")

    async with hub_of({"silent": silent.connect, "good": good.connect}) as hub:
        starting = asyncio.create_task(hub.start(timeout=20))
        await eventually(lambda: len(hub.catalog.snapshot()) == 1)
        async with hub.lease("good", caller()) as upstream:
            result = await upstream.call("tools/call", CALL)
        was_waiting = not starting.done()
        starting.cancel()

    assert result == ECHOED
    assert was_waiting


def test_what_starts_programs_loads_no_database_and_no_http_client() -> None:
    code = (
        "import sys, toolcrib_mcp.hub.hub, toolcrib_mcp.safeguards.checking\n"
        "print(sorted({'sqlalchemy', 'alembic', 'sqlite3', 'httpx2', 'mcp'} & sys.modules.keys()))"
    )

    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)

    assert run.stdout == "[]\n"


async def test_servers_count_as_dialled_when_each_was_tried_once_whether_or_not_it_answers() -> None:
    bad, silent = ScriptedServer(), ScriptedServer(**{"initialize": None, "server/discover": None})
    bad.refuses = OSError("no such program")

    async with hub_of({"bad": bad.connect, "silent": silent.connect}) as hub:
        starting = asyncio.create_task(hub.start(timeout=20))
        async with asyncio.timeout(10):
            await hub.dialled(timeout=60)
            await hub.dialled(timeout=60)
        was_waiting = not starting.done()
        starting.cancel()

    assert was_waiting


async def test_nobody_waits_long_for_servers_that_are_not_dialled() -> None:
    async with hub_of({"idle": listing("echo").connect}) as hub, asyncio.timeout(10):
        await hub.dialled(timeout=0.01)
        state = hub.shared("idle").state
    async with hub_of({}) as empty, asyncio.timeout(10):
        await empty.dialled(timeout=60)

    assert state is UpstreamState.CONFIGURED


@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F1")
async def test_a_server_that_cannot_be_started_is_reported_and_the_others_serve() -> None:
    bad = ScriptedServer()
    bad.refuses = OSError("no such program")

    async with hub_of({"bad": bad.connect, "good": listing("echo").connect}) as hub:
        reports = await hub.start(timeout=5)
        ids = hub.catalog.snapshot().ids

    assert isinstance(reports[0].error, UpstreamUnavailable)
    assert reports[1].error is None
    assert len(ids) == 1


async def test_tools_that_are_asked_for_are_in_the_catalogue_when_they_are_given() -> None:
    async with hub_of({"files": listing("echo").connect}) as hub:
        listed = await hub.tools("files", timeout=5)
        known = len(hub.catalog.snapshot())

    assert [tool["name"] for tool in listed.items] == ["echo"]
    assert known == 1


async def test_whoever_has_nothing_granted_speaks_over_the_shared_connection() -> None:
    server = ScriptedServer()

    async with (
        hub_of({"files": server.connect}) as hub,
        hub.lease("files", caller()) as one,
        hub.lease("files", caller(conversation="c2", capabilities={"elicitation": {}})) as other,
    ):
        result = await one.call("tools/call", CALL)

        assert one is other is hub.shared("files")

    assert result == ECHOED
    assert server.lives == 1


async def test_a_server_takes_so_many_requests_at_once_and_the_others_wait_their_turn() -> None:
    held = Held()
    ours = {"servers": {"files": {"concurrency": 2}}}

    async with hub_of({"files": held.server.connect}, ours=ours) as hub, asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(held.call(hub, f"c{number}"))
        await held.until_under_way(2)
        waiting = hub.status().servers["files"].waiting
        held.let_go()

    assert waiting == 1
    assert held.most_at_once == 2
    assert held.answered == 3


async def test_whoever_waits_too_long_for_a_place_is_told_that_the_server_is_busy() -> None:
    held, clock = Held(), FakeClock()
    ours = {"servers": {"files": {"concurrency": 1}}}

    async with (
        hub_of({"files": held.server.connect}, ours=ours, clock=clock) as hub,
        hub.lease("files", caller()),
        asyncio.timeout(5),
    ):
        waiting = asyncio.create_task(held.call(hub, "c2", timeout=3))
        await eventually(lambda: hub.status().servers["files"].waiting == 1)
        await clock.advance(3)
        with pytest.raises(UpstreamBusy, match="none of them ended within 3 s") as raised:
            await waiting

    assert raised.value.details == {"upstream": "files", "sent": False}
    assert raised.value.retryable


async def test_whoever_comes_when_too_many_wait_is_told_at_once() -> None:
    ours = {"servers": {"files": {"concurrency": 1}}}
    held = Held()

    async with (
        hub_of({"files": held.server.connect}, ours=ours, limits=HubLimits(max_waiting=1)) as hub,
        hub.lease("files", caller()),
    ):
        waiting = asyncio.create_task(held.call(hub, "c2"))
        await eventually(lambda: hub.status().servers["files"].waiting == 1)
        with pytest.raises(UpstreamBusy, match="1 more request"):
            async with hub.lease("files", caller()):
                pass
        waiting.cancel()


@pytest.mark.fault("F15")
async def test_a_server_that_hangs_takes_no_place_from_another() -> None:
    hanging, good = ScriptedServer(**{"tools/call": None}), ScriptedServer()
    ours = {"limits": {"maxConcurrentCalls": 2}}

    async with (
        asyncio.timeout(5),
        hub_of({"hanging": hanging.connect, "good": good.connect}, ours=ours) as hub,
        hub.lease("hanging", caller()),
        hub.lease("hanging", caller()),
        hub.lease("good", caller()) as upstream,
    ):
        result = await upstream.call("tools/call", CALL)

    assert result == ECHOED


@pytest.mark.req("GW-6.6")
@pytest.mark.fault("F17")
@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list"])
async def test_what_a_server_asks_of_a_client_is_refused_unless_it_was_granted(method: str) -> None:
    server, asked = ScriptedServer(), []

    async def answer(name: str, params: dict[str, object]) -> dict[str, object]:
        asked.append(name)
        return {}

    able = caller(capabilities={"sampling": {}, "elicitation": {}, "roots": {}})
    async with hub_of({"files": server.connect}) as hub:
        async with hub.lease("files", able, on_request=answer) as upstream:
            await upstream.call("tools/call", CALL)
            await server.ask(method)
            await server.until_heard("")
            reply = server.params_of("")
        announced = server.params_of("initialize")["capabilities"]

    assert reply["error"]["code"] == -32601
    assert announced == {}
    assert asked == []


@pytest.mark.parametrize("method", ["notifications/message", "notifications/custom"])
async def test_what_a_shared_server_says_is_said_to_the_sole_client(method: str) -> None:
    server = ScriptedServer()

    async with hub_of({"files": server.connect}, solo=True) as hub:
        heard = Heard(hub)
        async with hub.lease("files", caller(conversation="stdio")) as upstream:
            await upstream.call("tools/call", CALL)
        await server.tell(method, level="info", data="x")
        await heard.until(bool)

    assert [(each.method, each.to) for each in heard.notices] == [(method, frozenset({"stdio"}))]
    assert heard.notices[0].params == {"level": "info", "data": "x"}


async def test_a_request_of_the_sole_client_hears_what_is_said_during_it() -> None:
    server, told = ScriptedServer(), asyncio.Event()

    async def hear(method: str, params: dict[str, object]) -> None:
        told.set()

    async with hub_of({"files": server.connect}, solo=True) as hub:
        heard = Heard(hub)
        async with hub.lease("files", caller(), on_notification=hear) as upstream, asyncio.timeout(5):
            await upstream.call("tools/call", CALL)
            await server.tell("notifications/message", level="info", data="x")
            await told.wait()

    assert heard.notices == []


async def test_what_a_shared_server_says_is_for_nobody_where_there_are_several_clients() -> None:
    server = ScriptedServer()

    async with hub_of({"files": server.connect}) as hub:
        heard = Heard(hub)
        async with hub.lease("files", caller()) as upstream:
            await upstream.call("tools/call", CALL)
            await server.tell("notifications/message", level="info", data="x")
            await upstream.call("tools/call", CALL)

    assert heard.notices == []


async def test_a_server_that_was_brought_needs_a_name_of_its_own() -> None:
    server = ScriptedServer()

    with pytest.raises(ValueError, match="'My Files'"):
        hub_of({"my-files": server.connect, "My Files": server.connect})


async def test_a_server_that_is_not_there_is_no_server() -> None:
    async with hub_of({}) as hub:
        with pytest.raises(UpstreamUnavailable, match="not in the configuration"):
            hub.shared("files")
        with pytest.raises(UpstreamUnavailable, match="not in the configuration"):
            async with hub.lease("files", caller()):
                pass


async def test_a_closed_hub_takes_no_more_requests_and_can_be_closed_twice() -> None:
    hub = hub_of({"files": ScriptedServer().connect})
    await hub.start(timeout=5)

    await hub.aclose()
    await hub.aclose()

    with pytest.raises(UpstreamUnavailable, match="shut down"):
        async with hub.lease("files", caller()) as upstream:
            await upstream.call("tools/call", CALL)


async def test_closing_lets_what_is_under_way_end() -> None:
    held = Held()
    hub = hub_of({"files": held.server.connect})

    async with asyncio.timeout(5):
        call = asyncio.create_task(held.call(hub, "c1"))
        await held.until_under_way(1)
        closing = asyncio.create_task(hub.aclose(drain=5))
        await asyncio.sleep(0)
        held.let_go()
        await closing
        await call

    assert held.answered == 1


@pytest.mark.req("GW-6.4")
async def test_nothing_is_left_of_the_programs_of_a_file(tmp_path: Path) -> None:
    async with nothing_left() as family:
        config = config_file(tmp_path, {"one": program(family), "other": program(family, mode="crash")})
        async with Hub(config) as hub:
            reports = await hub.start(timeout=20)
            lives = len(alive(family))

    assert [each.error is None for each in reports] == [True, False]
    assert reports[1].error is not None
    assert reports[1].error.details["stderr"]
    assert lives >= 1
