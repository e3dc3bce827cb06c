"""Forgetting packs that are past their grace period, in the background."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from toolcrib_contextpacks.errors import PackError
from toolcrib_contextpacks.packs import ContextPacks

EVERY: Final = 1_800.0
"""Seconds from one sweep to the next."""

_logger = logging.getLogger("toolcrib.contextpacks")


@contextmanager
def sweeping(packs: ContextPacks, *, every: float = EVERY) -> Iterator[None]:
    """Sweep now and then while the block lasts, in a thread; a sweep that fails is told in the log, and tried again."""
    ended = Event()

    def run() -> None:
        while not ended.is_set():
            try:
                gone = packs.sweep()
            except PackError as failure:
                _logger.warning("expired packs are not forgotten yet: %s", failure.message)
            else:
                _logger.debug("%d expired packs are forgotten", gone)
            ended.wait(every)

    thread = Thread(target=run, name="toolcrib-packs-sweep", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
