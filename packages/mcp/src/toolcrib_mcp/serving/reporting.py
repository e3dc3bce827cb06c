"""Keeping the file with the live health of this process up to date."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolcrib_mcp.serving.live import Held, LiveStatus, LiveStatusFile
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

LOOK_EVERY: Final = 1.0
"""Seconds between two looks at whether something has changed."""

RENEW_EVERY: Final = 10.0
"""Seconds after which the file is renewed although nothing has."""

_logger = logging.getLogger("toolcrib.mcp")


@dataclass(kw_only=True)
class Reporter:
    """Writes what `describe` gives into a file of the directory, as often as it changes.

    What the process holds is told along with it, and is no reason to write: it changes with every request.
    """

    directory: Path
    mode: str
    address: str
    describe: Callable[[], Mapping[str, Any]]
    sessions: Callable[[], int]
    clock: Clock = SYSTEM_CLOCK
    _failing: bool = field(default=False, init=False)

    async def run(self) -> None:
        """Write until cancelled; then the file is removed. That it cannot be written is logged, once in a row."""
        file = LiveStatusFile(self.directory)
        started_at = self.clock.wall()
        written: Mapping[str, Any] | None = None
        due = 0.0
        try:
            while True:
                told = self.describe()
                if told != written or self.clock.monotonic() >= due:
                    await self._write(file, told, started_at=started_at)
                    written, due = told, self.clock.monotonic() + RENEW_EVERY
                await self.clock.sleep(LOOK_EVERY)
        finally:
            file.remove()

    async def _write(self, file: LiveStatusFile, told: Mapping[str, Any], *, started_at: float) -> None:
        status = LiveStatus(
            pid=os.getpid(),
            mode=self.mode,
            address=self.address,
            started_at=started_at,
            written_at=self.clock.wall(),
            held=Held(tasks=len(asyncio.all_tasks()), threads=threading.active_count(), sessions=self.sessions()),
            hub=told,
        )
        try:
            await asyncio.to_thread(file.write, status)
        except OSError as failure:
            if not self._failing:
                _logger.warning("the live health cannot be written: %s", failure.strerror)
            self._failing = True
        else:
            self._failing = False
