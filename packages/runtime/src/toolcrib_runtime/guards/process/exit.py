"""Hearing that a child process has ended."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from toolcrib_runtime.guards.process.outcome import STATUS_UNKNOWN
from toolcrib_runtime.guards.process.tree import open_pidfd

_FIRST_LOOK = 0.001
_LONGEST_PAUSE = 0.05


class ExitWatch:
    """Calls back once, on the event loop, when a child has ended.

    With a pidfd (Linux) the child is then still a zombie, so its number cannot belong to anybody else while the rest of
    its tree is killed. Elsewhere the watch looks again and again, and has already reaped it.
    """

    def __init__(self, pid: int, on_end: Callable[[], None]) -> None:
        self._pid = pid
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._reaped: tuple[int, float] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._handle = open_pidfd(pid)
        if self._handle is None:
            self._look_after(_FIRST_LOOK)
        else:
            self._loop.add_reader(self._handle, on_end)

    def reap(self) -> tuple[int, float]:
        """The exit status (negative for a signal) and the CPU seconds of a child that has ended."""
        if self._reaped is None:
            self._reaped = _wait(self._pid, 0)
        return self._reaped or (STATUS_UNKNOWN, 0.0)

    def close(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.cancel()
        if self._handle is not None:
            self._loop.remove_reader(self._handle)
            os.close(self._handle)
            self._handle = None

    def _look_after(self, pause: float) -> None:
        self._timer = self._loop.call_later(pause, self._look, pause)

    def _look(self, pause: float) -> None:
        self._reaped = _wait(self._pid, os.WNOHANG)
        if self._reaped is None:
            self._look_after(min(2 * pause, _LONGEST_PAUSE))
        else:
            self._on_end()


def _wait(pid: int, options: int) -> tuple[int, float] | None:
    try:
        found, status, usage = os.wait4(pid, options)
    except ChildProcessError:
        return STATUS_UNKNOWN, 0.0
    return (os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime) if found else None
