"""What is open for an instance: nobody else's, no longer than it may, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from toolset_kit import ALICE, KEY, Echo

from toolcrib_runtime import Toolbox
from toolcrib_toolsets.errors import ServiceFailed
from toolcrib_toolsets.opened import OpenToolsets
from toolcrib_toolsets.rows import ToolsetRow
from toolcrib_toolsets.types import Credentials


class Slow(Echo):
    """Opens when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.let = asyncio.Event()

    @asynccontextmanager
    async def open(self, credentials: Credentials) -> AsyncIterator[Toolbox]:
        self.asked.set()
        await self.let.wait()
        async with super().open(credentials) as toolbox:
            yield toolbox


class Broken(Echo):
    """Never opens."""

    @asynccontextmanager
    async def open(self, credentials: Credentials) -> AsyncIterator[Toolbox]:
        raise ServiceFailed.of(subject="it", reason="it is broken")
        yield


def _row(name: str = "a", *, updated_at: float = 1.0) -> ToolsetRow:
    return ToolsetRow(
        id=name,
        user_id=ALICE,
        toolset_type="echo",
        name=name,
        description=None,
        settings={},
        enabled=True,
        sealed=None,
        created_at=0.0,
        updated_at=updated_at,
    )


async def _use(opened: OpenToolsets, kind: Echo, row: ToolsetRow) -> None:
    async with opened.using(row, kind, Credentials(namespace=row.name, settings={}, api_key=KEY)):
        await asyncio.sleep(0)


async def _settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.req("TS-6")
async def test_what_is_deleted_while_it_is_being_opened_is_closed_when_the_call_ends() -> None:
    opened, kind = OpenToolsets(), Slow()
    call = asyncio.create_task(_use(opened, kind, _row()))
    await kind.asked.wait()

    await opened.forget("a")
    kind.let.set()
    await call
    await _settled()

    assert (kind.counts["opened"], kind.counts["closed"]) == (1, 1)
    await opened.aclose()


@pytest.mark.req("TS-12")
async def test_one_that_makes_room_while_others_wait_for_it_leaves_nothing_open() -> None:
    opened, kind = OpenToolsets(most=0), Slow()
    calls = [asyncio.create_task(_use(opened, kind, _row())) for _ in range(3)]
    await kind.asked.wait()
    kind.let.set()
    await _settled()
    calls += [asyncio.create_task(_use(opened, kind, _row(updated_at=moment))) for moment in (1.0, 2.0, 1.0, 2.0)]
    await asyncio.gather(*calls)
    await opened.aclose()
    await _settled()

    assert kind.counts["opened"] == kind.counts["closed"] > 0


async def test_a_call_that_is_taken_back_while_it_opens_leaves_nothing_open() -> None:
    opened, kind = OpenToolsets(), Slow()
    call = asyncio.create_task(_use(opened, kind, _row()))
    await kind.asked.wait()

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    kind.let.set()
    await _use(opened, kind, _row())
    await opened.aclose()

    assert (kind.counts["opened"], kind.counts["closed"]) == (1, 1)


async def test_nothing_is_remembered_of_instances_that_are_not_open() -> None:
    opened = OpenToolsets()
    for number in range(5):
        with pytest.raises(ServiceFailed):
            await _use(opened, Broken(), _row(f"broken-{number}"))
        await _use(opened, Echo(), _row(f"deleted-{number}"))
        await opened.forget(f"deleted-{number}")

    assert not [each for each in vars(opened._kept).values() if isinstance(each, dict) and each]
    await opened.aclose()
