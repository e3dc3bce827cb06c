"""What the contract of toolset instances says and no other test here does, on both databases."""

from __future__ import annotations

import inspect
import uuid
from dataclasses import fields
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.exc import IntegrityError
from toolset_kit import ALICE, BOB, KEY, Echo

import toolcrib_toolsets
from toolcrib_core import ToolDefinition, ToolErrorCategory
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import Store, StoreError, open_store
from toolcrib_toolsets import (
    MAX_TOOLSET_DESCRIPTION_LEN,
    MAX_TOOLSET_NAME_LEN,
    TOOLSETS_LINE,
    AppToolsetConfig,
    ExaWebSearch,
    FunctionDefinition,
    InstanceNameExists,
    InstanceNotFound,
    InstanceNotOwned,
    InvalidDescription,
    InvalidInstanceName,
    InvalidToolsetType,
    KeepApiKey,
    MasterKey,
    SetApiKey,
    Toolset,
    ToolsetDefinition,
    ToolsetError,
    ToolsetExecutionRequest,
    ToolsetExecutionResponse,
    ToolsetKinds,
    ToolsetService,
    ToolsetWithTools,
    open_sealer,
    validate_toolset_description,
    validate_toolset_name,
)
from toolcrib_toolsets.rows import ToolsetRow, ToolsetRows
from toolcrib_toolsets.tables import APP_CONFIGS, TOOLSETS

EXA = "builtin-exa-web-search"
GONE_FROM_THE_SERVICE = (
    "get_user_toolset_config",
    "update_user_toolset_config",
    "delete_user_toolset_config",
    "execute_toolset_tool",
    "is_toolset_available_for_user",
)
GONE_FROM_THE_STORE = (
    "get_user_toolset_config",
    "upsert_user_toolset_config",
    "list_user_toolset_configs",
    "delete_user_toolset_config",
)


@pytest.fixture
def rows(toolset_store: Store) -> ToolsetRows:
    return ToolsetRows(toolset_store, open_sealer(toolset_store, MasterKey(b"m" * 32)))


@pytest.fixture
def exa(toolset_store: Store) -> ToolsetService:
    """The service with the built-in type."""
    sealer = open_sealer(toolset_store, MasterKey(b"m" * 32))
    return ToolsetService(toolset_store, sealer, ToolsetKinds([ExaWebSearch(), Echo("free", requires_api_key=False)]))


async def _made(service: ToolsetService, name: str = "mine", *, user: str = ALICE) -> Toolset:
    return await service.create_instance(user, "echo", name, api_key=KEY)


def _row(name: str = "mine", *, user: str = ALICE, toolset_type: str = "echo") -> ToolsetRow:
    return ToolsetRow(
        id=str(uuid.uuid4()),
        user_id=user,
        toolset_type=toolset_type,
        name=name,
        description=None,
        settings={},
        enabled=True,
        sealed=None,
        created_at=1.5,
        updated_at=1.5,
    )


def _values(name: str, *, user: str = ALICE) -> dict[str, object]:
    return {
        "id": str(uuid.uuid4()),
        "user_id": user,
        "toolset_type": "echo",
        "name": name,
        "settings": "{}",
        "created_at": 1.0,
        "updated_at": 1.0,
    }


# The types.


@pytest.mark.req("D3-0a", "D3-0b", "D3-2g", "D3-2h", "D3-2i", "D3-2l")
async def test_a_user_has_many_instances_of_a_type_each_with_its_uuid_and_name(service: ToolsetService) -> None:
    made = [await _made(service, f"mine-{number}") for number in range(3)]

    assert await service.list_instances(ALICE) == made
    assert len({uuid.UUID(each.id) for each in made}) == 3
    assert {each.toolset_type for each in made} == {"echo"}
    assert all(each.enabled for each in made)


@pytest.mark.req("D3-1h", "D3-2j", "D3-2m", "D3-2n")
def test_a_toolset_has_the_fields_of_the_contract_and_none_of_a_key() -> None:
    schema = Toolset.model_json_schema(by_alias=False)

    assert list(schema["properties"]) == [
        *("id", "name", "toolset_type", "description", "enabled", "created_at", "updated_at")
    ]
    assert "description" not in schema["required"]
    assert {schema["properties"][each]["format"] for each in ("created_at", "updated_at")} == {"date-time"}


