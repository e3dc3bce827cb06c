"""How every bench measures and prints: CPU-time ratios of things run in turns in one process.

Wall-clock time on a shared machine says little, and even CPU time drifts while a bench runs. So both sides of a ratio
are measured alternately, round by round, and the median of the rounds' ratios is what counts.
"""

from __future__ import annotations

import argparse
import gc
import json
import operator
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

_COMPARISONS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a bench's report; `ours` is the median ratio (or count) that the target is about."""

    id: str
    what: str
    ours: float
    unit: str
    target: str | None = None
    peers: dict[str, float] = field(default_factory=dict)
    note: str | None = None

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        comparison, bound = self.target.split()
        return bool(_COMPARISONS[comparison](self.ours, float(bound)))


def cpu_seconds(work: Callable[[], object], *, repeat: int = 1) -> float:
    """The CPU time of `repeat` calls, with the garbage collector out of the way."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(repeat):
            work()
        return time.process_time() - start
    finally:
        if collecting:
            gc.enable()


def repeats_for(work: Callable[[], object], *, seconds: float = 0.02) -> int:
    """How often to call `work` so that one measurement is well above the clock's grain."""
    repeat = 1
    while (taken := cpu_seconds(work, repeat=repeat)) < seconds:
        repeat = max(repeat * 2, int(repeat * seconds / max(taken, 1e-6)))
    return repeat


def times_cheaper(ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int = 7) -> float:
    """How many of our calls one of theirs costs: the median over interleaved rounds."""
    our_repeat, their_repeat = repeats_for(ours), repeats_for(theirs)
    ratios = []
    for _ in range(rounds):
        mine = cpu_seconds(ours, repeat=our_repeat) / our_repeat
        other = cpu_seconds(theirs, repeat=their_repeat) / their_repeat
        ratios.append(other / mine)
    return statistics.median(ratios)


def report(bench: str, rows: list[Row], *, as_json: bool) -> None:
    """Print the rows, as one JSON object or as a table."""
    if as_json:
        print(json.dumps({"bench": bench, "rows": [_as_dict(row) for row in rows]}, indent=2))
        return
    for row in rows:
        verdict = {True: "met", False: "MISSED", None: ""}[row.met]
        peers = ", ".join(f"{name} {value:g}" for name, value in row.peers.items())
        print(f"{row.id:4} {row.what:62} {row.ours:10.3g} {row.unit:18} {row.target or '':10} {verdict:6} {peers}")
        if row.note:
            print(f"     {row.note}")


def parser(description: str) -> argparse.ArgumentParser:
    """The options that every bench has."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    made.add_argument("--quick", action="store_true", help="fewer rounds and smaller sizes")
    return made


def _as_dict(row: Row) -> dict[str, Any]:
    fields = {key: value for key, value in asdict(row).items() if value is not None}
    return {**fields, "ours": round(row.ours, 4), **({} if row.met is None else {"met": row.met})}
