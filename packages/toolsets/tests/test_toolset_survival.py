"""Kills, races, copies and migrations: what was acknowledged is there, and opens."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from sqlalchemy import inspect
from toolset_kit import ALICE, KEY, Echo

import toolcrib_toolsets.types.kinds as kinds_module
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import Store, open_store
from toolcrib_store.copying import back_up, restore
from toolcrib_store.migrating import BASE, migrate_to
from toolcrib_toolsets.contract import KeepApiKey, ToolsetExecutionRequest
from toolcrib_toolsets.errors import ToolsetTypeDisabled
from toolcrib_toolsets.master_key import MasterKey
from toolcrib_toolsets.rotation import open_sealer, rotate
from toolcrib_toolsets.rows import ToolsetRows
from toolcrib_toolsets.service import ToolsetService
from toolcrib_toolsets.tables import METADATA, TOOLSETS_LINE
from toolcrib_toolsets.types import ToolsetKinds, installed_kinds

OLD, NEW = MasterKey(b"m" * 32), MasterKey(b"n" * 32)
ROUNDS = 20
RACES = 200

# Each writer is a fork of one process that has imported everything; it makes and renames, and tells when that is done.
_WRITER = """
import asyncio, os, random, signal, sys
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import open_store
from toolcrib_toolsets.contract import KeepApiKey
from toolcrib_toolsets.master_key import MasterKey
from toolcrib_toolsets.rotation import open_sealer, rotate
from toolcrib_toolsets.service import ToolsetService
from toolcrib_toolsets.tables import TOOLSETS_LINE
from toolcrib_toolsets.types import ExaWebSearch, ToolsetKinds

OLD, NEW = MasterKey(b"m" * 32), MasterKey(b"n" * 32)
chance = random.Random(5)

async def make(service, pipe, life):
    for number in range(10_000):
        made = await service.create_instance(
            "alice", "builtin-exa-web-search", f"l{life}-{number}", api_key=Secret(f"key-{life}-{number}"))
        os.write(pipe, f"{made.id} key-{life}-{number}\\n".encode())

def live(life, pipe):
    store = open_store(sys.argv[1], lines=[TOOLSETS_LINE])
    if sys.argv[2] == "rotate":
        os.write(pipe, b"!\\n")
        rotate(store, OLD, NEW, batch=1) if life % 2 == 0 else rotate(store, NEW, OLD, batch=1)
        os._exit(0)
    sealer = open_sealer(store, OLD)
    asyncio.run(make(ToolsetService(store, sealer, ToolsetKinds([ExaWebSearch()])), pipe, life))

for life in range(int(sys.argv[3])):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        live(life, writing)
    os.close(writing)
    told = os.read(reading, 1)
    for _ in range(chance.randrange(4)):
        told += os.read(reading, chance.randrange(1, 90))
    if sys.argv[2] == "rotate":
        for _ in range(chance.randrange(40_000)):
            pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reading, 65536):
        told += more
    os.close(reading)
    sys.stdout.write("".join(line + "\\n" for line in told.decode().split("\\n")[:-1] if " " in line))
"""

_RACER = """
import asyncio, sys
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import open_store
from toolcrib_toolsets.errors import InstanceNameExists
from toolcrib_toolsets.master_key import MasterKey
from toolcrib_toolsets.rotation import open_sealer
from toolcrib_toolsets.service import ToolsetService
from toolcrib_toolsets.tables import TOOLSETS_LINE
from toolcrib_toolsets.types import ExaWebSearch, ToolsetKinds

store = open_store(sys.argv[1], lines=[TOOLSETS_LINE])
service = ToolsetService(store, open_sealer(store, MasterKey(b"m" * 32)), ToolsetKinds([ExaWebSearch()]))
print("ready", flush=True)
for line in sys.stdin:
    name = f"race-{line.strip()}"
    try:
        asyncio.run(service.create_instance("alice", "builtin-exa-web-search", name, api_key=Secret("k")))
        print("won", flush=True)
    except InstanceNameExists:
        print("lost", flush=True)
