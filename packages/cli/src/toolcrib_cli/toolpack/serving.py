"""Folders of packs as servers of the gateway; what is edited is served from then on, if all of it is good."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_cli.toolpack.grants import Grants
from toolcrib_cli.toolpack.loading import telling_violations
from toolcrib_cli.version import version
from toolcrib_cli.wiring import free_server_name
from toolcrib_core import ToolError
from toolcrib_core.wording import count, listed, quoted
from toolcrib_mcp import ToolboxService, connect_service
from toolcrib_runtime import Policy, Toolbox
from toolcrib_toolpacks import FolderNews, ToolpackFolder, open_toolbox

if TYPE_CHECKING:
    from toolcrib_cli.wiring import Asked, Brought
    from toolcrib_mcp.upstreams import Connect

POLL_SECONDS: Final = 1.0
DRAIN_SECONDS: Final = 60.0
"""How long a toolbox that was replaced is kept for the calls that began in it."""

_log = logging.getLogger(__name__)


@asynccontextmanager
async def bring_toolpacks(asked: Asked) -> AsyncIterator[Brought]:
    """A server for each folder, named after it.

    Raises:
        ToolpackValidationError: A folder cannot be used as it is at first.
        ConfigError: The environment grants something that there is not.
    """
    grants = Grants.of_environment(os.environ)
    async with AsyncExitStack() as holding:
        brought: dict[str, Connect] = {}
        for path in asked.toolpacks:
            with telling_violations():
                folder = await asyncio.to_thread(ToolpackFolder, path)
            served = await holding.enter_async_context(served_folder(folder, grants))
            brought[free_server_name(server_name(path), brought)] = connect_service(served)
        yield brought


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
            name=f"toolpacks-{server_name(folder.path)}",
            version=version(),
            instructions=f"{count(len(folder.packs), 'tool')} from files in a folder.",
        )
        self._draining: set[asyncio.Task[None]] = set()

    async def follow(self, news: FolderNews) -> None:
        where = quoted(str(self._folder.path))
        if news.problem is not None:
            _log.warning("%s is served as it was before: %s", where, news.problem.message)
            return
        try:
            opened = await _Opened.open(self._folder, self._grants)
            self.service.replace(opened.toolbox)
        except ToolError as failure:
            _log.warning("%s is served as it was before: %s", where, failure.message)
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


def server_name(path: Path) -> str:
    """The name of a folder's server: that of the folder, as far as ids can have it."""
    words = re.sub(r"[^a-z0-9_-]+", "-", path.expanduser().resolve().name.lower()).strip("-_")
    return words if words[:1].isalpha() else f"toolpacks-{words}".rstrip("-")


def _told(ids: tuple[str, ...]) -> str:
    return listed(ids) if ids else "none"
