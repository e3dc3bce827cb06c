"""Callers that wait for the same thing, each until a deadline of its own."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Generic, TypeVar

from toolcrib_core import ToolError
from toolcrib_runtime.clock import Clock

_T = TypeVar("_T")
_E = TypeVar("_E", bound=ToolError)


class Waiters(Generic[_T]):
    """Hands one outcome to all who wait for it. Nobody who waits can be cancelled by it, only told."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._futures: set[asyncio.Future[_T]] = set()

    def __len__(self) -> int:
        return len(self._futures)

    async def wait(self, deadline: float, *, too_late: Callable[[], ToolError]) -> _T:
        """Wait for the next outcome.

        Raises:
            ToolError: The outcome is a failure; or it is that of `too_late`, since the deadline has passed.
        """
        future: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        timer = self._clock.call_at(deadline, lambda: _fail(future, too_late()))
        self._futures.add(future)
        try:
            return await future
        finally:
            timer.cancel()
            self._futures.discard(future)

    def release(self, value: _T) -> None:
        """Give the value to all who wait now."""
        for future in self._taken():
            if not future.done():
                future.set_result(value)

    def fail(self, error: ToolError) -> None:
        """Fail all who wait now, each with an error of its own that says the same."""
        for future in self._taken():
            _fail(future, twin(error))

    def _taken(self) -> set[asyncio.Future[_T]]:
        taken, self._futures = self._futures, set()
        return taken


def twin(error: _E) -> _E:
    """Another error that says the same: one that several callers raise would collect all their tracebacks."""
    other = copy.copy(error)
    other.__dict__.update(error.__dict__)  # what a subclass adds, `ToolError` does not copy
    return other


def _fail(future: asyncio.Future[_T], error: ToolError) -> None:
    if not future.done():
        future.set_exception(error)
