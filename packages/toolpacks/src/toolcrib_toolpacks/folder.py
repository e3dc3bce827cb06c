"""Folders of packs that may be edited while they are in use: a good edit is taken over whole, a broken one reported."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.errors import PathError
from toolcrib_runtime.guards.paths import Root
from toolcrib_toolpacks.errors import ToolpackValidationError
from toolcrib_toolpacks.loader import ToolpackLoader, is_skipped
from toolcrib_toolpacks.model import Toolpack

POLL_SECONDS: Final = 1.0

# What tells one state of the folder from another: every file with its size and the time it was written.
_Fingerprint: TypeAlias = frozenset[tuple[str, str, int, float]]


@dataclass(frozen=True, kw_only=True)
class FolderNews:
    """What came of an edit: ids of packs that are new, changed or gone, or the problem that kept them as they were."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problem: ToolpackValidationError | None = None

    @property
    def is_good(self) -> bool:
        """Whether the folder can be used as it is now."""
        return self.problem is None


class ToolpackFolder:
    """The packs of one folder or several as one catalogue, as they were when it was last good.

    Raises:
        ToolpackValidationError: The folders cannot be used as they are at first.
    """

    def __init__(self, *paths: Path | str, pins: Mapping[str, str] | None = None) -> None:
        self.paths: Final = tuple(Path(each).expanduser() for each in paths)
        self._loader = ToolpackLoader(pins=pins)
        self._problem: ToolpackValidationError | None = None
        # Before they are read: what is written meanwhile is then seen as a change the next time.
        self._seen = self._fingerprints()
        for path in self.paths:
            self._loader.load_dir(path)

    @property
    def packs(self) -> tuple[Toolpack, ...]:
        """The packs of the last good state."""
        return self._loader.list()

    @property
    def problem(self) -> ToolpackValidationError | None:
        """What is wrong with the folder as it is now; None if that is what `packs` shows."""
        return self._problem

    def refresh(self) -> FolderNews | None:
        """Look whether something was edited, and take it over if all of it is good.

        It blocks, so call it in a thread where there is an event loop, and from one at a time. None means that there is
        nothing new: no file was touched, or nothing that a pack says has changed.
        """
        now = self._fingerprints()
        if now == self._seen:
            return None
        self._seen = now
        before = {each.id: each.content_hash for each in self.packs}
        was_broken = self._problem is not None
        try:
            self._loader.reload()
        except ToolpackValidationError as failure:
            self._problem = failure
            return FolderNews(problem=failure)
        self._problem = None
        news = _difference(before, {each.id: each.content_hash for each in self.packs})
        return news if was_broken or news != FolderNews() else None

    def _fingerprints(self) -> tuple[_Fingerprint, ...]:
        return tuple(map(_fingerprint, self.paths))

    async def watch(
        self,
        on_news: Callable[[FolderNews], Awaitable[None]],
        *,
        every: float = POLL_SECONDS,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Look every so many seconds, and tell what is new; it goes on until it is cancelled."""
        while True:
            await clock.sleep(every)
            news = await asyncio.to_thread(self.refresh)
            if news is not None:
                await on_news(news)


def _difference(before: Mapping[str, str], now: Mapping[str, str]) -> FolderNews:
    return FolderNews(
        added=tuple(sorted(now.keys() - before.keys())),
        changed=tuple(sorted(each for each in now.keys() & before.keys() if now[each] != before[each])),
        removed=tuple(sorted(before.keys() - now.keys())),
    )


def _fingerprint(folder: Path) -> _Fingerprint:
    """The state of everything beneath the folder; what cannot be looked into has none."""
    found: list[tuple[str, str, int, float]] = []
    try:
        with Root.open(folder) as root:
            waiting = ["."]
            while waiting:
                place = waiting.pop()
                for entry in root.list(place):
                    path = posixpath.join(place, entry.name)
                    if is_skipped(entry):
                        continue
                    if entry.kind == "directory":
                        waiting.append(path)
                    found.append((path, entry.kind, entry.size, entry.modified))
    except PathError:
        # A folder that vanishes on the way is in another state than before, which is all that counts.
        found.append((".", "unreadable", 0, 0.0))
    return frozenset(found)
