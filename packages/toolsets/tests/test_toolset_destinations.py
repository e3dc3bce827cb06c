"""A key stays where it was given for: other settings need it again, and a row changed behind the service is no use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest
from pydantic import JsonValue
from sqlalchemy import update
from toolset_kit import ALICE, KEY, Echo

from toolcrib_store import Store
from toolcrib_toolsets.contract import KeepApiKey, SetApiKey, Toolset, ToolsetExecutionRequest, ToolsetScope
from toolcrib_toolsets.errors import ApiKeyRequired, InstanceNotFound, UnsealingFailed
from toolcrib_toolsets.master_key import MasterKey
from toolcrib_toolsets.rotation import open_sealer, rotate
from toolcrib_toolsets.rows import ToolsetRows
from toolcrib_toolsets.service import ToolsetService
from toolcrib_toolsets.tables import TOOLSETS
from toolcrib_toolsets.types.http_api import HttpApi

pytestmark = [pytest.mark.fault("K5"), pytest.mark.req("TS-5")]

SAY = ToolsetExecutionRequest(params={"text": "hello"})
HOME: Mapping[str, JsonValue] = {"at": "https://home.test", "header": "X-Key"}


async def _made(service: ToolsetService, **more: Any) -> Toolset:
    for name in ("echo", "free"):
        await service.set_app_toolset_enabled(name, enabled=True, updated_by="root")
    return await service.create_instance(ALICE, "echo", "mine", api_key=KEY, settings={**HOME, **more})


async def _put(service: ToolsetService, made: Toolset, settings: Any, **more: Any) -> Toolset:
    said: dict[str, Any] = {"name": "mine", "description": None, "enabled": True, "api_key": KeepApiKey(), **more}
    return await service.update_instance(ALICE, made.id, settings=settings, **said)


@pytest.mark.parametrize("scopes", [None, frozenset({ToolsetScope(toolset_type="echo")})], ids=["whole", "limited"])
@pytest.mark.parametrize("change", [{"at": "https://evil.test"}, {"header": "X-Other"}], ids=["host", "header"])
async def test_settings_that_send_the_key_elsewhere_need_it_again(
    service: ToolsetService, echo: Echo, change: dict[str, str], scopes: frozenset[ToolsetScope] | None
) -> None:
    made = await _made(service)
    there = {**HOME, **change}

    with pytest.raises(ApiKeyRequired, match="somewhere else"):
        await _put(service, made, there, scopes=scopes)

    assert (await service.execute_instance_tool(ALICE, made.id, "say", SAY)).result == "hello"
    assert [each.settings for each in echo.opened_with] == [HOME]


async def test_with_the_key_again_any_settings_are_taken(service: ToolsetService, echo: Echo) -> None:
    made = await _made(service)
    await _put(service, made, {**HOME, "at": "https://new.test"}, api_key=SetApiKey(value=KEY))

    assert (await service.execute_instance_tool(ALICE, made.id, "say", SAY)).result == "hello"
    assert echo.opened_with[-1].settings["at"] == "https://new.test"


async def test_settings_that_send_the_key_nowhere_else_keep_it(service: ToolsetService, echo: Echo) -> None:
    made = await _made(service)
    await service.execute_instance_tool(ALICE, made.id, "say", SAY)
    await _put(service, made, {**HOME, "note": "longer"})

    assert (await service.execute_instance_tool(ALICE, made.id, "say", SAY)).result == "hello"
    assert echo.opened_with[-1].settings["note"] == "longer"


async def test_settings_that_can_no_longer_be_read_need_the_key_again(service: ToolsetService) -> None:
    made = await _made(service, at="gone")

    with pytest.raises(ApiKeyRequired, match="somewhere else"):
        await _put(service, made, HOME)


async def test_without_a_key_settings_may_be_anything(service: ToolsetService) -> None:
    await _made(service)
    free = await service.create_instance(ALICE, "free", "free", settings={"at": "one"})

    await _put(service, free, {"at": "two"}, name="free")

    assert (await service.execute_instance_tool(ALICE, free.id, "say", SAY)).result == "hello"


@pytest.mark.parametrize(
    "change",
    [
        {"settings": orjson.dumps({**HOME, "at": "https://evil.test"}).decode()},
        {"settings": orjson.dumps({**HOME, "header": "X-Other"}).decode()},
        {"toolset_type": "free"},
        {"user_id": "mallory"},
    ],
    ids=["host", "header", "type", "owner"],
)
async def test_a_row_that_was_changed_in_the_database_does_not_open(
    service: ToolsetService, toolset_store: Store, echo: Echo, change: dict[str, str]
) -> None:
    made = await _made(service)
    with toolset_store.writing() as connection:
        connection.execute(update(TOOLSETS).where(TOOLSETS.c.id == made.id).values(**change))
    owner = change.get("user_id", ALICE)

    with pytest.raises(UnsealingFailed):
        await service.execute_instance_tool(owner, made.id, "say", SAY)
    # Nor is it sealed anew: by an update of its settings, or by a rotation.
    with pytest.raises(UnsealingFailed):
        await service.update_instance(
            owner,
            made.id,
            name="mine",
            description=None,
            enabled=True,
            api_key=KeepApiKey(),
            settings={**orjson.loads(change.get("settings", orjson.dumps(HOME))), "note": 1},
        )
    with pytest.raises(UnsealingFailed):
        rotate(toolset_store, MasterKey(b"m" * 32), MasterKey(b"n" * 32))
    assert not echo.opened_with


async def test_settings_that_changed_meanwhile_do_not_get_the_key(
    service: ToolsetService, toolset_store: Store
) -> None:
    made = await _made(service)
    rows = ToolsetRows(toolset_store, open_sealer(toolset_store, MasterKey(b"m" * 32)))
    seen = rows.get_toolset_by_id(made.id)
    assert seen is not None
    rows.update_toolset(seen, SetApiKey(value=KEY), settings={"at": "first"})

    with pytest.raises(ApiKeyRequired):
        rows.update_toolset(seen, KeepApiKey(), settings={**HOME, "note": 1})
    assert rows.update_toolset(replace(seen, id="gone"), KeepApiKey(), settings=HOME) is None
    with pytest.raises(InstanceNotFound):
        await service.update_instance(
            ALICE, "gone", name="mine", description=None, enabled=True, api_key=KeepApiKey(), settings=HOME
        )


def _document(*servers: str) -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "T", "version": "1"},
        "servers": [{"url": each} for each in servers],
        "paths": {"/a": {"get": {"operationId": "a", "responses": {}}}},
    }


def test_where_an_http_api_sends_its_key_is_each_server_with_its_place() -> None:
    kind = HttpApi()
    one: dict[str, Any] = {"document": _document("https://one.test/v1")}
    named = {**one, "key": {"header": "Authorization"}}
    longer = {"document": {**_document("https://one.test/v1"), "x-note": "more"}}
    elsewhere: list[dict[str, Any]] = [
        {"document": _document("https://two.test/v1")},
        {**one, "baseUrl": "https://one.test/v2"},
        {**one, "baseUrl": "https://one.test:8443/v1"},
        {**one, "key": {"header": "X-Key"}},
        {**one, "key": {"query": "key"}},
        {**one, "key": {"cookie": "key"}},
        {**one, "key": {"basic": True}},
        {**one, "key": {"header": "Authorization", "prefix": ""}},
    ]
    known = kind.key_destinations(one)

    assert kind.key_destinations(named) == kind.key_destinations(longer) == known
    assert len(known) == 1
    for settings in elsewhere:
        assert not kind.key_destinations(settings) <= known, settings
