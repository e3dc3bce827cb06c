"""What a process holds, and whether it holds more than it did; Linux only."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_MEBIBYTE: Final = 2**20
_READINGS: Final = 10
_APART: Final = 0.3


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What a served gateway holds while nobody asks for anything."""

    memory: float
    """MiB that are resident."""
    descriptors: int
    threads: int
    processes: int
    """Itself, and everything that descends from it."""


GROWTH: Final = Sample(memory=32.0, descriptors=16, threads=4, processes=2)
"""By how much each may be more at the end than after the warm-up; two servers come and go, with their pipes."""


async def sample_at_rest(pid: int) -> Sample:
    """The least of several readings: what is about to be let go of is not held."""
    readings = []
    for _ in range(_READINGS):
        readings.append(read_sample(pid))
        await asyncio.sleep(_APART)
    return Sample(
        memory=min(each.memory for each in readings),
        descriptors=min(each.descriptors for each in readings),
        threads=min(each.threads for each in readings),
        processes=min(each.processes for each in readings),
    )


def read_sample(pid: int) -> Sample:
    """What it holds right now."""
    home = Path(f"/proc/{pid}")
    return Sample(
        memory=round(int((home / "statm").read_text().split()[1]) * _PAGE / _MEBIBYTE, 1),
        descriptors=len(list((home / "fd").iterdir())),
        threads=len(list((home / "task").iterdir())),
        processes=_tree_size(pid),
    )


def grown(before: Sample, after: Sample, allowed: Sample = GROWTH) -> list[str]:
    """What is more than it may be, in a sentence each."""
    then, now, bounds = asdict(before), asdict(after), asdict(allowed)
    return [
        f"{what} grew from {then[what]:g} to {now[what]:g}, and may by {bounds[what]:g}"
        for what in then
        if now[what] - then[what] > bounds[what]
    ]


def is_alive(pid: int, marker: str) -> bool:
    """Whether a process of that id lives, and has the marker in its command line: ids are given out again."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return marker in Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return False


def _tree_size(pid: int) -> int:
    size = 1
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = (task / "children").read_text().split()
            size += sum(_tree_size(int(child)) for child in children)
    return size
