"""Toolsets that are open: the tools of an instance with its key, kept between calls, shared with no other instance."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from toolcrib_runtime import Toolbox
from toolcrib_runtime.kept_open import KeptOpen, Wanted
from toolcrib_toolsets.rows import ToolsetRow
from toolcrib_toolsets.types.kinds import Credentials, ToolsetKind

MOST_OPEN: Final = 64
"""How many are kept open while nobody calls them; those that were used longest ago are closed first."""


@dataclass(eq=False)
class _Open:
    toolbox: Toolbox
    closing: asyncio.Event
    keeper: asyncio.Task[None]

    async def aclose(self) -> None:
        self.closing.set()
        await asyncio.wait([self.keeper])


class OpenToolsets:
    """Keeps what is open, by instance; one that has changed since is opened anew."""

    def __init__(self, *, most: int = MOST_OPEN) -> None:
        self._kept: KeptOpen[str, _Open] = KeptOpen(_Open.aclose, most=most)

    @asynccontextmanager
    async def using(self, row: ToolsetRow, kind: ToolsetKind, credentials: Credentials) -> AsyncIterator[Toolbox]:
        """The tools of an instance; they stay open at least until the end of the block.

        Raises:
            ToolError: They cannot be had.
        """

        async def look() -> Wanted[_Open]:
            return Wanted(version=row.updated_at, open=lambda: _opened(row, kind, credentials))

        async with self._kept.using(row.id, look) as opened:
            yield opened.toolbox

    async def forget(self, instance_id: str) -> None:
        """Close what is open for an instance, or is being opened, as soon as no call is under way."""
        self._kept.forget(instance_id)

    async def aclose(self) -> None:
        """Close everything; what is being opened now, when its call ends."""
        await self._kept.aclose()


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
    return _Open(toolbox=toolbox, closing=closing, keeper=keeper)
