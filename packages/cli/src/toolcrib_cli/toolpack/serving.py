"""Folders of packs as servers of the gateway; what is edited is served from then on, if all of it is good."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from toolcrib_cli.toolpack.grants import SERVER_NAME, Grants
from toolcrib_cli.toolpack.loading import telling_violations
from toolcrib_cli.version import version
from toolcrib_cli.wiring import free_server_name
from toolcrib_core import ToolError
from toolcrib_core.wording import count, listed
from toolcrib_mcp import ToolboxService, connect_service
from toolcrib_runtime import Policy, Toolbox
from toolcrib_toolpacks import FolderNews, ToolpackFolder, open_toolbox

if TYPE_CHECKING:
    from toolcrib_cli.wiring import Asked, Brought

POLL_SECONDS: Final = 1.0
DRAIN_SECONDS: Final = 60.0
"""How long a toolbox that was replaced is kept for the calls that began in it."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def bring_toolpacks(asked: Asked) -> AsyncIterator[Brought]:
    """One server for the packs of all folders, whose tools are called as everywhere: `tracker:create_issue`.

    Raises:
        ToolpackValidationError: A folder cannot be used as it is at first.
        CapabilityRefused: A path is granted that there is not.
    """
    with telling_violations():
        folder = await asyncio.to_thread(ToolpackFolder, *asked.toolpacks)
    async with served_folder(folder, asked.grants) as service:
        name = free_server_name(SERVER_NAME, {each.name: each for each in asked.config.enabled})
        yield {name: connect_service(service)}


@asynccontextmanager
async def served_folder(
    folder: ToolpackFolder, grants: Grants, *, every: float = POLL_SECONDS
) -> AsyncIterator[ToolboxService]:
    """A service of the packs of a folder, which follows its edits."""
    following = _Following(folder, grants, await _Opened.open(folder, grants))
    try:
        watching = asyncio.create_task(folder.watch(following.follow, every=every))
        try:
            yield following.service
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
    finally:
        await following.aclose()


class _Opened:
    """A toolbox that is open, and closed from outside."""

    def __init__(self, toolbox: Toolbox, holding: AsyncExitStack) -> None:
        self.toolbox = toolbox
        self._holding = holding

    @classmethod
    async def open(cls, folder: ToolpackFolder, grants: Grants) -> _Opened:
        holding = AsyncExitStack()
        # The gateway asks, by the risk that its packs declare: a second gate in here could be opened by no one.
        opening = open_toolbox(folder.packs, settings=grants.settings(), policy=Policy(by_risk=None))
        toolbox = await holding.enter_async_context(opening)
        return cls(toolbox, holding)

    async def aclose(self) -> None:
        await self._holding.aclose()


class _Following:
    """Takes over what was edited: calls under way end in the toolbox they began in, which is closed later."""

    def __init__(self, folder: ToolpackFolder, grants: Grants, opened: _Opened) -> None:
        self._folder = folder
        self._grants = grants
        self._now = opened
        self.service: Final = ToolboxService(
            opened.toolbox,
            name=SERVER_NAME,
            version=version(),
            instructions=f"{count(len(folder.packs), 'tool')} from files.",
            names="dotted",
        )
        self._draining: set[asyncio.Task[None]] = set()

    async def follow(self, news: FolderNews) -> None:
        where = listed(map(str, self._folder.paths))
        if news.problem is not None:
            _log.warning("What is in %s is served as it was before: %s", where, news.problem.message)
            return
        try:
            opened = await _Opened.open(self._folder, self._grants)
            self.service.replace(opened.toolbox)
        except ToolError as failure:
            _log.warning("What is in %s is served as it was before: %s", where, failure.message)
            return
        before, self._now = self._now, opened
        draining = asyncio.create_task(_closed_later(before))
        self._draining.add(draining)
        draining.add_done_callback(self._draining.discard)
        _log.info("%s: new %s; changed %s; gone %s", where, *map(_told, (news.added, news.changed, news.removed)))

    async def aclose(self) -> None:
        for task in tuple(self._draining):
            task.cancel()
        await asyncio.gather(*self._draining, return_exceptions=True)
        await self._now.aclose()


async def _closed_later(opened: _Opened) -> None:
    try:
        await asyncio.sleep(DRAIN_SECONDS)
    finally:
        await opened.aclose()


def _told(ids: tuple[str, ...]) -> str:
    return listed(ids) if ids else "none"
