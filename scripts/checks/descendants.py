"""Processes that outlive the one that started them: found, because orphans come to us, and ended."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_SET_CHILD_SUBREAPER: Final = 36
_PAUSE: Final = 0.1


def adopt_orphans() -> bool:
    """Have every descendant whose parent ends become our child, whatever session it is in; Linux can."""
    with suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    return False


def descendants() -> dict[int, str]:
    """Every living process that descends from this one, with its command line."""
    found: dict[int, str] = {}
    waiting = [os.getpid()]
    while waiting:
        for child in _children(waiting.pop()):
            waiting.append(child)
            if not _is_zombie(child):
                found[child] = _read(child, "cmdline").replace("\0", " ").strip()
    return found


def end_descendants(*, patience: float) -> dict[int, str]:
    """Wait until no descendant is left, kill those that stay, and tell which they were.

    Only for a process that waits for nothing else: ended children are reaped, whoever started them.
    """
    ends = time.monotonic() + patience
    _reap()
    while (left := descendants()) and time.monotonic() < ends:
        time.sleep(_PAUSE)
        _reap()
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while descendants():
        time.sleep(_PAUSE)
        _reap()
    return left


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _children(pid: int) -> list[int]:
    with suppress(FileNotFoundError, ProcessLookupError):
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in _children_of(task)]
    return []


def _children_of(task: Path) -> list[str]:
    with suppress(FileNotFoundError, ProcessLookupError):
        return (task / "children").read_text().split()
    return []


def _is_zombie(pid: int) -> bool:
    return _read(pid, "stat").rpartition(")")[2].split()[:1] in ([], ["Z"], ["X"])


def _read(pid: int, name: str) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    return ""