"""


def _ran(target: str, what: str, rounds: int) -> dict[str, str]:
    told = subprocess.run(
        [sys.executable, "-c", _WRITER, target, what, str(rounds)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return dict(line.split() for line in told.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.req("TS-12")
def test_nothing_that_was_acknowledged_is_lost_to_a_kill(store_url: str) -> None:
    acknowledged = _ran(store_url, "make", ROUNDS)

    assert len(acknowledged) >= ROUNDS // 2
    with open_store(store_url, lines=[TOOLSETS_LINE]) as store:
        rows = ToolsetRows(store, open_sealer(store, OLD))
        opened = {each: rows.get_toolset_api_key(each) for each in acknowledged}
    assert {each: key.reveal() for each, key in opened.items() if key is not None} == acknowledged


@pytest.mark.slow
@pytest.mark.req("TS-5")
@pytest.mark.fault("H4")
async def test_a_rotation_that_is_killed_again_and_again_leaves_every_key_readable(tmp_path: Path) -> None:
    file = tmp_path / "toolsets.db"
    with open_store(file, lines=[TOOLSETS_LINE]) as store:
        service = ToolsetService(store, open_sealer(store, OLD), ToolsetKinds([Echo()]))
        ids = [
            (await service.create_instance(ALICE, "echo", f"i-{number}", api_key=Secret(f"key-{number}"))).id
            for number in range(30)
        ]
    await asyncio.to_thread(_ran, str(file), "rotate", ROUNDS)

    with open_store(file, lines=[TOOLSETS_LINE]) as store:
        either = ToolsetRows(store, open_sealer(store, NEW, previous=OLD))
        opened = [either.get_toolset_api_key(each) for each in ids]
        assert [each.reveal() for each in opened if each is not None] == [f"key-{number}" for number in range(30)]
        rotate(store, OLD, NEW)
        only_new = ToolsetRows(store, open_sealer(store, NEW))
        assert all(only_new.get_toolset_api_key(each) is not None for each in ids)


@pytest.mark.slow
@pytest.mark.req("TS-12")
@pytest.mark.fault("H7")
def test_of_two_processes_that_make_one_name_exactly_one_wins_every_time(store_url: str) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", _RACER, store_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outcomes = []
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for race in range(RACES):
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write(f"{race}\n")
                racer.stdin.flush()
            outcomes.append(sorted(racer.stdout.readline() for racer in racers if racer.stdout is not None))
    finally:
        for racer in racers:
            racer.communicate(timeout=30)

    assert outcomes == [["lost\n", "won\n"]] * RACES


@pytest.mark.req("TS-3", "CT-10")
@pytest.mark.fault("H9")
@pytest.mark.req("D3-5a", "D3-5h", "D3-5i", "D3-5j", "D3-5m", "D3-5n", "D3-5q")
def test_the_tables_come_and_go_by_migrations_and_are_those_of_the_code(store_url: str) -> None:
    before = time.time()
    with open_store(store_url, lines=[TOOLSETS_LINE]) as store:
        with store.reading() as connection:
            names = set(inspect(connection).get_table_names())
            columns = {
                table.name: {each["name"] for each in inspect(connection).get_columns(table.name)}
                for table in METADATA.sorted_tables
            }
            indexes = {
                each["name"]: each["column_names"]
                for table in ("toolsets", "app_toolset_configs")
                for each in inspect(connection).get_indexes(table)
            }
            unique = inspect(connection).get_unique_constraints("toolsets")
            seeded = connection.exec_driver_sql(
                "SELECT toolset_id, updated_by, created_at, updated_at FROM app_toolset_configs"
            ).one()
            enabled = connection.exec_driver_sql("SELECT count(*) FROM app_toolset_configs WHERE enabled").scalar()
        with store.writing() as connection:
            migrate_to(connection, TOOLSETS_LINE, BASE, name="test")
        with store.reading() as connection:
            left = set(inspect(connection).get_table_names()) & {each.name for each in METADATA.sorted_tables}

    assert names >= {each.name for each in METADATA.sorted_tables}
    assert columns == {table.name: set(table.columns.keys()) for table in METADATA.sorted_tables}
    assert [each["column_names"] for each in unique] == [["user_id", "name"]]
    expected = {
        "idx_toolsets_user_id": ["user_id"],
        "idx_toolsets_toolset_type": ["toolset_type"],
        "idx_toolsets_user_type": ["user_id", "toolset_type"],
        "idx_app_toolset_configs_toolset_id": ["toolset_id"],
    }
    assert expected.items() <= indexes.items()
    assert (*seeded[:2], enabled) == ("builtin-exa-web-search", "system", 0)
    assert before <= seeded.created_at == seeded.updated_at <= time.time()
    assert left == set()


@pytest.mark.fault("H9")
async def test_a_copy_that_is_put_back_has_the_same_instances_and_their_keys_open(tmp_path: Path) -> None:
    file, copy = tmp_path / "toolsets.db", tmp_path / "copy.db"
    with open_store(file, lines=[TOOLSETS_LINE]) as store:
        service = ToolsetService(store, open_sealer(store, OLD), ToolsetKinds([Echo()]))
        made = await service.create_instance(ALICE, "echo", "mine", api_key=KEY)
        back_up(store, copy)
        await service.delete_instance(ALICE, made.id)
    restore(copy, file, lines=[TOOLSETS_LINE])

    with open_store(file, lines=[TOOLSETS_LINE]) as store:
        service = ToolsetService(store, open_sealer(store, OLD), ToolsetKinds([Echo()]))
        assert await service.list_instances(ALICE) == [made]
        assert ToolsetRows(store, open_sealer(store, OLD)).get_toolset_api_key(made.id) == KEY


@pytest.mark.fault("H6")
async def test_a_call_under_way_ends_though_its_type_is_switched_off_and_the_next_is_refused(
    service: ToolsetService, echo: Echo
) -> None:
    made = await service.create_instance(ALICE, "echo", "mine", api_key=KEY)
    await service.set_app_toolset_enabled("echo", enabled=True, updated_by="admin")
    echo.held.clear()
    request = ToolsetExecutionRequest(params={"text": "hello"})
    running = asyncio.create_task(service.execute_instance_tool(ALICE, made.id, "say", request))
    await echo.begun.wait()

    await service.set_app_toolset_enabled("echo", enabled=False, updated_by="admin")
    await asyncio.gather(
        *(
            service.update_instance(ALICE, made.id, name="mine", description=None, enabled=False, api_key=KeepApiKey())
            for _ in range(2)
        )
    )
    echo.held.set()

    assert (await running).result == "hello"
    with pytest.raises(ToolsetTypeDisabled):
        await service.execute_instance_tool(ALICE, made.id, "say", request)


@pytest.mark.req("TS-9")
def test_installed_packages_bring_types_and_one_that_is_broken_keeps_nobody_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = EntryPoints(
        [
            EntryPoint("echo", "toolset_kit:Echo", kinds_module.ENTRY_POINTS),
            EntryPoint("broken", "toolset_kit:missing", kinds_module.ENTRY_POINTS),
        ]
    )
    monkeypatch.setattr(kinds_module, "entry_points", lambda group: found.select(group=group))

    assert [each.definition.toolset_id for each in installed_kinds()] == ["echo"]
    assert "broken" in caplog.text


@pytest.mark.fault("H8")
async def test_what_looks_like_sql_is_a_text_like_any_other(service: ToolsetService, toolset_store: Store) -> None:
    evil = "'; DROP TABLE toolsets; --"
    made = await service.create_instance(evil, "echo", "mine", description=evil, api_key=Secret(evil))

    assert (await service.list_instances(evil))[0].description == evil
    assert json.loads(made.model_dump_json())["description"] == evil
    assert await service.list_instances("' OR '1'='1") == []
