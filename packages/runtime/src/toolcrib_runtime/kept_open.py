"""`KeptOpen`: what is dear to open, kept by key between uses; opened anew when it has changed, closed to make room."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, kw_only=True)
class Wanted(Generic[V]):
    """What a user needs now: of which version it must be, and how it is opened where nothing of that is."""

    version: object
    open: Callable[[], Awaitable[V]]


@dataclass(eq=False)
class _Kept(Generic[V]):
    version: object
    value: V
    users: int = 0
    old: bool = False


@dataclass(eq=False)
class _Turn:
    """One opens what is under a key at a time; `takers` are those who do or wait, the last of them puts it away."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    takers: int = 0
    forgotten: bool = False
    """Whether the key was forgotten since the first of them came: what they open is not kept."""


class KeptOpen(Generic[K, V]):
    """Keeps what is open, at most `most` while nobody uses them: those that were used longest ago go first.

    Nothing is closed while it is used. `close` runs in a task of its own.
    """

    def __init__(self, close: Callable[[V], Coroutine[None, None, None]], *, most: int) -> None:
        self._close_value = close
        self._most = most
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        self._turns: dict[K, _Turn] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def values(self) -> list[V]:
        """All that is kept now."""
        return [kept.value for kept in self._kept.values()]

    @asynccontextmanager
    async def using(self, key: K, look: Callable[[], Awaitable[Wanted[V]]]) -> AsyncIterator[V]:
        """What is open under a key; it stays so at least until the end of the block.

        `look` says what is wanted when the turn of this user has come. What it and the opening raise is raised.
        """
        kept = await self._taken(key, look)
        self._make_room()
        try:
            yield kept.value
        finally:
            kept.users -= 1
            if kept.old and not kept.users:
                self._close(kept)
            self._make_room()

    def forget(self, key: K) -> None:
        """Close what is open under a key, or is being opened, as soon as nobody uses it."""
        if key in self._turns:
            self._turns[key].forgotten = True
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._retire(kept)

    async def aclose(self) -> None:
        """Close everything, used or not; what is being opened now, when its use ends."""
        for turn in self._turns.values():
            turn.forgotten = True
        while self._kept:
            self._close(self._kept.popitem()[1])
        if self._closing:
            await asyncio.wait(self._closing)

    def close_later(self, closing: Coroutine[None, None, None]) -> None:
        """Let something be closed beside all else; `aclose` waits for it."""
        task = asyncio.create_task(closing)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _taken(self, key: K, look: Callable[[], Awaitable[Wanted[V]]]) -> _Kept[V]:
        turn = self._turns.setdefault(key, _Turn())
        turn.takers += 1
        try:
            async with turn.lock:
                kept = await self._current(key, await look(), turn)
                kept.users += 1
                return kept
        finally:
            turn.takers -= 1
            if not turn.takers:
                del self._turns[key]

    async def _current(self, key: K, wanted: Wanted[V], turn: _Turn) -> _Kept[V]:
        kept = self._kept.get(key)
        if kept is not None and kept.version == wanted.version:
            self._kept.move_to_end(key)
            return kept
        if kept is not None:
            self._retire(self._kept.pop(key))
        kept = _Kept(version=wanted.version, value=await wanted.open())
        kept.old = turn.forgotten
        if not kept.old:
            self._kept[key] = kept
        return kept

    def _make_room(self) -> None:
        idle = [key for key, kept in self._kept.items() if not kept.users]
        for key in idle[: max(0, len(self._kept) - self._most)]:
            self._close(self._kept.pop(key))

    def _retire(self, kept: _Kept[V]) -> None:
        kept.old = True
        if not kept.users:
            self._close(kept)

    def _close(self, kept: _Kept[V]) -> None:
        self.close_later(self._close_value(kept.value))
