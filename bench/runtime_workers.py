"""P13: one call in a warm worker process against starting a Python process that does nothing."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ratios import Row
from runtime_calls import ANSWER

from toolcrib_core import ToolError
from toolcrib_runtime import ProcessExecutor, RunnableTool, Toolbox, ToolCall, create_tool, create_toolbox

_CALLS = 2_000  # the kernel counts a worker's CPU in hundredths of a second
_SPAWNS = 5
_TEXT = '{"customer": "c-20418", "note": "Please ring twice."}'
_PROCESSES = Path("/proc")


def answer_plainly(customer: str, note: str) -> str:
    """A plain function, as the work is that belongs into another process."""
    del customer, note
    return ANSWER


async def answer_later(customer: str, note: str) -> str:
    """An async function, which gets a loop of its own in the worker."""
    del customer, note
    return ANSWER


async def warm_calls(rounds: int) -> list[Row]:
    """CPU of this process and of its children on both sides, and wall time; nothing where they cannot be had."""
    if not (_PROCESSES / "self" / "stat").exists():
        print("P13 is left out: the CPU of a running child is read from /proc", file=sys.stderr)
        return []
    tools = [create_tool(each, effects="read") for each in (answer_plainly, answer_later)]
    with on_one_core():
        return await _rows(tools, rounds)


async def _rows(tools: list[RunnableTool], rounds: int) -> list[Row]:
    async with create_toolbox(tools, executor=ProcessExecutor(workers=1)) as toolbox:
        try:
            plain, later = [await compared(_asking(toolbox, tool.id), rounds) for tool in tools]
        except ToolError as failure:
            print(f"P13 is left out: {failure}", file=sys.stderr)
            return []
    unit, what = "x cheaper", "a warm worker's call"
    return [
        Row(id="P13", what=f"{what}: CPU", ours=plain.cpu, unit=unit, target=">= 50", note=plain.note),
        Row(id="P13", what=f"{what}: wall time", ours=plain.wall, unit=unit),
        Row(id="P13", what=f"{what}: CPU, async function", ours=later.cpu, unit=unit, note=later.note),
    ]


@contextmanager
def on_one_core() -> Iterator[None]:
    """Both sides on the same core: a pipe between two cores of a shared machine costs up to ten times as much."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Comparison(NamedTuple):
    """How many calls one spawn costs."""

    cpu: float
    wall: float
    note: str


def _asking(toolbox: Toolbox, tool_id: str) -> Callable[[], Awaitable[None]]:
    async def call() -> None:
        if (await toolbox.execute(ToolCall(tool_id, _TEXT))).unwrap() != ANSWER:
            raise SystemExit("the worker did not answer")

    return call


async def compared(call: Callable[[], Awaitable[None]], rounds: int) -> Comparison:
    """A call that uses one warm process, against starting a Python that does nothing."""
    await call()
    cpu, wall = [], []
    for _ in range(rounds):
        warm, spawn = await _cost_of_calls(call), _cost_of_spawns()
        cpu.append(spawn.cpu / warm.cpu)
        wall.append(spawn.wall / warm.wall)
    note = f"{warm.cpu * 1e6:.0f} us of CPU a call, {spawn.cpu * 1e3:.1f} ms a spawn in the last round; both processes"
    return Comparison(statistics.median(cpu), statistics.median(wall), note)


async def _cost_of_calls(call: Callable[[], Awaitable[None]]) -> _Clocks:
    before = _read_clocks()
    for _ in range(_CALLS):
        await call()
    return before.each_since(_CALLS)


def _cost_of_spawns() -> _Clocks:
    before = _read_clocks()
    for _ in range(_SPAWNS):
        subprocess.run([sys.executable, "-c", "pass"], check=True)
    return before.each_since(_SPAWNS)


class _Clocks(NamedTuple):
    """Seconds of CPU of this process and its children, and seconds on the wall."""

    cpu: float
    wall: float

    def each_since(self, count: int) -> _Clocks:
        now = _read_clocks()
        return _Clocks((now.cpu - self.cpu) / count, (now.wall - self.wall) / count)


def _read_clocks() -> _Clocks:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The children that run are no part of what the system counts for those that ended.
    cpu = time.process_time() + ended.ru_utime + ended.ru_stime + _running_children_cpu()
    return _Clocks(cpu, time.perf_counter())


def _running_children_cpu() -> float:
    ticks = 0
    for entry in _PROCESSES.glob("[0-9]*"):
        try:
            # The name of the program may hold spaces and brackets, so the fields are counted from its end.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
