"""Calls per second through the transparent proxy as more of them are made at once, directly and through peers.

    uv run python bench/concurrency.py [--quick] [--json] [--peers]

Client, proxy and server share the cores of one machine, so the figures say how ways compare and not how fast they are.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from proxy_paths import Way, opened, stdio_paths
from ratios import Row, parser, report

_WARM_UP = 20
_OURS = "transparent"


async def rates(folder: Path, widths: tuple[int, ...], *, rounds: int, calls: int, install: bool) -> list[Row]:
    """Every way is open at once, and they are asked in turns; the median of the rounds counts."""
    paths = [each for each in stdio_paths(folder, install=install) if each.name != "tool_execute"]
    taken: dict[tuple[int, str], list[float]] = {}
    async with AsyncExitStack() as stack:
        ways = [await stack.enter_async_context(opened(path)) for path in paths]
        for way in ways:
            await _calls_per_second(way, 1, _WARM_UP)
        for _ in range(rounds):
            for width in widths:
                for way in ways:
                    rate = await _calls_per_second(way, width, max(calls, 4 * width))
                    taken.setdefault((width, way.path.name), []).append(rate)
    return [_row(width, taken, [path.name for path in paths]) for width in widths]


def _row(width: int, taken: dict[tuple[int, str], list[float]], names: list[str]) -> Row:
    medians = {name: round(statistics.median(taken[width, name]), 1) for name in names}
    ours = medians.pop(_OURS)
    return Row(id="calls", what=f"calls through the proxy, {width} at once", ours=ours, unit="calls/s", peers=medians)


async def _calls_per_second(way: Way, width: int, calls: int) -> float:
    numbers = iter(range(calls))

    async def caller() -> None:
        for number in numbers:
            await way.call(f"w{width}-{number}")

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(width):
            group.create_task(caller())
    return calls / (time.perf_counter() - begun)


async def main() -> None:
    """Measure and print."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--peers", action="store_true", help="install the peers that are missing into bench/peers/")
    options = arguments.parse_args()
    widths, rounds, calls = ((1, 8, 64), 3, 60) if options.quick else ((1, 4, 16, 64, 256), 5, 400)
    with tempfile.TemporaryDirectory() as folder:
        rows = await rates(Path(folder), widths, rounds=rounds, calls=calls, install=options.peers)
    report("concurrency", rows, as_json=options.json)


if __name__ == "__main__":
    asyncio.run(main())
