"""Toolsets that are open: the tools of an instance with its key, kept between calls, shared with no other instance."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from toolcrib_runtime import Toolbox
from toolcrib_toolsets.rows import ToolsetRow
from toolcrib_toolsets.types.kinds import Credentials, ToolsetKind

MOST_OPEN: Final = 64
"""How many are kept open while nobody calls them; those that were used longest ago are closed first."""


@dataclass(eq=False)
class _Open:
    version: float
    toolbox: Toolbox
    closing: asyncio.Event
    keeper: asyncio.Task[None]
    users: int = 0
    old: bool = False


@dataclass(eq=False)
class _Turn:
    """One opens an instance at a time; `takers` are those who do or wait, and the last of them puts it away."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    takers: int = 0
    forgotten: bool = False
    """Whether the instance has changed since the first of them came: what they open is not kept."""


class OpenToolsets:
    """Keeps what is open, by instance; one that has changed since is opened anew."""

    def __init__(self, *, most: int = MOST_OPEN) -> None:
        self._most = most
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._opening: dict[str, _Turn] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def using(self, row: ToolsetRow, kind: ToolsetKind, credentials: Credentials) -> AsyncIterator[Toolbox]:
        """The tools of an instance; they stay open at least until the end of the block.

        Raises:
            ToolError: They cannot be had.
        """
        held = await self._held(row, kind, credentials)
        held.users += 1
        try:
            yield held.toolbox
        finally:
            held.users -= 1
            if held.old and not held.users:
                self._close(held)
            self._make_room()

    async def forget(self, instance_id: str) -> None:
        """Close what is open for an instance, or is being opened, as soon as no call is under way."""
        if instance_id in self._opening:
            self._opening[instance_id].forgotten = True
        held = self._open.pop(instance_id, None)
        if held is not None:
            self._retire(held)

    async def aclose(self) -> None:
        """Close everything; what is being opened now, when its call ends."""
        for turn in self._opening.values():
            turn.forgotten = True
        for instance_id in tuple(self._open):
            held = self._open.pop(instance_id)
            self._close(held)
        if self._closing:
            await asyncio.wait(self._closing)

    async def _held(self, row: ToolsetRow, kind: ToolsetKind, credentials: Credentials) -> _Open:
        turn = self._opening.setdefault(row.id, _Turn())
        turn.takers += 1
        try:
            async with turn.lock:
                held = self._open.get(row.id)
                if held is not None and held.version == row.updated_at:
                    self._open.move_to_end(row.id)
                    return held
                if held is not None:
                    self._retire(self._open.pop(row.id))
                held = await _opened(row, kind, credentials)
                if turn.forgotten:
                    held.old = True
                else:
                    self._open[row.id] = held
                return held
        finally:
            turn.takers -= 1
            if not turn.takers:
                del self._opening[row.id]

    def _make_room(self) -> None:
        idle = [name for name, held in self._open.items() if not held.users]
        for name in idle[: max(0, len(self._open) - self._most)]:
            self._close(self._open.pop(name))

    def _retire(self, held: _Open) -> None:
        held.old = True
        if not held.users:
            self._close(held)

    def _close(self, held: _Open) -> None:
        held.closing.set()
        self._closing.add(held.keeper)
        held.keeper.add_done_callback(self._closing.discard)


async def _opened(row: ToolsetRow, kind: ToolsetKind, credentials: Credentials) -> _Open:
    """Open in a task of its own: what was entered there is left there, whoever asks for the end."""
    ready: asyncio.Future[Toolbox] = asyncio.get_running_loop().create_future()
    closing = asyncio.Event()

    async def keep() -> None:
        async with AsyncExitStack() as holding:
            try:
                toolbox = await holding.enter_async_context(kind.open(credentials))
            except BaseException as failure:  # noqa: BLE001  # it is raised where it is waited for
                if not ready.done():
                    ready.set_exception(failure)
                return
            if ready.done():
                return
            ready.set_result(toolbox)
            await closing.wait()

    keeper = asyncio.create_task(keep(), name=f"toolset {row.id}")
    try:
        toolbox = await ready
    except asyncio.CancelledError:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper
        raise
    return _Open(version=row.updated_at, toolbox=toolbox, closing=closing, keeper=keeper)