@pytest.mark.req("D3-2b", "D3-2c", "D3-2d", "D3-4a", "D3-4b", "D3-2e", "D3-6d", "D3-9r")
async def test_the_types_around_it_have_the_fields_of_the_contract(exa: ToolsetService) -> None:
    definition = exa.get_toolset_type(EXA)
    [listed] = [each for each in await exa.list_types_with_tools() if each.toolset_id == EXA]
    [config] = await exa.list_app_toolset_configs()

    assert isinstance(definition, ToolsetDefinition)
    assert (definition.toolset_id, definition.name) == (EXA, "Exa Web Search")
    assert all(isinstance(each, ToolDefinition) for each in definition.tools)
    assert exa.list_all_tool_definitions() == [*definition.tools]
    assert FunctionDefinition.of(definition.tools[0]).model_dump().keys() == {"name", "description", "parameters"}
    assert set(ToolsetWithTools.model_fields) == {"toolset_id", "name", "description", "app_enabled", "tools"}
    assert (listed.app_enabled, listed.tools) == (False, definition.tools)
    assert isinstance(config, AppToolsetConfig)
    assert set(AppToolsetConfig.model_fields) == {"toolset_id", "enabled", "updated_by", "created_at", "updated_at"}


@pytest.mark.req("D3-1a", "D3-2f", "D3-4c")
def test_the_names_of_the_contract_are_exported_and_those_it_removes_are_not() -> None:
    exported = set(toolcrib_toolsets.__all__)

    assert exported >= {
        "Toolset",
        "validate_toolset_name",
        "validate_toolset_description",
        "MAX_TOOLSET_NAME_LEN",
        "MAX_TOOLSET_DESCRIPTION_LEN",
    }
    assert not [each for each in exported if each.startswith("UserToolset")]


# Validation.


@pytest.mark.req("D3-3b", "D3-3c")
def test_the_bounds_are_those_of_the_contract() -> None:
    assert (MAX_TOOLSET_NAME_LEN, MAX_TOOLSET_DESCRIPTION_LEN) == (24, 255)


@pytest.mark.req("D3-3d", "D3-3e", "D3-3f", "D3-3g", "D3-8h", "CT-27")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "name cannot be empty"),
        ("a" * 25, "name exceeds 24 characters"),
        ("_" * 25, "name exceeds 24 characters"),
        ("my_toolset", "name must contain only alphanumeric characters and hyphens"),
        ("é", "name must contain only alphanumeric characters and hyphens"),
    ],
)
def test_a_refused_name_has_the_reason_of_the_contract(name: str, reason: str) -> None:
    with pytest.raises(InvalidInstanceName) as caught:
        validate_toolset_name(name)

    assert caught.value.message == f"Invalid toolset name: {reason}"


@pytest.mark.req("D3-3h", "D3-3k")
def test_a_refused_description_has_the_reason_of_the_contract_and_counts_characters() -> None:
    validate_toolset_description("é" * 255)

    with pytest.raises(InvalidDescription) as caught:
        validate_toolset_description("a" * 256)
    assert caught.value.message == "Invalid toolset description: description exceeds 255 characters"


# The tables.


@pytest.mark.req("D3-5c", "D3-5d", "D3-5l")
def test_columns_are_null_only_where_the_contract_says_so(toolset_store: Store) -> None:
    with toolset_store.reading() as connection:
        nullable = {
            table: {each["name"] for each in sqlalchemy.inspect(connection).get_columns(table) if each["nullable"]}
            for table in ("toolsets", "app_toolset_configs")
        }

    assert nullable["toolsets"] == {"description", "key_id", "encrypted_api_key", "salt", "nonce"}
    assert nullable["app_toolset_configs"] == set()


@pytest.mark.req("D3-5e")
def test_an_insert_that_does_not_say_so_is_switched_off(toolset_store: Store) -> None:
    switch = {"toolset_id": "echo", "updated_by": "admin", "created_at": 1.0, "updated_at": 1.0}
    with toolset_store.writing() as connection:
        connection.execute(TOOLSETS.insert().values(_values("mine")))
        connection.execute(APP_CONFIGS.insert().values(switch))
        switches = connection.scalars(sqlalchemy.select(APP_CONFIGS.c.enabled)).all()
        enabled = connection.scalars(sqlalchemy.select(TOOLSETS.c.enabled)).all()

    assert (enabled, switches) == ([False], [False, False])


