"""What a worker process does to itself before it serves, and how it sees what a call left behind."""

from __future__ import annotations

import ctypes
import io
import os
import signal
import sys
import time
from typing import Final, NamedTuple

_PR_SET_CHILD_SUBREAPER = 36
# A process that was killed just now needs a moment to be gone.
_TRIES = 20
_PAUSE = 0.005


class Streams(NamedTuple):
    """Three descriptors."""

    stdin: int
    stdout: int
    stderr: int


STANDARD_STREAMS: Final = Streams(stdin=0, stdout=1, stderr=2)
"""Those that every process is started with."""


def take_over(streams: Streams) -> tuple[int, int]:
    """Keep the pipes to the parent for frames; gives those of requests and answers.

    From then on a tool that prints writes to standard error, and one that reads finds nothing. The programs that it
    starts do not inherit the pipes.
    """
    requests, answers = os.dup(streams.stdin), os.dup(streams.stdout)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, streams.stdin)
    os.close(nothing)
    os.dup2(streams.stderr, streams.stdout)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The last words before a crash are worth more than a write saved.
        sys.stdout.reconfigure(line_buffering=True)
    return requests, answers


def exit_on_sigterm() -> None:
    """Let SIGTERM end this process as `sys.exit` does, with what was registered for the exit."""
    signal.signal(signal.SIGTERM, _exit)


def adopt_orphans() -> None:
    """Become the parent of every process that a tool leaves behind, however deep it was: then none is missed."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def has_children() -> bool:
    """Whether a process is left that still runs; those that have ended are collected."""
    for _ in range(_TRIES):
        if not _has_living_children():
            return False
        time.sleep(_PAUSE)
    return True


def _has_living_children() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _exit(*_: object) -> None:
    raise SystemExit
