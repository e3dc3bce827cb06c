"""Async handlers, driven on the event loop within the caller's task."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, Final

from toolcrib_runtime.clock import Timer
from toolcrib_runtime.driving import Driven
from toolcrib_runtime.executors import forks
from toolcrib_runtime.executors.protocol import HandlerRaised, Work

BLOCKED_SECONDS: Final = 0.1
"""A step that takes longer keeps every other call of the loop waiting, and is told."""

_MAX_KEPT = 1_000
# Coroutines that refuse to be closed. Dropping one would have the interpreter complain about it at some later time.
_unclosable: list[Coroutine[Any, Any, object]] = []


class OnLoop(Driven[object]):
    """One run of an async handler.

    What it raises arrives as `HandlerRaised`. When it is cancelled and does not end, it is closed after the grace: its
    `finally` blocks run, and nothing of it lives on.
    """

    _task: asyncio.Task[Any] | None = None
    _timer: Timer | None = None
    _before = 0
    _given_up = False

    def __init__(self, coroutine: Coroutine[Any, Any, object], work: Work, *, grace: float) -> None:
        self._coroutine = coroutine
        self._work = work
        self._grace = grace
        # What the handler sets in the context stays in its call.
        self._context = contextvars.copy_context()

    def _step(self, resume: Callable[[Any], Any], argument: object) -> Any:
        generation, monotonic = forks.generation, self._work.clock.monotonic
        started = monotonic()
        try:
            return self._context.run(resume, argument)
        except StopIteration:
            raise
        except BaseException as raised:  # SystemExit too: a tool may not end the process.
            if self._cancelling() <= self._before:
                raise HandlerRaised(raised) from raised
            if isinstance(raised, asyncio.CancelledError):
                raise
            raise asyncio.CancelledError from raised  # turned into something else, but meant for whoever awaits it
        finally:
            if forks.generation != generation:
                forks.end_copy()
            if (taken := monotonic() - started) > BLOCKED_SECONDS:
                self._work.emit("blocked_loop", seconds=round(taken, 3))

    def _suspended(self) -> None:
        self._task = asyncio.current_task()
        self._before = self._cancelling()

    def _throw(self, thrown: BaseException) -> Any:
        if self._given_up and isinstance(thrown, asyncio.CancelledError):
            self._close()
            raise thrown
        waiting = super()._throw(thrown)
        # It waits for something else instead of ending. That is its right if the cancellation was one of its own, as
        # `asyncio.timeout` makes; then it has been taken back by now.
        if self._timer is None and self._cancelling() > self._before:
            clock = self._work.clock
            self._timer = clock.call_at(clock.monotonic() + self._grace, self._give_up)
        return waiting

    def _finished(self, value: object) -> object:
        if self._task is not None and self._cancelling() > self._before:
            raise asyncio.CancelledError  # swallowed by the handler, but meant for whoever awaits it
        return value

    def _ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._given_up and self._task is not None:
            self._task.uncancel()

    def _give_up(self) -> None:
        if self._task is not None:
            self._given_up = True
            self._task.cancel()

    def _close(self) -> None:
        try:
            self._context.run(self._coroutine.close)
        except BaseException:  # noqa: BLE001  # it refused even this, or failed on its way out; nobody waits for it
            if len(_unclosable) < _MAX_KEPT:
                _unclosable.append(self._coroutine)
        self._work.emit("abandoned", reason="the handler went on after it was cancelled")

    def _cancelling(self) -> int:
        return self._task.cancelling() if self._task is not None else 0
