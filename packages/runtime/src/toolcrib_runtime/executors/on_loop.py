"""Async handlers, driven on the event loop within the caller's task."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, Final

from toolcrib_runtime.cancellation import STOPPED
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

    What it raises arrives as `HandlerRaised`. When the runtime stops it and it does not end, it is closed after the
    grace: its `finally` blocks run, and nothing of it lives on. Any other cancellation may be one of its own, as
    `asyncio.timeout` makes them; over those it may take as long as it likes.
    """

    _task: asyncio.Task[Any] | None = None
    _timer: Timer | None = None
    _thrown: BaseException | None = None
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
            if not self._is_cancelled():
                raise HandlerRaised(raised) from raised
            if isinstance(raised, asyncio.CancelledError):
                raise
            raise asyncio.CancelledError from raised  # turned into something else, but meant for whoever awaits it
        finally:
            if forks.generation != generation:  # pragma: no cover  # the copy is not measured
                forks.end_copy()
            if (taken := monotonic() - started) > BLOCKED_SECONDS:
                self._work.emit("blocked_loop", seconds=round(taken, 3))

    def _suspended(self) -> None:
        self._task = asyncio.current_task()
        self._before = 0 if self._task is None else self._task.cancelling()

    def _throw(self, thrown: BaseException) -> Any:
        if self._given_up and isinstance(thrown, asyncio.CancelledError):
            self._close()
            raise thrown
        self._thrown = thrown
        waiting = super()._throw(thrown)
        # It waits for something else instead of ending.
        if self._is_cancelled() and STOPPED in thrown.args and self._timer is None:
            clock = self._work.clock
            self._timer = clock.call_at(clock.monotonic() + self._grace, self._give_up)
        return waiting

    def _finished(self, value: object) -> object:
        if self._is_cancelled():
            raise asyncio.CancelledError  # swallowed by the handler, but meant for whoever awaits it
        return value

    def _ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._given_up and self._task is not None:
            self._task.uncancel()

    def _give_up(self) -> None:
        if self._task is not None:  # pragma: no branch  # what has no task was never given a timer
            self._given_up = True
            self._task.cancel()

    def _close(self) -> None:
        try:
            self._context.run(self._coroutine.close)
        except BaseException:  # noqa: BLE001  # it refused even this, or failed on its way out; nobody waits for it
            if len(_unclosable) < _MAX_KEPT:
                _unclosable.append(self._coroutine)
        self._work.emit("abandoned", reason="the handler went on after it was cancelled")

    def _is_cancelled(self) -> bool:
        """Whether somebody outside has cancelled it; what it does to itself is taken back when it is over."""
        if self._task is None:
            return False
        thrown, self._thrown = self._thrown, None
        if _GROUPS_FORGET and thrown is not None and _is_of_own_group(thrown):
            self._task.uncancel()
        return self._task.cancelling() > self._before


# A bug of CPython: a task group that waits for its tasks, one of which fails, cancels its own task and does not take
# that back. As the handler runs in the caller's task, the caller would look cancelled for ever.
_GROUPS_FORGET = sys.version_info < (3, 13)
_END_OF_A_GROUP = asyncio.TaskGroup.__aexit__.__code__


def _is_of_own_group(thrown: BaseException) -> bool:
    """Whether the exception ended in a task group that had asked for it."""
    frames = (frame for frame, _ in traceback.walk_tb(thrown.__traceback__) if frame.f_code is _END_OF_A_GROUP)
    return any(frame.f_locals["self"]._parent_cancel_requested for frame in frames)  # noqa: SLF001  # nothing else tells
