"""What a user may do with instances, in which order it is checked, and what nobody else may."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace

import pytest
from toolset_kit import ALICE, BOB, CANARY, KEY, Echo

from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import Store, TurnableClock
from toolcrib_toolsets.contract import (
    KeepApiKey,
    SetApiKey,
    Toolset,
    ToolsetExecutionRequest,
    ToolsetExecutionResponse,
    ToolsetScope,
)
from toolcrib_toolsets.errors import (
    ApiKeyRequired,
    InstanceDisabled,
    InstanceNameExists,
    InstanceNotConfigured,
    InstanceNotFound,
    InstanceNotOwned,
    InvalidDescription,
    InvalidInstanceName,
    InvalidSettings,
    InvalidToolsetType,
    MethodNotFound,
    ToolsetTypeDisabled,
    TypeOutOfScope,
    UnsealingFailed,
)
from toolcrib_toolsets.hiding import without_key
from toolcrib_toolsets.master_key import MasterKey
from toolcrib_toolsets.rotation import open_sealer
from toolcrib_toolsets.rows import ToolsetRows
from toolcrib_toolsets.service import ToolsetService
from toolcrib_toolsets.tables import TOOLSETS

SAY = ToolsetExecutionRequest(params={"text": "hello"})


async def _made(service: ToolsetService, name: str = "mine", *, user: str = ALICE, enabled: bool = True) -> Toolset:
    return await service.create_instance(user, "echo", name, enabled=enabled, api_key=KEY)


async def _on(service: ToolsetService) -> None:
    await service.set_app_toolset_enabled("echo", enabled=True, updated_by="admin")


@pytest.mark.req("TS-1", "TS-6")
@pytest.mark.req("D3-1h", "D3-2k", "D3-2o", "D3-10b")
async def test_an_instance_is_what_was_made_and_holds_no_key(service: ToolsetService) -> None:
    made = await service.create_instance(ALICE, "echo", "My-Echo", description="for fun", api_key=KEY)

    assert await service.get_instance(ALICE, made.id) == made
    assert await service.list_instances(ALICE) == [made]
    assert Toolset.model_validate_json(made.model_dump_json()) == made
    assert uuid.UUID(made.id).version == 4
    assert made.model_dump(by_alias=True).keys() == {
        "id", "name", "toolsetType", "description", "enabled", "createdAt", "updatedAt",
    }  # fmt: skip
    assert CANARY not in made.model_dump_json() + repr(made)
    bare = await service.create_instance(ALICE, "echo", "bare", api_key=KEY)
    assert "description" not in bare.model_dump() | bare.model_dump(mode="json", by_alias=True)
    assert await service.has_api_key(ALICE, made.id)


@pytest.mark.req("TS-7")
@pytest.mark.req("D3-9d", "D3-10a", "D3-12a", "D3-12b", "D3-12c")
async def test_creating_fails_at_the_first_check_that_fails(service: ToolsetService, echo: Echo) -> None:
    await _made(service, "taken")
    before = echo.counts.copy()

    with pytest.raises(InvalidInstanceName):
        await service.create_instance(ALICE, "no-type", "bad name", api_key=None)
    with pytest.raises(InvalidDescription):
        await service.create_instance(ALICE, "no-type", "fine", description="x" * 256)
    with pytest.raises(InvalidToolsetType, match="`echo`"):
        await service.create_instance(ALICE, "no-type", "taken", api_key=None)
    with pytest.raises(ApiKeyRequired):
        await service.create_instance(ALICE, "echo", "taken", api_key=None)
    assert echo.counts == before
    with pytest.raises(InvalidSettings):
        await service.create_instance(ALICE, "echo", "taken", api_key=KEY, settings={"bad": 1})
    with pytest.raises(InstanceNameExists):
        await service.create_instance(ALICE, "echo", "taken", api_key=KEY)
    assert [each.name for each in await service.list_instances(ALICE)] == ["taken"]


@pytest.mark.req("TS-6")
async def test_a_type_that_needs_no_key_can_do_without(service: ToolsetService) -> None:
    made = await service.create_instance(ALICE, "free", "free")
    await service.set_app_toolset_enabled("free", enabled=True, updated_by="admin")

    assert await service.is_instance_available(ALICE, made.id)
    assert (await service.execute_instance_tool(ALICE, made.id, "say", SAY)).result == "hello"


@pytest.mark.req("TS-2", "TS-4")
@pytest.mark.req("CT-27")
@pytest.mark.req("D3-5g", "D3-12d")
async def test_a_name_is_unique_for_its_user_and_its_case_counts(service: ToolsetService) -> None:
    made = await _made(service, "Search")

    with pytest.raises(InstanceNameExists, match=r"^Toolset toolset name 'Search' already exists "):
        await _made(service, "Search")
    other = await _made(service, "search")
    await _made(service, "Search", user=BOB)
    assert [each.id for each in await service.list_instances(ALICE)] == [made.id, other.id]
    with pytest.raises(InstanceNameExists):
        await service.update_instance(
            ALICE, other.id, name="Search", description=None, enabled=True, api_key=KeepApiKey()
        )


@pytest.mark.req("TS-6", "TS-7")
async def test_an_update_writes_all_but_the_key(service: ToolsetService, clock: TurnableClock) -> None:
    made = await _made(service)
    clock.turn(10)
    changed = await service.update_instance(
        ALICE, made.id, name="Other", description=None, enabled=False, api_key=KeepApiKey()
    )

    assert changed.created_at == made.created_at
    assert (changed.updated_at - made.updated_at).total_seconds() == 10
    assert (changed.name, changed.enabled, changed.toolset_type) == ("Other", False, "echo")
    assert await service.has_api_key(ALICE, made.id)
    again = await service.update_instance(
        ALICE, made.id, name="OTHER", description="d", enabled=True, api_key=SetApiKey.clear()
    )
    assert again.name == "OTHER"
    assert not await service.has_api_key(ALICE, made.id)


@pytest.mark.req("TS-7")
@pytest.mark.req("D3-10c", "D3-12f", "D3-12g")
async def test_updating_fails_at_the_first_check_that_fails(service: ToolsetService) -> None:
    made, other = await _made(service), await _made(service, "other")

    async def update(user: str, instance: str, name: str) -> Toolset:
        return await service.update_instance(
            user, instance, name=name, description=None, enabled=True, api_key=KeepApiKey()
        )

    with pytest.raises(InstanceNotFound):
        await update(ALICE, str(uuid.uuid4()), "bad name")
    with pytest.raises(InstanceNotOwned):
        await update(BOB, made.id, "bad name")
    with pytest.raises(InvalidInstanceName):
        await update(ALICE, made.id, "bad name")
    with pytest.raises(InstanceNameExists):
        await update(ALICE, made.id, "other")
    assert await service.get_instance(ALICE, made.id) == made
    assert await service.get_instance(ALICE, other.id) == other


@pytest.mark.req("TS-7")
@pytest.mark.fault("H6")
@pytest.mark.req("D3-10f", "D3-10g", "D3-12i", "D3-12j", "D3-12k")
async def test_executing_fails_at_the_first_check_that_fails_and_nothing_later_happens(
    service: ToolsetService, echo: Echo, toolset_store: Store
) -> None:
    made = await _made(service, enabled=False)
    echo.counts.clear()

    async def execute(user: str = ALICE, instance: str = made.id, method: str = "none") -> object:
        scopes = frozenset({ToolsetScope(toolset_type="echo")})
        return await service.execute_instance_tool(user, instance, method, SAY, scopes=scopes)

    async def switch(*, enabled: bool, key: Secret | None = KEY) -> None:
        await service.update_instance(
            ALICE, made.id, name="mine", description=None, enabled=enabled, api_key=SetApiKey(value=key)
        )

    with pytest.raises(InstanceNotFound):
        await execute(instance="guessed")
    with pytest.raises(InstanceNotOwned):
        await execute(user=BOB)
    with pytest.raises(ToolsetTypeDisabled):
        await execute()
    await _on(service)
    with pytest.raises(InstanceDisabled):
        await execute()
    await switch(enabled=True, key=None)
    with pytest.raises(InstanceNotConfigured):
        await execute()
    assert not echo.counts
    await switch(enabled=True)
    with pytest.raises(MethodNotFound, match="`say`"):
        await execute()
    assert echo.counts["called"] == 0
    wrong = await service.execute_instance_tool(ALICE, made.id, "say", ToolsetExecutionRequest(params={"txt": 1}))
    assert wrong.error is not None
    assert wrong.error["category"] == "validation"
    assert echo.counts["called"] == 0
    with pytest.raises(TypeOutOfScope):
        await service.execute_instance_tool(ALICE, made.id, "say", SAY, scopes=frozenset())
    assert (await service.execute_instance_tool(ALICE, made.id, "say", SAY)).result == "hello"
    assert echo.counts["called"] == 1


@pytest.mark.req("TS-5")
async def test_a_key_that_does_not_open_is_never_taken_for_none(service: ToolsetService, toolset_store: Store) -> None:
    made = await _made(service)
    await _on(service)
    with toolset_store.writing() as connection:
        connection.execute(TOOLSETS.update().values(salt="AAAA"))

    with pytest.raises(UnsealingFailed):
        await service.execute_instance_tool(ALICE, made.id, "say", SAY)


@pytest.mark.req("TS-8")
@pytest.mark.fault("H1")
@pytest.mark.req("D3-8l", "D3-12e")
async def test_nobody_reaches_the_instance_of_somebody_else(service: ToolsetService, echo: Echo) -> None:
    made = await _made(service)
    await _on(service)
    tries = [
        service.get_instance(BOB, made.id),
        service.has_api_key(BOB, made.id),
        service.update_instance(BOB, made.id, name="x", description=None, enabled=True, api_key=KeepApiKey()),
        service.delete_instance(BOB, made.id),
        service.execute_instance_tool(BOB, made.id, "say", SAY),
        service.instance_tools(BOB, made.id),
    ]

    for each in tries:
        with pytest.raises(InstanceNotOwned):
            await each
    assert not await service.is_instance_available(BOB, made.id)
    assert await service.list_instances(BOB) == []
    assert await service.available_instances(BOB) == []
    assert echo.counts["opened"] == 0


@pytest.mark.req("TS-6")
async def test_deleting_is_for_the_owner_and_final(service: ToolsetService) -> None:
    made = await _made(service)
    await service.delete_instance(ALICE, made.id)

    with pytest.raises(InstanceNotFound):
        await service.delete_instance(ALICE, made.id)
    assert not await service.is_instance_available(ALICE, made.id)


@pytest.mark.req("TS-3", "TS-6")
async def test_types_are_off_until_an_administrator_switches_them_on(service: ToolsetService) -> None:
    made = await _made(service)
    assert not await service.is_type_enabled("echo")
    assert not await service.is_instance_available(ALICE, made.id)

    await _on(service)

    assert await service.is_instance_available(ALICE, made.id)
    assert [each.id for each in await service.available_instances(ALICE)] == [made.id]
    assert await service.available_instances(ALICE, scopes=frozenset()) == []
    [config] = await service.list_app_toolset_configs()
    assert (config.toolset_id, config.enabled, config.updated_by) == ("echo", True, "admin")
    with pytest.raises(InvalidToolsetType):
        await service.set_app_toolset_enabled("none", enabled=True, updated_by="admin")


@pytest.mark.req("TS-14")
async def test_administrators_see_types_with_their_switches(service: ToolsetService) -> None:
    await _on(service)

    assert {each.toolset_id: each.app_enabled for each in await service.list_types_with_tools()} == {
        "echo": True,
        "free": False,
    }
    assert [each.toolset_id for each in service.list_toolset_types()] == ["echo", "free"]
    assert service.get_toolset_type("none") is None


@pytest.mark.req("TS-10")
async def test_tools_of_an_available_instance_are_named_by_it(service: ToolsetService) -> None:
    made = await _made(service, "my-search")
    assert await service.instance_tools(ALICE, made.id) == ()
    await _on(service)

    [tool] = await service.instance_tools(ALICE, made.id)

    assert str(tool.id).startswith("my-search:say")


@pytest.mark.req("TS-9")
async def test_what_is_open_for_an_instance_is_kept_between_calls_and_opened_anew_when_it_changes(
    service: ToolsetService, echo: Echo
) -> None:
    made, other = await _made(service), await _made(service, "other")
    await _on(service)
    for _ in range(3):
        await service.execute_instance_tool(ALICE, made.id, "say", SAY)
    await service.execute_instance_tool(ALICE, other.id, "say", SAY)
    assert echo.counts["opened"] == 2

    await service.update_instance(
        ALICE, made.id, name="mine", description=None, enabled=True, api_key=SetApiKey(value=Secret("another-key"))
    )
    await service.execute_instance_tool(ALICE, made.id, "say", SAY)

    assert echo.counts["opened"] == 3
    assert echo.opened_with[-1].api_key == Secret("another-key")


@pytest.mark.req("TS-2", "TS-12")
@pytest.mark.fault("H7")
async def test_of_many_creates_and_renames_at_once_one_wins(service: ToolsetService) -> None:
    rename = [await _made(service, f"old-{number}") for number in range(10)]

    async def create() -> Toolset:
        return await _made(service, "wanted")

    async def renamed(each: Toolset) -> Toolset:
        return await service.update_instance(
            ALICE, each.id, name="wanted", description=None, enabled=True, api_key=KeepApiKey()
        )

    tries = [*(create() for _ in range(20)), *map(renamed, rename)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)

    assert sum(isinstance(each, Toolset) for each in outcomes) == 1
    assert {type(each) for each in outcomes} == {Toolset, InstanceNameExists}
    assert sum(each.name == "wanted" for each in await service.list_instances(ALICE)) == 1


@pytest.mark.req("TS-4")
async def test_rows_are_found_by_id_by_name_and_by_type(service: ToolsetService) -> None:
    made = await _made(service, "Name")
    rows: ToolsetRows = service._rows

    by_id, by_name = rows.get_toolset_by_id(made.id), rows.get_toolset_by_name(ALICE, "Name")
    assert by_id == by_name
    assert rows.list_toolsets_by_type(ALICE, "echo") == [by_id]
    assert rows.list_toolsets_by_type(ALICE, "free") == []
    assert rows.get_toolset_by_name(BOB, "Name") is None
    assert rows.get_toolset_by_name(ALICE, "nAME") is None
    assert rows.get_toolset_api_key(made.id) == KEY
    assert rows.get_toolset_api_key("none") is None
    assert by_id is not None
    rows.delete_toolset(made.id)
    assert rows.update_toolset(by_id, KeepApiKey()) is None


@pytest.mark.req("TS-11")
async def test_the_database_holds_no_key_in_the_clear(service: ToolsetService, toolset_store: Store) -> None:
    await _made(service)

    with toolset_store.reading() as connection:
        written = str(connection.execute(TOOLSETS.select()).all())
    assert CANARY not in written
    if toolset_store.file is not None:
        files = [each for each in toolset_store.file.parent.iterdir() if each.is_file()]
        assert not [each.name for each in files if CANARY.encode() in each.read_bytes()]


@pytest.mark.req("TS-11")
@pytest.mark.fault("H5")
@pytest.mark.parametrize("more", ["", 10**30])
async def test_no_type_gives_the_key_away_in_a_result(service: ToolsetService, more: object) -> None:
    answer = ToolsetExecutionResponse(result={"said": f"<{CANARY}>", CANARY: [CANARY, {"a": CANARY}], "more": more})

    hidden = without_key(answer, KEY)

    assert hidden.result == {"said": "<••••>", "••••": ["••••", {"a": "••••"}], "more": more}
    assert without_key(answer, None) is answer
    await service.set_app_toolset_enabled("echo", enabled=True, updated_by="root")
    made = await service.create_instance(ALICE, "echo", "mine", api_key=KEY)
    said = await service.execute_instance_tool(
        ALICE, made.id, "say", ToolsetExecutionRequest(params={"text": f"it is {CANARY}"})
    )
    assert said.result == "it is ••••"


@pytest.mark.req("TS-12")
async def test_a_rename_at_the_same_time_brings_no_old_settings_back(
    service: ToolsetService, toolset_store: Store
) -> None:
    made = await service.create_instance(ALICE, "echo", "mine", api_key=KEY, settings={"at": "old"})
    rows = ToolsetRows(toolset_store, open_sealer(toolset_store, MasterKey(b"m" * 32)))
    seen = rows.get_toolset_by_id(made.id)
    assert seen is not None
    moved = rows.update_toolset(seen, KeepApiKey(), settings={"at": "new"})

    renamed = rows.update_toolset(replace(seen, name="other"), KeepApiKey())

    assert moved is not None
    assert renamed is not None
    assert renamed.settings == {"at": "new"}
    assert seen.updated_at < moved.updated_at < renamed.updated_at