@pytest.mark.req("D3-5f", "D3-5g", "D3-5k", "CT-27")
def test_the_database_itself_keeps_names_and_types_apart(toolset_store: Store) -> None:
    with toolset_store.writing() as connection:
        for name, user in (("mine", ALICE), ("Mine", ALICE), ("mine", BOB)):
            connection.execute(TOOLSETS.insert().values(_values(name, user=user)))

    with pytest.raises((IntegrityError, StoreError)), toolset_store.writing() as connection:
        connection.execute(TOOLSETS.insert().values(_values("mine")))
    again = {"toolset_id": EXA, "updated_by": "admin", "created_at": 1.0, "updated_at": 1.0}
    with pytest.raises((IntegrityError, StoreError)), toolset_store.writing() as connection:
        connection.execute(APP_CONFIGS.insert().values(again))


@pytest.mark.req("D3-5o", "D3-5n")
async def test_a_database_that_is_opened_again_keeps_its_switch(store_url: str) -> None:
    for first in (True, False):
        with open_store(store_url, lines=[TOOLSETS_LINE]) as store:
            service = ToolsetService(store, open_sealer(store, MasterKey(b"m" * 32)), ToolsetKinds([ExaWebSearch()]))
            [config] = await service.list_app_toolset_configs()
            assert (config.enabled, config.updated_by) == ((False, "system") if first else (True, "root"))
            await service.set_app_toolset_enabled(EXA, enabled=True, updated_by="root")


# The rows.


@pytest.mark.req("D3-6a", "D3-6b")
async def test_a_row_has_the_fields_of_the_contract_and_a_key_whole_or_not_at_all(
    service: ToolsetService, rows: ToolsetRows, toolset_store: Store
) -> None:
    keyed, bare = await _made(service), await service.create_instance(ALICE, "free", "bare")
    parts = [TOOLSETS.c.encrypted_api_key, TOOLSETS.c.salt, TOOLSETS.c.nonce]
    with toolset_store.reading() as connection:
        kept = {
            each.id: [part is not None for part in each[1:]]
            for each in connection.execute(sqlalchemy.select(TOOLSETS.c.id, *parts))
        }

    assert {each.name for each in fields(ToolsetRow)} == {
        *("id", "user_id", "toolset_type", "name", "description", "enabled", "created_at", "updated_at"),
        *("settings", "sealed"),
    }
    assert kept == {keyed.id: [True] * 3, bare.id: [False] * 3}
    row = rows.get_toolset_by_id(keyed.id)
    assert row is not None
    assert (row.user_id, row.toolset_type, row.name) == (ALICE, "echo", "mine")


@pytest.mark.req("D3-7a", "D3-9a")
def test_the_methods_that_the_contract_removes_are_not_there() -> None:
    assert not [each for each in GONE_FROM_THE_SERVICE if hasattr(ToolsetService, each)]
    assert not [each for each in GONE_FROM_THE_STORE if hasattr(ToolsetRows, each)]


@pytest.mark.req("D3-7d", "D3-7j", "D3-11a", "D3-11b", "D3-11c")
def test_create_only_inserts(rows: ToolsetRows) -> None:
    made = rows.create_toolset(_row(), KEY)

    assert rows.get_toolset_by_id(made.id) == made
    with pytest.raises(InstanceNameExists):
        rows.create_toolset(_row(), KEY)
    assert rows.create_toolset(_row(user=BOB), KEY).name == "mine"
    with pytest.raises((IntegrityError, StoreError)):
        rows.create_toolset(_again(made), KEY)
    assert rows.get_toolset_by_id(made.id) == made


def _again(row: ToolsetRow) -> ToolsetRow:
    """Another name under an id that is taken."""
    return ToolsetRow(**{each.name: getattr(row, each.name) for each in fields(row)} | {"name": "other"})


