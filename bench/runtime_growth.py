"""P11: whether many calls at once, or very many one after the other, cost more each than few do."""

from __future__ import annotations

import asyncio
import gc
import statistics
import tracemalloc
from collections.abc import Awaitable, Callable

from ratios import Row
from runtime_calls import SAMPLES, awaited_cpu_seconds

from toolcrib_runtime import Toolbox, ToolCall, create_tool, create_toolbox

_FEW, _MANY = 1_000, 10_000
_WARM_UP = 2_000
_SLICES = 20
_MEGABYTE = 1_000_000


async def wait_a_turn(number: int) -> int:
    """Let every other call have its turn, then answer."""
    await asyncio.sleep(0)
    return number


async def parallel_calls(rounds: int) -> list[Row]:
    """CPU and peak memory per call of one `execute` with ten times as many calls."""
    tool = create_tool(wait_a_turn, effects="read")
    toolbox = create_toolbox([tool])
    rows = []
    for how, width in (("256 at a time", 256), ("all at once", _MANY)):
        run = _batch(toolbox, tool.id, width)
        growth = []
        for _ in range(rounds):
            few, many = [await awaited_cpu_seconds(run(count)) / count for count in (_FEW, _MANY)]
            growth.append(many / few)
        peaks = [await _peak_bytes(run(count)) / count for count in (_FEW, _MANY)]
        unit, what = f"x of {_FEW:,}", f"{_MANY:,} parallel calls, {how}"
        cpu, memory = f"{many * 1e6:.1f} us a call in the last round", f"{peaks[1]:,.0f} bytes a call"
        rows += [
            Row(
                id="P11",
                what=f"{what}: CPU a call",
                ours=statistics.median(growth),
                unit=unit,
                target="<= 1.5",
                note=cpu,
            ),
            Row(
                id="P11",
                what=f"{what}: memory a call",
                ours=peaks[1] / peaks[0],
                unit=unit,
                target="<= 1.5",
                note=memory,
            ),
        ]
    return rows


async def sequential_calls(toolbox: Toolbox, count: int) -> list[Row]:
    """What very many calls leave behind, and whether the last ones cost more than the first."""
    sample = SAMPLES["order"]

    async def call() -> None:
        (await toolbox.execute(ToolCall(sample.function.__name__, sample.text))).unwrap()

    size = count // _SLICES
    # Each slice against the floor of the same moment: a shared machine is not as fast late as it was early.
    costs = [
        await awaited_cpu_seconds(call, repeat=size) / await awaited_cpu_seconds(sample.floor, repeat=size)
        for _ in range(_SLICES)
    ]
    third = _SLICES // 3
    drift = statistics.median(costs[-third:]) / statistics.median(costs[:third])
    what = f"{count:,} calls one after the other"
    return [
        Row(id="P11", what=f"{what}: CPU of late ones", ours=drift, unit="x early ones", target="<= 1.2"),
        Row(id="P11", what=f"{what}: memory left", ours=await _left_over(call, count), unit="MB", target="<= 1"),
    ]


def _batch(toolbox: Toolbox, tool_id: str, width: int) -> Callable[[int], Callable[[], Awaitable[None]]]:
    def prepare(count: int) -> Callable[[], Awaitable[None]]:
        calls = [ToolCall(tool_id, {"number": number}) for number in range(count)]

        async def run() -> None:
            results = await toolbox.execute(calls, max_parallel=width)
            if [result.value for result in results] != list(range(count)):
                raise SystemExit("a call of the batch did not answer")

        return run

    return prepare


async def _peak_bytes(work: Callable[[], Awaitable[None]]) -> float:
    gc.collect()
    tracemalloc.start()
    try:
        await work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def _left_over(call: Callable[[], Awaitable[None]], count: int) -> float:
    tracemalloc.start()
    try:
        held = []
        for calls in (_WARM_UP, count):
            for _ in range(calls):
                await call()
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    return (held[1] - held[0]) / _MEGABYTE
