"""What is kept open by key: one for all who use it, anew when it has changed, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from toolcrib_runtime.kept_open import KeptOpen, Wanted


class Rooms:
    """Opens rooms when it is let, and counts."""

    def __init__(self, *, most: int = 10) -> None:
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.let = asyncio.Event()
        self.let.set()
        self.asked = asyncio.Event()
        self.kept: KeptOpen[str, str] = KeptOpen(self._close, most=most)
        self._numbers: Counter[str] = Counter()

    @property
    def remembers_nothing(self) -> bool:
        return not any(each for each in vars(self.kept).values() if isinstance(each, dict | set))

    async def use(self, key: str, *, version: int = 1, until: asyncio.Event | None = None) -> str:
        async def look() -> Wanted[str]:
            return Wanted(version=version, open=lambda: self._open(key))

        async with self.kept.using(key, look) as room:
            if until is not None:
                await until.wait()
            return room

    async def _open(self, key: str) -> str:
        self.asked.set()
        await self.let.wait()
        self._numbers[key] += 1
        room = f"{key}{self._numbers[key]}"
        self.opened.append(room)
        return room

    async def _close(self, room: str) -> None:
        self.closed.append(room)


async def _settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_what_is_open_serves_everybody_until_all_is_closed() -> None:
    rooms = Rooms()

    used = [await rooms.use("a"), *await asyncio.gather(*(rooms.use("a") for _ in range(3)))]
    await rooms.kept.aclose()

    assert (used, rooms.opened, rooms.closed) == (["a1"] * 4, ["a1"], ["a1"])
    assert rooms.remembers_nothing


async def test_those_who_come_while_it_opens_wait_for_it() -> None:
    rooms = Rooms()
    rooms.let.clear()
    users = [asyncio.create_task(rooms.use("a")) for _ in range(3)]
    await rooms.asked.wait()

    rooms.let.set()

    assert await asyncio.gather(*users) == ["a1"] * 3


async def test_what_has_changed_is_opened_anew_and_the_old_closed_when_its_last_user_has_gone() -> None:
    rooms, done = Rooms(), asyncio.Event()
    early = asyncio.create_task(rooms.use("a", until=done))
    await rooms.asked.wait()
    await _settled()

    assert await rooms.use("a", version=2) == "a2"
    await _settled()
    assert rooms.closed == []
    done.set()
    assert await early == "a1"
    await _settled()
    assert rooms.closed == ["a1"]
    await rooms.kept.aclose()


async def test_room_is_made_by_what_was_used_longest_ago_and_nobody_uses_now() -> None:
    rooms, done = Rooms(most=2), asyncio.Event()
    busy = asyncio.create_task(rooms.use("a", until=done))
    await _settled()

    for key in ("b", "c", "d"):
        await rooms.use(key)
    await _settled()

    assert rooms.closed == ["b1", "c1"]
    assert rooms.kept.values() == ["a1", "d1"]
    done.set()
    await busy
    await rooms.kept.aclose()


async def test_what_is_forgotten_is_closed_once_nobody_uses_it_even_if_it_is_being_opened() -> None:
    rooms = Rooms()
    await rooms.use("a")
    rooms.let.clear()
    rooms.asked.clear()
    opening = asyncio.create_task(rooms.use("b"))
    await rooms.asked.wait()

    for key in ("a", "b", "never there"):
        rooms.kept.forget(key)
    rooms.let.set()
    await opening
    await _settled()

    assert rooms.closed == ["a1", "b1"]
    assert rooms.remembers_nothing


async def test_what_is_being_opened_while_all_is_closed_is_closed_when_its_use_ends() -> None:
    rooms = Rooms()
    rooms.let.clear()
    opening = asyncio.create_task(rooms.use("a"))
    await rooms.asked.wait()

    await rooms.kept.aclose()
    rooms.let.set()
    await opening
    await _settled()

    assert rooms.closed == ["a1"]
    assert rooms.remembers_nothing


async def test_nothing_is_remembered_of_what_could_not_be_opened() -> None:
    rooms = Rooms()

    async def look() -> Wanted[str]:
        raise LookupError

    with pytest.raises(LookupError):
        async with rooms.kept.using("a", look):
            raise AssertionError

    assert rooms.remembers_nothing


async def test_what_is_closed_beside_all_else_is_waited_for() -> None:
    rooms = Rooms()
    rooms.kept.close_later(rooms._close("another"))

    await rooms.kept.aclose()

    assert rooms.closed == ["another"]