@pytest.mark.req("D3-7b", "D3-7c", "D3-7f", "D3-7g", "D3-11d", "D3-11e", "D3-11i", "D3-11j")
def test_rows_are_found_by_id_by_name_and_listed_by_user_and_type(rows: ToolsetRows) -> None:
    one, two = rows.create_toolset(_row("one"), None), rows.create_toolset(_row("two", toolset_type="free"), None)
    other = rows.create_toolset(_row("one", user=BOB), None)

    assert rows.get_toolset_by_id(one.id) == rows.get_toolset_by_name(ALICE, "one") == one
    assert rows.get_toolset_by_name(BOB, "one") == other
    assert rows.get_toolset_by_id(str(uuid.uuid4())) is rows.get_toolset_by_name(ALICE, "three") is None
    assert rows.list_toolsets(ALICE) == [one, two]
    assert rows.list_toolsets_by_type(ALICE, "free") == [two]
    assert rows.list_toolsets_by_type(BOB, "free") == []


@pytest.mark.req("D3-1e", "D3-6f", "D3-7e", "D3-7i", "D3-11f", "D3-11g", "D3-11h", "D3-11l")
def test_an_update_keeps_sets_or_clears_the_key(rows: ToolsetRows) -> None:
    made = rows.create_toolset(_row(), KEY)
    assert rows.get_toolset_api_key(made.id) == KEY

    kept = rows.update_toolset(_again(made), KeepApiKey())
    assert kept is not None
    assert (kept.id, kept.name) == (made.id, "other")
    assert rows.get_toolset_api_key(made.id) == KEY
    rows.update_toolset(made, SetApiKey(value=Secret("another-key")))
    assert rows.get_toolset_api_key(made.id) == Secret("another-key")
    rows.update_toolset(made, SetApiKey.clear())
    assert rows.get_toolset_api_key(made.id) is None


@pytest.mark.req("D3-7h", "D3-11k")
def test_a_deleted_row_is_gone_with_its_key(rows: ToolsetRows) -> None:
    made, other = rows.create_toolset(_row(), KEY), rows.create_toolset(_row("other"), KEY)

    rows.delete_toolset(made.id)

    assert rows.get_toolset_by_id(made.id) is rows.get_toolset_api_key(made.id) is None
    assert rows.list_toolsets(ALICE) == [other]


# The errors.


@pytest.mark.req("D3-1b", "D3-8a", "D3-8b", "D3-8c", "D3-8d", "D3-8e")
@pytest.mark.parametrize(
    ("kind", "name", "category", "status"),
    [
        (InstanceNotFound, "instance_not_found", ToolErrorCategory.NOT_FOUND, 404),
        (InstanceNameExists, "instance_name_exists", ToolErrorCategory.CONFLICT, 409),
        (InvalidInstanceName, "invalid_instance_name", ToolErrorCategory.VALIDATION, 400),
        (InstanceNotOwned, "instance_not_owned", ToolErrorCategory.PERMISSION, 403),
        (InvalidToolsetType, "invalid_toolset_type", ToolErrorCategory.VALIDATION, 400),
    ],
)
def test_an_error_has_the_name_the_kind_and_the_status_of_the_contract(
    kind: type[ToolsetError], name: str, category: ToolErrorCategory, status: int
) -> None:
    assert issubclass(kind, ToolsetError)
    assert (kind.key, kind.default_category, kind.status) == (name, category, status)


@pytest.mark.req("D3-8f", "D3-8g", "D3-8i", "D3-8j", "CT-27")
async def test_the_service_answers_with_the_messages_of_the_contract(service: ToolsetService) -> None:
    made, unknown = await _made(service, "Search"), str(uuid.uuid4())
    refusals = {
        f"Toolset instance '{unknown}' not found": service.get_instance(ALICE, unknown),
        "Toolset toolset name 'Search' already exists": _made(service, "Search"),
        "You don't have permission to access this toolset instance": service.get_instance(BOB, made.id),
        "Invalid toolset type: no-type": service.create_instance(ALICE, "no-type", "x", api_key=KEY),
    }

    for message, refused in refusals.items():
        with pytest.raises(ToolsetError) as caught:
            await refused
        assert caught.value.message == message


# The service.


