"""What the end of a child process means: which error it is, and what of its words is shown."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolcrib_core import ToolErrorCategory
from toolcrib_core.wording import count, quoted
from toolcrib_runtime.errors import (
    DeadlineExceeded,
    OutputTooLarge,
    ProcessError,
    ProcessExited,
    ProcessKilled,
    ProcessLimitReached,
    ProcessNotStarted,
)
from toolcrib_runtime.guards.process.limits import LIMIT_WORDS, ProcessLimits

STATUS_UNKNOWN: Final = 255
"""The exit status of a child that somebody else in this process has waited for."""

_MAX_EXCERPT = 2_000
_NOT_EXECUTABLE = 126
_NOT_FOUND = 127
_SHELL_SIGNALS = 128
_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-_])")
_SIGNAL_LIMITS = {signal.SIGXCPU: "cpu_seconds", signal.SIGXFSZ: "file_bytes"}
# A limit on memory or open files shows only as a refused system call, and what the program says about it.
_LIMIT_PHRASES = {
    "memory_bytes": (
        "MemoryError",
        "Cannot allocate memory",
        "ut of memory",
        "bad_alloc",
        "Allowed memory size",
        "ENOMEM",
    ),
    "open_files": ("Too many open files", "EMFILE"),
    "file_bytes": ("File too large", "File size limit exceeded", "EFBIG"),
}


@dataclass(frozen=True, kw_only=True)
class ProcessEnd:
    """How one process ended, as far as its error depends on it; a negative status is the number of a signal."""

    name: str
    status: int
    stderr: bytes
    cpu_seconds: float
    limits: ProcessLimits | None
    private: str
    escaped: tuple[int, ...] = ()


def fault_of(end: ProcessEnd) -> ProcessError | None:
    """The error that an end means; `None` for exit status 0."""
    if end.status == 0:
        return None
    if (limit := _limit_reached(end)) is not None:
        return limit_error(end, limit)
    if end.status < 0:
        return ProcessKilled(
            f"The program {quoted(end.name)} was ended by the signal {_signal_name(-end.status)}.",
            hint="See what it wrote to standard error. SIGKILL may mean that the machine ran out of memory.",
            details={"signal": _signal_name(-end.status), **_last_words(end)},
        )
    if end.status in {_NOT_EXECUTABLE, _NOT_FOUND}:
        return _not_started(end)
    return ProcessExited(
        f"The program {quoted(end.name)} ended with exit status {end.status}.",
        hint="See what it wrote to standard error.",
        details={"status": end.status, **_last_words(end)},
    )


def deadline_error(end: ProcessEnd, seconds: float) -> DeadlineExceeded:
    """The error of a program that was stopped because its time was over."""
    return DeadlineExceeded(
        f"The program {quoted(end.name)} did not end within {seconds:g} s, and was stopped.",
        hint="Ask for less at once, or allow more time.",
        details=_last_words(end),
    )


def limit_error(end: ProcessEnd, limit: str) -> ProcessLimitReached:
    """The error of a program that ran into a limit, which is named as in `ProcessLimits`."""
    return ProcessLimitReached(
        f"The program {quoted(end.name)} ran into its limit on {LIMIT_WORDS[limit]}.",
        hint="Ask for less at once, or allow it more.",
        details={"limit": limit, "allowed": getattr(end.limits, limit), **_last_words(end)},
    )


def too_large_error(name: str, *, limit: int, head: str) -> OutputTooLarge:
    """The error of a program that wrote more to standard output than is taken."""
    return OutputTooLarge(
        f"The program {quoted(name)} wrote more than {count(limit, 'byte')} to standard output, and was stopped.",
        hint="Ask for less at once, or narrow the question.",
        details={"stream": "stdout", "limit": limit, "head": head},
    )


def head_of(raw: bytes, private: str) -> str:
    """The beginning of some output: printable, bounded, without the path of the private directory."""
    return _readable(raw[: 4 * _MAX_EXCERPT], private)[:_MAX_EXCERPT]


def tail_of(raw: bytes, private: str) -> str:
    """The end of some output: printable, bounded, without the path of the private directory."""
    return _readable(raw[-4 * _MAX_EXCERPT :], private)[-_MAX_EXCERPT:]


def _readable(raw: bytes, private: str) -> str:
    text = _ESCAPES.sub("", raw.decode("utf-8", "replace").replace("\r\n", "\n"))
    if private:
        text = text.replace(private, "$TMPDIR")
    return "".join(each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in text)


def _limit_reached(end: ProcessEnd) -> str | None:
    if end.limits is None:
        return None
    # A shell passes a signal on as 128 and its number.
    number = -end.status if end.status < 0 else end.status - _SHELL_SIGNALS
    by_signal = next((limit for each, limit in _SIGNAL_LIMITS.items() if each == number), None)
    cpu = end.limits.cpu_seconds
    if number == signal.SIGKILL and cpu is not None and end.cpu_seconds >= cpu:
        by_signal = "cpu_seconds"
    return by_signal or _limit_in_words(end.stderr.decode("utf-8", "replace"), end.limits)


def _limit_in_words(stderr: str, limits: ProcessLimits) -> str | None:
    said = stderr[-_MAX_EXCERPT:]
    for limit, phrases in _LIMIT_PHRASES.items():
        if getattr(limits, limit) is not None and any(phrase in said for phrase in phrases):
            return limit
    return None


def _not_started(end: ProcessEnd) -> ProcessNotStarted:
    what = "was not found" if end.status == _NOT_FOUND else "could not be executed"
    return ProcessNotStarted(
        f"{quoted(end.name)}, or a program that it starts, {what} (exit status {end.status}).",
        category=ToolErrorCategory.NOT_FOUND,
        hint="Install the missing program, or declare a `PATH` that has it.",
        details={"status": end.status, **_last_words(end)},
    )


def _last_words(end: ProcessEnd) -> Mapping[str, object]:
    words: dict[str, object] = {"stderr": tail_of(end.stderr, end.private)}
    return words | {"escaped": len(end.escaped)} if end.escaped else words


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)  # a real-time signal
