"""What a child process may use: memory, CPU time, file size, open files, processes."""

from __future__ import annotations

import resource
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import ProcessNotStarted

_MIB = 1024 * 1024
_GIB = 1024 * _MIB

LIMIT_WORDS: Final = {
    "memory_bytes": "memory",
    "cpu_seconds": "CPU time",
    "file_bytes": "file size",
    "open_files": "open files",
    "processes": "processes",
}
"""Each limit as an error names it."""

_RESOURCES = {
    "memory_bytes": "as",
    "cpu_seconds": "cpu",
    "file_bytes": "fsize",
    "open_files": "nofile",
}


@dataclass(frozen=True, kw_only=True)
class ProcessLimits:
    """The limits of a process tree; `None` sets none. No process leaves a core file, whatever is set here.

    The kernel counts memory, CPU time, file size and open files for every process by itself, so a tree may use a
    multiple of them. Memory is address space: a runtime that reserves much and uses little (WebAssembly in Node) needs
    a larger number. `processes` is the size of the whole tree; it is counted a few times a second, on Linux only.

    Raises:
        ProcessNotStarted: A limit is not a positive number.
    """

    memory_bytes: int | None = 4 * _GIB
    cpu_seconds: int | None = 60
    file_bytes: int | None = 256 * _MIB
    open_files: int | None = 1024
    processes: int | None = 256

    def __post_init__(self) -> None:
        wrong = [each.name for each in fields(self) if (limit := getattr(self, each.name)) is not None and limit < 1]
        if wrong:
            raise ProcessNotStarted(
                f"A limit is less than 1: `{wrong[0]}`.",
                category=ToolErrorCategory.VALIDATION,
                hint="Give a positive number, or `None` for no limit.",
            )


LONG_LIVED: Final = ProcessLimits(cpu_seconds=None, processes=None)
"""The limits of a server or worker that stays: CPU time would add up over all its calls, and counting never end."""


class Rlimit(NamedTuple):
    """One resource limit as the kernel takes it; `name` is that of `prlimit`'s option and of `RLIMIT_<NAME>`."""

    name: str
    soft: int
    hard: int


def rlimits(limits: ProcessLimits) -> tuple[Rlimit, ...]:
    """The limits for the kernel, none above what this process may hand on."""
    wanted = {name: getattr(limits, each) for each, name in _RESOURCES.items()} | {"core": 0}
    return tuple(_capped(name, limit) for name, limit in wanted.items() if limit is not None)


def _capped(name: str, limit: int) -> Rlimit:
    ceiling = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
    # SIGXCPU comes at the soft limit and tells what happened; a process that ignores it is killed at the hard one.
    hard = limit + 1 if name == "cpu" else limit
    if ceiling == resource.RLIM_INFINITY:
        return Rlimit(name, limit, hard)
    return Rlimit(name, min(limit, ceiling), min(hard, ceiling))
