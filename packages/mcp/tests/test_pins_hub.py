"""A hub with pins: what has changed is on no page and cannot be called, and an approval elsewhere lets it in."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hub_cases import Heard, config_file, eventually, hub_of, program
from pin_cases import POISON, READ, SERVER, WRITE, approve_all, book_in, opened
from scripted_servers import HANDSHAKE, MODERN, UNKNOWN, ScriptedServer

from toolcrib_mcp.errors import ToolChanged
from toolcrib_mcp.gateway import Gateway
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.pins import LOCK_FILE, PinBook, PinDesk, PinLock, definition_digest, write_lock
from toolcrib_mcp.proxy import ProxyRuntime
from toolcrib_store import Store

pytestmark = pytest.mark.req("GW-8.1")

DRIFTED = {**READ, "description": POISON}
ERAS: dict[str, dict[str, Any]] = {
    "handshake": {"initialize": HANDSHAKE},
    "modern": {"initialize": UNKNOWN, "server/discover": MODERN},
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "pins.db") as store:
        yield store


def server_with(*tools: dict[str, Any], era: str = "handshake") -> ScriptedServer:
    return ScriptedServer(**{**ERAS[era], "tools/list": {"tools": list(tools)}})


@asynccontextmanager
async def started(server: ScriptedServer, pins: PinBook, **options: Any) -> AsyncIterator[Hub]:
    async with hub_of({SERVER: server.connect}, pins=pins, **options) as hub:
        await hub.start(timeout=30)
        yield hub


def served(hub: Hub) -> list[str]:
    snapshot = hub.catalog.snapshot()
    return [snapshot.hydrate(each).upstream_name for each in snapshot.ids]


async def offered(hub: Hub, server: ScriptedServer, *tools: dict[str, Any]) -> None:
    """Have the server list something else, and wait until that was read."""
    before = hub.catalog.snapshot()
    server.answers["tools/list"] = {"tools": list(tools)}
    await server.tell("notifications/tools/list_changed")
    await eventually(lambda: hub.catalog.snapshot() is not before, seconds=30)


async def test_while_the_pins_are_being_opened_servers_start_and_none_of_their_tools_is_served(store: Store) -> None:
    pins: asyncio.Future[PinBook | None] = asyncio.get_running_loop().create_future()
    async with hub_of({SERVER: server_with(READ).connect}, pins=pins) as hub:
        starting = asyncio.create_task(hub.start(timeout=30))
        await eventually(lambda: hub.shared(SERVER).known_tools is not None)
        reading = asyncio.create_task(hub.tools(SERVER, timeout=30))
        await asyncio.sleep(0)
        before, waits = served(hub), not starting.done() and not reading.done()
        pins.set_result(book_in(store))
        await asyncio.gather(starting, reading)
        after = served(hub)

    assert (before, waits, after) == ([], True, ["read"])


async def test_what_is_known_from_a_manifest_waits_for_the_pins_and_no_server_waits_for_it(tmp_path: Path) -> None:
    config, manifest = config_file(tmp_path, {SERVER: program("pins")}), tmp_path / "catalog.json"
    async with Hub(config, manifest=manifest) as hub:
        await hub.start(timeout=60)
        first = served(hub)
    pins: asyncio.Future[PinBook | None] = asyncio.get_running_loop().create_future()

    hub = Hub(config, manifest=manifest, pins=pins)
    starting = asyncio.create_task(hub.start(timeout=60))
    await hub.dialled(timeout=60)
    known, before = hub.shared(SERVER).known_tools, served(hub)
    pins.set_result(None)
    await starting
    after = served(hub)
    await hub.aclose()

    assert known is not None
    assert (len(known.items), before, after) == (len(first), [], first)


async def test_pins_that_are_never_opened_let_nothing_in() -> None:
    pins: asyncio.Future[PinBook | None] = asyncio.get_running_loop().create_future()
    hub = hub_of({SERVER: server_with(READ).connect}, pins=pins)
    starting = asyncio.create_task(hub.start(timeout=30))
    await eventually(lambda: hub.shared(SERVER).known_tools is not None)
    pins.cancel()
    await starting
    await hub.aclose()

    assert served(hub) == []


async def test_pins_that_turn_out_to_be_off_let_everything_in() -> None:
    pins: asyncio.Future[PinBook | None] = asyncio.get_running_loop().create_future()
    async with hub_of({SERVER: server_with(READ).connect}, pins=pins) as hub:
        pins.set_result(None)
        await hub.start(timeout=30)
        assert served(hub) == ["read"]


@pytest.mark.fault("F10")
@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_that_has_changed_since_the_last_start_is_nowhere_to_be_found(store: Store, era: str) -> None:
    async with started(server_with(READ, WRITE, era=era), book_in(store)) as hub:
        old_id = next(each for each in hub.catalog.snapshot().ids if ":read" in each)

    async with started(server_with(DRIFTED, WRITE, era=era), book_in(store)) as hub, Gateway(hub) as gateway:
        found = await gateway.browse(query="read a file")
        listed = await ProxyRuntime(hub).list_tools()
        with pytest.raises(ToolChanged) as executed:
            await gateway.execute(old_id, {"path": "x"})
        status = hub.status().servers[SERVER]

    assert served(hub) == ["write"]
    assert "evil" not in str(found) + str(listed) + str(executed.value) + str(status)
    assert [each["name"] for each in listed if ":read" in each["name"]] == []
    assert executed.value.details["diff"] == [
        {"field": "description", "change": "changed", "before": "Reads a file."},
    ]
    assert (status.tools.served, status.tools.withheld) == (1, 1)
    assert [each["kind"] for each in status.findings] == ["withheld"]


@pytest.mark.fault("F10")
async def test_a_tool_that_changes_while_it_is_served_is_withheld_and_clients_are_told(store: Store) -> None:
    server = server_with(READ, WRITE)
    async with started(server, book_in(store)) as hub:
        heard = Heard(hub)
        await heard.until(lambda notices: len(notices) == 1)
        await offered(hub, server, DRIFTED, WRITE)
        await heard.until(lambda notices: len(notices) == 2)

    assert served(hub) == ["write"]
    assert server.methods.count("tools/call") == 0


@pytest.mark.fault("F10")
@pytest.mark.req("CL-10")
async def test_a_page_says_how_many_tools_of_which_servers_are_withheld_and_how_to_look_at_them(store: Store) -> None:
    book = book_in(store)
    book.judge(SERVER, [READ, WRITE])
    every = [{**WRITE, "name": f"write_{number}"} for number in range(12)]
    async with started(server_with(DRIFTED, WRITE, *every), book) as hub, Gateway(hub) as gateway:
        found = await gateway.browse(query="write")
        nothing = await gateway.browse(query="zebra")

    assert found.text.splitlines()[0].endswith("Withheld: 1 of files; see `toolcrib pins diff`.")
    assert nothing.text.splitlines()[0].endswith("Withheld: 1 of files; see `toolcrib pins diff`.")


@pytest.mark.req("CL-10")
async def test_where_there_is_no_room_to_name_the_servers_the_tools_are_counted(store: Store) -> None:
    names = [f"server-with-a-long-name-{number}" for number in range(4)]
    book = book_in(store)
    for name in names:
        book.judge(name, [READ, WRITE])
    servers = {name: server_with(DRIFTED, WRITE).connect for name in names}
    async with hub_of(servers, pins=book) as hub:
        await hub.start(timeout=30)
        async with Gateway(hub) as gateway:
            found = await gateway.browse(query="write")

    assert "4 tools withheld: `toolcrib pins diff`." in found.text.splitlines()[0]


async def test_a_shuffled_list_changes_nothing(store: Store) -> None:
    server = server_with(READ, WRITE)
    async with started(server, book_in(store)) as hub:
        before = hub.catalog.snapshot().ids
        server.answers["tools/list"] = {"tools": [WRITE, dict(reversed(READ.items()))]}
        await hub.tools(SERVER, timeout=30)

    assert hub.catalog.snapshot().ids == before


@pytest.mark.parametrize("mode", ["gateway", "transparent"])
async def test_an_approval_by_another_process_lets_the_tool_in(store: Store, tmp_path: Path, mode: str) -> None:
    book = book_in(store)
    book.judge(SERVER, [READ, WRITE])
    async with started(server_with(DRIFTED, WRITE), book, ours={"mode": mode}) as hub:
        heard = Heard(hub)
        before = served(hub)
        await book.refresh()
        with opened(tmp_path / "pins.db") as other:
            approve_all(other)
        await book.refresh()
        await eventually(lambda: served(hub) == ["read", "write"], seconds=30)
        await heard.until(bool)
        book.check(hub.catalog.hydrate(hub.catalog.snapshot().ids[0]))

    assert before == ["write"]


async def test_a_reset_by_another_process_has_the_tools_pinned_as_they_are(store: Store) -> None:
    book = book_in(store)
    book.judge(SERVER, [READ, WRITE])
    async with started(server_with(DRIFTED, WRITE), book) as hub:
        await book.refresh()
        PinDesk(store).reset(SERVER)
        await book.refresh()
        await eventually(lambda: served(hub) == ["read", "write"], seconds=30)


async def test_whoever_asks_for_a_withheld_tool_makes_the_gateway_look_again(store: Store) -> None:
    book = book_in(store)
    ada = book.scoped("ada")
    ada.judge(SERVER, [READ])
    async with started(server_with(DRIFTED), ada) as hub:
        fresh = asyncio.create_task(book.keep_fresh(seconds=600))
        tool_id = next(iter(hub.catalog.snapshot()._state.withheld))
        approve_all(store, scope="ada")
        await asyncio.sleep(0)
        with pytest.raises(ToolChanged):
            hub.catalog.hydrate(tool_id)
        await eventually(lambda: served(hub) == ["read"], seconds=30)
        fresh.cancel()
        await asyncio.wait([fresh])


async def test_a_gateway_that_is_kept_fresh_looks_again_by_itself(store: Store) -> None:
    book = book_in(store)
    book.judge(SERVER, [READ])
    async with started(server_with(DRIFTED), book) as hub:
        fresh = asyncio.create_task(book.keep_fresh(seconds=0.01))
        approve_all(store)
        await eventually(lambda: served(hub) == ["read"], seconds=30)
        fresh.cancel()
        await asyncio.wait([fresh])


async def test_a_lock_file_that_changes_is_noticed_and_a_broken_one_changes_nothing(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / LOCK_FILE
    write_lock(path, PinLock(servers={SERVER: {"read": definition_digest(READ)}}))
    book = book_in(store, lock_file=path)
    async with started(server_with(READ, WRITE), book) as hub:
        before = served(hub)
        path.write_text("{", "utf-8")
        await book.refresh()
        broken = served(hub)
        write_lock(path, PinDesk(store).lock(frozenset()))
        await book.refresh()
        await eventually(lambda: served(hub) == [], seconds=30)

    assert before == broken == ["read"]
    assert "cannot be used" in caplog.text


async def test_a_database_that_fails_withholds_everything_until_it_can_be_read_again(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, book = tmp_path / "pins.db", book_in(store)
    book.judge("another", [WRITE])
    _rename_tables(file, "pins", "hidden")
    async with started(server_with(READ), book) as hub:
        withheld = hub.status().servers[SERVER].tools.withheld
        _rename_tables(file, "pin_changes", "gone")
        await book.refresh()
        _rename_tables(file, "gone", "pin_changes")
        _rename_tables(file, "hidden", "pins")
        await book.refresh()
        await eventually(lambda: served(hub) == ["read"], seconds=30)

    assert withheld == 1
    assert "the pins were not looked at again" in caplog.text


def _rename_tables(file: Path, old: str, new: str) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(f"ALTER TABLE {old} RENAME TO {new}")
    connection.close()


@pytest.mark.fault("F10")
async def test_what_is_known_from_a_manifest_passes_the_same_check(store: Store, tmp_path: Path) -> None:
    config = config_file(tmp_path, {SERVER: program("pins")})
    manifest = tmp_path / "catalog.json"
    async with Hub(config, manifest=manifest, pins=book_in(store)) as hub:
        await hub.start(timeout=60)
        first = served(hub)
    PinDesk(store).reset(SERVER)
    book = book_in(store)
    book.judge(SERVER, [{**READ, "name": name} for name in first])

    async with Hub(config, manifest=manifest, pins=book) as hub:
        await hub.load()
        known, withheld = served(hub), hub.status().servers[SERVER].tools.withheld

    assert first
    assert known == []
    assert withheld == len(first)


async def test_a_hub_that_is_closed_is_not_asked_to_judge_again(store: Store) -> None:
    book = book_in(store)
    book.judge(SERVER, [READ])
    async with started(server_with(DRIFTED), book) as hub:
        pass
    approve_all(store)

    await book.refresh()
    detach = book.attach(lambda _: None)
    detach()
    detach()

    assert served(hub) == []


async def test_a_server_that_has_not_listed_yet_is_not_judged_again(store: Store) -> None:
    book = book_in(store)
    book.judge(SERVER, [READ])
    book.judge(SERVER, [DRIFTED])
    async with hub_of({SERVER: server_with(READ).connect}, pins=book) as hub:
        await book.refresh()

        assert hub.catalog.snapshot().upstreams == ()
