"""Master keys that follow each other, whatever interrupts them."""

from __future__ import annotations

import pytest
from toolset_kit import ALICE, Echo

from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import Store
from toolcrib_toolsets.contract import KeepApiKey, SetApiKey, ToolsetExecutionRequest
from toolcrib_toolsets.errors import SealingError, WrongMasterKey
from toolcrib_toolsets.master_key import MasterKey
from toolcrib_toolsets.rotation import Rotation, open_sealer, rotate
from toolcrib_toolsets.rows import ToolsetRows
from toolcrib_toolsets.service import ToolsetService
from toolcrib_toolsets.tables import TOOLSETS
from toolcrib_toolsets.types import ToolsetKinds

OLD, NEW, THIRD = (MasterKey(letter * 32) for letter in (b"m", b"n", b"t"))
ROWS = 7


@pytest.fixture
async def ids(service: ToolsetService) -> list[str]:
    return [
        (await service.create_instance(ALICE, "echo", f"i-{number}", api_key=Secret(f"secret-{number}"))).id
        for number in range(ROWS)
    ]


def _keys(store: Store, ids: list[str], *, current: MasterKey, previous: MasterKey | None = None) -> list[str]:
    rows = ToolsetRows(store, open_sealer(store, current, previous=previous))
    opened = [rows.get_toolset_api_key(each) for each in ids]
    return [each.reveal() for each in opened if each is not None]


@pytest.mark.req("TS-5")
def test_after_a_rotation_the_new_key_opens_all_and_the_old_one_nothing(toolset_store: Store, ids: list[str]) -> None:
    told: list[Rotation] = []

    done = rotate(toolset_store, OLD, NEW, batch=3, on_batch=told.append)

    assert done == Rotation(key_id=NEW.id, resealed=ROWS, left=0)
    assert [each.left for each in told] == [4, 1, 0]
    assert _keys(toolset_store, ids, current=NEW) == [f"secret-{number}" for number in range(ROWS)]
    with pytest.raises(WrongMasterKey):
        open_sealer(toolset_store, OLD)
    assert rotate(toolset_store, OLD, NEW).resealed == 0


@pytest.mark.req("TS-5")
@pytest.mark.fault("H4")
@pytest.mark.parametrize("step", range(4))
def test_a_rotation_that_is_stopped_leaves_all_readable_and_goes_on(
    toolset_store: Store, ids: list[str], step: int
) -> None:
    class Stopped(Exception):
        pass

    done = 0

    def stop(_: Rotation) -> None:
        nonlocal done
        done += 1
        if done > step:
            raise Stopped

    if step < 3:
        with pytest.raises(Stopped):
            rotate(toolset_store, OLD, NEW, batch=3, on_batch=stop)
    whole = [f"secret-{number}" for number in range(ROWS)]

    assert _keys(toolset_store, ids, current=NEW if step < 3 else OLD, previous=OLD if step < 3 else None) == whole
    rotate(toolset_store, OLD, NEW, batch=3)
    assert _keys(toolset_store, ids, current=NEW) == whole


@pytest.mark.fault("H3")
def test_another_master_key_is_refused_at_the_start_in_one_sentence(toolset_store: Store, ids: list[str]) -> None:
    with pytest.raises(WrongMasterKey, match=OLD.id) as caught:
        open_sealer(toolset_store, THIRD)

    assert caught.value.hint is not None
    with pytest.raises(WrongMasterKey):
        rotate(toolset_store, THIRD, NEW)
    assert _keys(toolset_store, ids, current=OLD)[0] == "secret-0"


@pytest.mark.fault("H4")
async def test_what_is_written_during_a_rotation_is_readable_after_it(toolset_store: Store, ids: list[str]) -> None:
    written: list[str] = []

    def meanwhile(_: Rotation) -> None:
        if not written:
            sealer = open_sealer(toolset_store, OLD, previous=NEW)
            rows = ToolsetRows(toolset_store, sealer)
            row = rows.get_toolset_by_id(ids[-1])
            assert row is not None
            from toolcrib_toolsets.contract import SetApiKey

            rows.update_toolset(row, SetApiKey(value=Secret("changed-meanwhile")))
            written.append(row.id)

    rotate(toolset_store, OLD, NEW, batch=2, on_batch=meanwhile)

    assert _keys(toolset_store, ids, current=NEW)[-1] == "changed-meanwhile"
    fresh = ToolsetService(toolset_store, open_sealer(toolset_store, NEW), ToolsetKinds([Echo()]))
    assert len(await fresh.list_instances(ALICE)) == ROWS
    assert issubclass(WrongMasterKey, SealingError)


@pytest.mark.req("TS-5")
async def test_nothing_is_sealed_under_a_key_that_was_retired_meanwhile(
    toolset_store: Store, service: ToolsetService, ids: list[str]
) -> None:
    rotate(toolset_store, OLD, NEW)

    with pytest.raises(WrongMasterKey):
        await service.create_instance(ALICE, "echo", "late", api_key=Secret("secret-late"))
    with pytest.raises(WrongMasterKey):
        await service.update_instance(
            ALICE, ids[0], name="i-0", description=None, enabled=True, api_key=SetApiKey(value=Secret("secret-late"))
        )
    await service.update_instance(ALICE, ids[0], name="renamed", description=None, enabled=True, api_key=KeepApiKey())

    assert _keys(toolset_store, ids, current=NEW) == [f"secret-{number}" for number in range(ROWS)]


@pytest.mark.req("TS-5")
@pytest.mark.fault("H3")
async def test_a_service_that_was_started_before_a_rotation_says_that_its_master_key_is_the_old_one(
    toolset_store: Store, service: ToolsetService, ids: list[str]
) -> None:
    await service.set_app_toolset_enabled("echo", enabled=True, updated_by="admin")
    rotate(toolset_store, OLD, NEW)

    with pytest.raises(WrongMasterKey, match="a rotation brought in") as caught:
        await service.execute_instance_tool(ALICE, ids[0], "say", ToolsetExecutionRequest(params={"text": "x"}))

    assert caught.value.hint == "Start again with the master key that the database is sealed under now."


@pytest.mark.fault("H4")
async def test_a_key_id_without_a_key_does_not_hold_a_rotation_up(toolset_store: Store, ids: list[str]) -> None:
    with toolset_store.writing() as connection:
        connection.execute(TOOLSETS.update().where(TOOLSETS.c.id == ids[0]).values(encrypted_api_key=None))

    assert rotate(toolset_store, OLD, NEW).resealed == ROWS - 1
