"""What a served gateway holds, and whether it holds more than it did; Linux only."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tests.reference.processes import run, status_command

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_MEBIBYTE: Final = 2**20
_READINGS: Final = 10
_APART: Final = 0.3
_SETTLING: Final = 2.0
_STATUS_SECONDS: Final = 120


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What a served gateway holds while nobody asks for anything."""

    memory: float
    """MiB that are resident."""
    descriptors: int
    threads: int
    processes: int
    """Itself, and everything that descends from it."""
    tasks: int
    """Of its event loop, as it tells itself."""
    sessions: int
    """As it tells itself."""


GROWTH: Final = Sample(memory=32.0, descriptors=16, threads=4, processes=2, tasks=24, sessions=8)
"""By how much each may be more at the end than after the warm-up.

Two servers come and go, with their pipes; a client that had just left may have come again, with its streams.
"""


async def sample_at_rest(pid: int, config: Path) -> Sample:
    """The least of several readings, and what it then tells: what is about to be let go of is not held."""
    since = time.time() + _SETTLING
    readings = []
    for _ in range(_READINGS):
        readings.append(read_process(pid))
        await asyncio.sleep(_APART)
    seen = {what: min(each[what] for each in readings) for what in readings[0]}
    held = await _told_after(since, config)
    return Sample(**seen, tasks=held["tasks"], sessions=held["sessions"])  # type: ignore[arg-type]  # whole numbers, all but one


async def sample_within(bounds: Sample, pid: int, config: Path, *, patience: float) -> Sample:
    """As `sample_at_rest`, again until nothing is beyond the bounds or the patience is over."""
    ends = time.monotonic() + patience
    while True:
        sample = await sample_at_rest(pid, config)
        if not grown(bounds, sample) or time.monotonic() > ends:
            return sample


def read_process(pid: int) -> dict[str, float]:
    """What can be seen of it from outside, right now."""
    home = Path(f"/proc/{pid}")
    return {
        "memory": round(int((home / "statm").read_text().split()[1]) * _PAGE / _MEBIBYTE, 1),
        "descriptors": len(list((home / "fd").iterdir())),
        "threads": len(list((home / "task").iterdir())),
        "processes": _tree_size(pid),
    }


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


async def _told_after(moment: float, config: Path) -> dict[str, int]:
    """What the gateway says that it holds, by a status that it wrote after a moment; it renews it every ten seconds."""
    async with asyncio.timeout(_STATUS_SECONDS):
        while True:
            _, printed, said = await run(status_command(config, "--json"), seconds=_STATUS_SECONDS)
            if not printed:
                raise RuntimeError(f"there is no status: {said}")
            process: dict[str, Any] = json.loads(printed)["process"]
            if process["writtenAt"] > moment:
                held: dict[str, int] = process["held"]
                return held
            await asyncio.sleep(1)


def _tree_size(pid: int) -> int:
    size = 1
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = (task / "children").read_text().split()
            size += sum(_tree_size(int(child)) for child in children)
    return size
