"""Forgetting what has expired, a little at a time and in the background."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import Connection, func, select

from toolcrib_store import (
    ArtifactLimits,
    Artifacts,
    NewArtifact,
    Owner,
    TurnableClock,
    open_store,
    sweep_store,
    sweeping,
)
from toolcrib_store import retention as retention_module
from toolcrib_store.tables import BLOBS

ANNA = Owner(principal="anna")


def test_what_has_expired_goes_with_its_content_however_much_it_is(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_module, "AT_ONCE", 10)
    clock = TurnableClock()
    with open_store(store_url, clock=clock) as store:
        kept = Artifacts(store, limits=ArtifactLimits(seconds=60))
        every = [NewArtifact(content=b"%d" % number, media_type="t", kind="k", source="s") for number in range(35)]
        kept.put_all(every, owner=ANNA)
        clock.turn(61)

        swept = sweep_store(store)

        assert swept == {"artifacts": 35, "calls": 0, "approvals": 0}
        with store.reading() as connection:
            assert connection.scalar(select(func.count()).select_from(BLOBS)) == 0


@pytest.mark.req("CP-18")
async def test_it_is_done_in_the_background_with_the_sweeps_of_others_and_a_failure_stops_nothing(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[float] = []
    enough = asyncio.Event()
    loop = asyncio.get_running_loop()

    def sweep(connection: Connection, now: float, limit: int) -> int:
        asked.append(now)
        if len(asked) == 1:
            connection.exec_driver_sql("SELECT * FROM nowhere")
        if len(asked) == 3:
            loop.call_soon_threadsafe(enough.set)
        return 0

    with open_store(store_url, clock=TurnableClock(5.0)) as store:
        async with asyncio.timeout(10), sweeping(store, every=0.001, more={"packs": sweep}):
            await enough.wait()

    assert asked[:3] == [5.0, 5.0, 5.0]
    assert "the store was not swept" in caplog.text
