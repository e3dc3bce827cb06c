from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self

import pytest

from toolcrib_mcp.upstreams.changes import Burst
from toolcrib_mcp.upstreams.listing import ListKind
from toolcrib_runtime.testing import FakeClock

pytestmark = [pytest.mark.req("GW-6.5"), pytest.mark.fault("F11")]

TOOLS = ListKind.TOOLS


class Reader:
    """Counts the bursts that have settled."""

    def __init__(self, clock: FakeClock, *, quiet: float = 1.0, longest: float = 10.0) -> None:
        self.burst = Burst(quiet=quiet, longest=longest, clock=clock)
        self.settled: list[tuple[float, set[ListKind]]] = []
        self._clock = clock
        self._begun = clock.monotonic()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _read(self) -> None:
        while True:
            kinds = await self.burst.settled()
            self.settled.append((self._clock.monotonic() - self._begun, kinds))


async def test_news_count_when_nothing_more_has_come_for_a_while() -> None:
    clock = FakeClock()
    async with Reader(clock) as reader:
        for _ in range(5):
            reader.burst.add(TOOLS)
            await clock.advance(0.5)

        await clock.advance(10)

    assert reader.settled == [(3.0, {TOOLS})]


async def test_a_storm_of_a_thousand_a_second_is_a_handful_of_bursts() -> None:
    clock = FakeClock()
    async with Reader(clock) as reader:
        for _ in range(300):
            for _ in range(100):
                reader.burst.add(TOOLS)
            await clock.advance(0.1)
        await clock.advance(10)

    last_news = 299 * 0.1
    assert 3 <= len(reader.settled) <= 4
    assert reader.settled[-1][0] >= last_news


async def test_the_last_news_of_a_storm_are_not_lost() -> None:
    clock = FakeClock()
    async with Reader(clock) as reader:
        reader.burst.add(TOOLS)
        await clock.advance(1.5)

        reader.burst.add(ListKind.PROMPTS)
        await clock.advance(1.5)

    assert [kinds for _, kinds in reader.settled] == [{TOOLS}, {ListKind.PROMPTS}]


async def test_news_of_several_lists_settle_together() -> None:
    clock = FakeClock()
    async with Reader(clock) as reader:
        reader.burst.add(TOOLS)
        reader.burst.add(ListKind.RESOURCES, ListKind.PROMPTS)
        await clock.advance(1.5)

    assert reader.settled == [(1.0, {TOOLS, ListKind.RESOURCES, ListKind.PROMPTS})]
