"""The proxy against a direct connection and against other proxies: CPU of the whole process tree for each call.

uv run python bench/proxy.py [--quick] [--json] [--peers]
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from process_trees import cpu_seconds_of
from proxy_paths import PathTo, Way, http_paths, opened, stdio_paths
from proxy_start import answer_rows, start_rows
from ratios import Row, parser, report

_CONCURRENT = 32
_WARM_UP = 20


@dataclass
class Cost:
    """What one way cost in each round: CPU seconds for a call, in turn and 32 at once, and the waits of the latter."""

    alone: list[float] = field(default_factory=list)
    together: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    @property
    def p99(self) -> float:
        """The wait that one call in a hundred exceeds."""
        return sorted(self.waits)[int(len(self.waits) * 0.99)]


async def measured(paths: list[PathTo], *, rounds: int, calls: int) -> dict[str, Cost]:
    """All ways open at once, and asked in turns, so that the machine's moods meet them alike."""
    costs = {path.name: Cost() for path in paths}
    async with AsyncExitStack() as stack:
        ways = [await stack.enter_async_context(opened(path)) for path in paths]
        for way in ways:
            await _in_turn(way, _WARM_UP)
        for _ in range(rounds):
            for way in ways:
                cost = costs[way.path.name]
                cost.alone.append(await _in_turn(way, calls))
                used, waits = await _at_once(way, calls)
                cost.together.append(used)
                cost.waits.extend(waits)
    return costs


async def _in_turn(way: Way, calls: int) -> float:
    before = cpu_seconds_of(way.pids)
    for number in range(calls):
        await way.call(f"n{number}")
    return (cpu_seconds_of(way.pids) - before) / calls


async def _at_once(way: Way, calls: int) -> tuple[float, list[float]]:
    waits: list[float] = []
    numbers = iter(range(calls))

    async def caller() -> None:
        for number in numbers:
            begun = time.perf_counter()
            await way.call(f"c{number}")
            waits.append(time.perf_counter() - begun)

    before = cpu_seconds_of(way.pids)
    async with asyncio.TaskGroup() as group:
        for _ in range(_CONCURRENT):
            group.create_task(caller())
    return (cpu_seconds_of(way.pids) - before) / calls, waits


def rows_of(costs: Mapping[str, Cost], ours: Mapping[str, str | None], *, row_id: str) -> list[Row]:
    """The ratios to the direct way, ours with those of the peers beside them."""
    direct = costs["direct"]
    theirs = {name: cost for name, cost in costs.items() if name not in ours and name != "direct"}
    rows = []
    for name, target in ours.items():
        cost = costs[name]
        peers = {peer: round(_ratio(each.alone, direct.alone), 2) for peer, each in theirs.items()}
        rows.append(
            Row(
                id=row_id,
                what=f"{name}, in turn",
                ours=_ratio(cost.alone, direct.alone),
                unit="x direct",
                target=target,
                peers=peers,
            )
        )
        peers = {peer: round(_ratio(each.together, direct.together), 2) for peer, each in theirs.items()}
        rows.append(
            Row(
                id=row_id,
                what=f"{name}, {_CONCURRENT} at once",
                ours=_ratio(cost.together, direct.together),
                unit="x direct",
                target=target,
                peers=peers,
            )
        )
    return rows


def concurrency_rows(costs: Mapping[str, Cost], name: str, what: str) -> list[Row]:
    """What a call costs among 32, against alone; and how long the slowest wait, against direct."""
    direct, cost = costs["direct"], costs[name]
    added = [mine - floor for mine, floor in zip(cost.alone, direct.alone, strict=True)]
    added_together = [mine - floor for mine, floor in zip(cost.together, direct.together, strict=True)]
    return [
        Row(
            id="P4",
            what=f"{what}: CPU added to a call, {_CONCURRENT} at once",
            ours=statistics.median(added_together) / statistics.median(added),
            unit="x in turn",
            target="<= 1.1",
        ),
        Row(
            id="P4",
            what=f"{what}: CPU of a call, {_CONCURRENT} at once",
            ours=_ratio(cost.together, cost.alone),
            unit="x in turn",
        ),
        Row(
            id="P4",
            what=f"{what}: p99 of the wait, {_CONCURRENT} at once",
            ours=cost.p99 / direct.p99,
            unit="x direct",
            target="<= 1.6",
        ),
    ]


def _ratio(ours: list[float], floor: list[float]) -> float:
    return statistics.median(mine / theirs for mine, theirs in zip(ours, floor, strict=True))


async def main() -> None:
    """Measure and print."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--peers", action="store_true", help="install the peers that are missing into bench/peers/")
    options = arguments.parse_args()
    rounds, calls = (3, 100) if options.quick else (7, 300)
    with tempfile.TemporaryDirectory() as folder:
        over_stdio = await measured(stdio_paths(Path(folder), install=options.peers), rounds=rounds, calls=calls)
        over_http = await measured(http_paths(Path(folder), install=options.peers), rounds=rounds, calls=calls)
        starts = start_rows(Path(folder), sizes=(1, 10, 40), rounds=1 if options.quick else 3)
        answers = answer_rows(Path(folder), rounds=3 if options.quick else 7)
    rows = [
        *rows_of(over_stdio, {"transparent": "<= 1.5", "tool_execute": None}, row_id="P1"),
        # The peers stand before a stdio server, too; HTTP on both sides pays for HTTP twice.
        *rows_of(over_http, {"http to stdio": "<= 1.8", "http to http": None}, row_id="P3"),
        *concurrency_rows(over_stdio, "transparent", "stdio"),
        *concurrency_rows(over_http, "http to stdio", "http"),
        *starts,
        *answers,
    ]
    report("proxy", rows, as_json=options.json)


if __name__ == "__main__":
    asyncio.run(main())
