"""Being asked to stop: once, and to do it in good order; twice, and to do it at once."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_T = TypeVar("_T")
_logger = logging.getLogger("toolcrib.mcp")


@dataclass(frozen=True, kw_only=True)
class StopRequests:
    """What has been asked so far."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """It is to stop."""
    insisted: asyncio.Event = field(default_factory=asyncio.Event)
    """It is to stop at once."""

    def ask(self) -> None:
        """Ask once more."""
        if self.asked.is_set():
            self.insisted.set()
        self.asked.set()


@contextmanager
def stop_signals() -> Iterator[StopRequests]:
    """Take SIGTERM and SIGINT for requests to stop; from the third on they do what they otherwise do.

    Outside the main thread, and where the system has no such signals, nobody asks.
    """
    requests = StopRequests()
    loop = asyncio.get_running_loop()

    def release() -> None:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)

    def hear() -> None:
        requests.ask()
        _logger.info("asked to stop%s", " at once" if requests.insisted.is_set() else "")
        if requests.insisted.is_set():
            release()

    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in _SIGNALS:
            loop.add_signal_handler(number, hear)
    try:
        yield requests
    finally:
        with suppress(NotImplementedError):
            release()


async def unless(event: asyncio.Event, work: Coroutine[Any, Any, _T]) -> _T | None:
    """The result of the work; when the event comes first, the work is cancelled and awaited, and gives `None`.

    Being cancelled while the work takes its time to end, it cancels the work once more.
    """
    task, coming = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait((task, coming), return_when=asyncio.FIRST_COMPLETED)
    finally:
        coming.cancel()
        if not task.done():
            task.cancel()
            await _ended(task)
    return None if task.cancelled() else task.result()


async def _ended(task: asyncio.Future[Any]) -> None:
    try:
        await asyncio.wait((task,))
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait((task,))
        raise