@pytest.mark.req("D3-9b", "D3-9c", "D3-9e", "D3-9f", "D3-9g", "D3-9h", "D3-12d", "D3-12h")
async def test_instances_are_made_read_changed_and_deleted(service: ToolsetService) -> None:
    made = await service.create_instance(ALICE, "echo", "mine", description="d", enabled=False, api_key=KEY)

    assert (made.name, made.description, made.enabled) == ("mine", "d", False)
    assert await service.get_instance(ALICE, made.id) == made
    changed = await service.update_instance(
        ALICE, made.id, name="other", description=None, enabled=True, api_key=KeepApiKey()
    )
    assert (changed.name, changed.description, changed.enabled) == ("other", None, True)
    with pytest.raises(InstanceNotOwned):
        await service.delete_instance(BOB, made.id)
    await service.delete_instance(ALICE, made.id)
    with pytest.raises(InstanceNotFound):
        await service.get_instance(ALICE, made.id)
    assert await service.list_instances(ALICE) == []


@pytest.mark.req("D3-10d", "D3-10e")
async def test_an_update_that_leaves_the_name_finds_no_other(service: ToolsetService) -> None:
    made = await _made(service)

    same = await service.update_instance(
        ALICE, made.id, name="mine", description="new", enabled=True, api_key=SetApiKey(value=Secret("k-2"))
    )

    assert (same.name, same.description) == ("mine", "new")


@pytest.mark.req("D3-9i", "D3-9j", "D3-10h")
async def test_a_method_is_called_with_the_key_of_its_instance(service: ToolsetService, echo: Echo) -> None:
    made = await _made(service)
    assert not await service.is_instance_available(ALICE, made.id)
    await service.set_app_toolset_enabled("echo", enabled=True, updated_by="admin")

    request = ToolsetExecutionRequest(params={"text": "hello"})
    answer = await service.execute_instance_tool(ALICE, made.id, "say", request)

    assert answer == ToolsetExecutionResponse(result="hello")
    assert [each.api_key for each in echo.opened_with] == [KEY]
    assert await service.is_instance_available(ALICE, made.id)


@pytest.mark.req("D3-1c", "D3-9k", "D3-9l", "D3-9m", "D3-9n", "D3-9o", "D3-9p", "D3-9q", "D3-12l", "D3-12m")
async def test_types_are_listed_validated_and_switched(exa: ToolsetService) -> None:
    assert [each.toolset_id for each in exa.list_toolset_types()] == [EXA, "free"]
    assert exa.get_toolset_type("no-type") is None
    exa.validate_toolset_type(EXA)
    with pytest.raises(InvalidToolsetType):
        exa.validate_toolset_type("no-type")
    assert await exa.get_app_toolset_config("free") is None
    assert not await exa.is_type_enabled(EXA)

    moved = await exa.set_app_toolset_enabled(EXA, enabled=True, updated_by="admin")

    assert (moved.toolset_id, moved.enabled, moved.updated_by) == (EXA, True, "admin")
    assert await exa.get_app_toolset_config(EXA) == moved
    assert await exa.list_app_toolset_configs() == [moved]
    assert await exa.is_type_enabled(EXA)


@pytest.mark.req("D3-9b", "D3-9c", "D3-9g", "D3-9i", "D3-9j")
@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("list_instances", ["user_id"]),
        ("create_instance", ["user_id", "toolset_type", "name", "description", "enabled", "api_key"]),
        ("get_instance", ["user_id", "instance_id"]),
        ("update_instance", ["user_id", "instance_id", "name", "description", "enabled", "api_key"]),
        ("delete_instance", ["user_id", "instance_id"]),
        ("execute_instance_tool", ["user_id", "instance_id", "method", "request"]),
        ("is_instance_available", ["user_id", "instance_id"]),
        ("get_app_toolset_config", ["toolset_id"]),
    ],
)
def test_a_method_takes_what_the_contract_lists_in_its_order(method: str, parameters: list[str]) -> None:
    taken = list(inspect.signature(getattr(ToolsetService, method)).parameters)[1:]

    assert [each for each in taken if each not in ("scopes", "settings")] == parameters


@pytest.mark.req("D3-1g")
def test_there_is_one_first_migration_and_none_of_older_data() -> None:
    assert TOOLSETS_LINE.revisions == ("0001",)
    assert [each.name for each in Path(TOOLSETS_LINE.folder).glob("t0*.py")] == ["t0001_toolsets.py"]
