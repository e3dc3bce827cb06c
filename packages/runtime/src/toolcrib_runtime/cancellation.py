"""Taking calls back, and stopping them when their time is over."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from toolcrib_core import ToolError
from toolcrib_core.wording import shown
from toolcrib_runtime.clock import Clock, Timer
from toolcrib_runtime.driving import Driven
from toolcrib_runtime.errors import CallCancelled, DeadlineExceeded

STOPPED: Final = "the runtime stopped the call"
"""The message of a cancellation that is the runtime's, and neither the caller's nor the tool's own."""

_T = TypeVar("_T")


class Cancellation:
    """A switch that takes calls back; any number of calls may hang on one, and any thread may turn it.

    A call that is running is stopped, one that is queued leaves the queue, one that comes later does not start. All of
    them end with the category `cancelled`.
    """

    __slots__ = ("_listeners", "_reason")

    def __init__(self) -> None:
        self._reason: str | None = None
        self._listeners: dict[object, Callable[[], object]] = {}

    @property
    def is_cancelled(self) -> bool:
        """Whether it was turned."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why, in words."""
        return self._reason

    def cancel(self, reason: str = "the caller took it back") -> None:
        """Turn the switch; a second time changes nothing."""
        if self._reason is None:
            self._reason = shown(reason)
            for listener in list(self._listeners.values()):
                listener()

    def on_cancel(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call the listener once when the switch is turned; call what is returned to take it off."""
        key = object()
        self._listeners[key] = listener
        if self.is_cancelled:
            listener()
        return lambda: self._listeners.pop(key, None) and None

    def error(self) -> CallCancelled:
        """What a call that was taken back ends with."""
        return CallCancelled(f"The call was cancelled: {self._reason or 'no reason given'}.")


class CallScope:
    """How long one call may go on: until its deadline, or until it is taken back.

    The caller's own cancellation (`task.cancel()`) passes through untouched, also when it meets one of ours.
    """

    def __init__(self, *, clock: Clock, deadline: float | None, cancellation: Cancellation | None) -> None:
        self.clock = clock
        self.deadline = deadline
        self.cancellation = cancellation
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[Any] | None = None
        self._before = 0
        self._cause: ToolError | None = None
        self._stopped: Cancellation | None = None
        self._timer: Timer | None = None
        self._off: Callable[[], None] | None = None

    def check(self) -> None:
        """Raise if the call is over before it begins.

        Raises:
            CallCancelled: It was taken back.
            DeadlineExceeded: Its time is over.
        """
        if self.cancellation is not None and self.cancellation.is_cancelled:
            raise self.cancellation.error()
        if self.deadline is not None and self.clock.monotonic() >= self.deadline:
            raise too_late()

    def run(self, work: Coroutine[Any, Any, _T]) -> Driven[_T]:
        """Await the work within this scope.

        Raises:
            CallCancelled: It was taken back; the work was stopped.
            DeadlineExceeded: Its time ran out; the work was stopped.
        """
        return _Scoped(self, work)

    def resume(self, work: Coroutine[Any, Any, _T], waits_for: object) -> Driven[_T]:
        """Await the rest of work that was started, and waits for something; otherwise as `run`."""
        scoped = _Scoped(self, work)
        scoped._started, scoped._waits_for = True, waits_for  # noqa: SLF001  # its own class, further down
        return scoped

    def stopped(self) -> Cancellation:
        """A switch that is turned when the call is stopped in whatever way, or has ended; for the tool to look at."""
        if self._stopped is None:
            self._stopped = Cancellation()
        return self._stopped

    def call_on_loop(self, callback: Callable[[], object]) -> None:
        """Call back on the loop of the call, from any thread; not at all if it has closed."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)

    def arm(self) -> None:
        """Watch the clock and the switch from now on, for the current task."""
        self._task = asyncio.current_task()
        self._before = self._task.cancelling() if self._task else 0
        if self.deadline is not None:
            self._timer = self.clock.call_at(self.deadline, lambda: self._interrupt(too_late()))
        switch = self.cancellation
        if switch is not None:
            # The switch may be turned by any thread, and by the very task that is to be stopped.
            self._off = switch.on_cancel(lambda: self.call_on_loop(lambda: self._interrupt(switch.error())))

    def disarm(self) -> None:
        """Watch no longer.

        Raises:
            ToolError: It was this scope, and nobody else, that stopped the work.
        """
        if self._timer is not None:
            self._timer.cancel()
        if self._off is not None:
            self._off()
        if self._stopped is not None:
            self._stopped.cancel("the call has ended")
        task, self._task = self._task, None
        if task is None:
            return
        cancelling = task.cancelling() if self._cause is None else task.uncancel()
        if cancelling <= self._before:
            if self._cause is not None:
                raise self._cause
        elif not isinstance(sys.exception(), asyncio.CancelledError):
            raise asyncio.CancelledError  # the caller's own, which a middleware made something else of

    def _interrupt(self, cause: ToolError) -> None:
        if self._cause is None and self._task is not None:
            self._cause = cause
            self._task.cancel(STOPPED)
            if self._stopped is not None:
                self._stopped.cancel(cause.message)


class _Scoped(Driven[_T]):
    def __init__(self, scope: CallScope, work: Coroutine[Any, Any, _T]) -> None:
        super().__init__(work)
        self._scope = scope

    def _suspended(self) -> None:
        self._scope.arm()

    def _ended(self) -> None:
        self._scope.disarm()


def too_late() -> DeadlineExceeded:
    """What a call ends with whose time is over."""
    return DeadlineExceeded(
        "The call did not end within its time.",
        hint="Ask for less at once, or allow more time.",
    )
