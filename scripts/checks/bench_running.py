"""The benches of `bench/`, each run as a process of its own, and what they print as rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from checks.bench_targets import DATA, PAGES, RETRIEVAL, PageTarget
from checks.workspace import ROOT

Row: TypeAlias = Mapping[str, Any]
"""One figure, as `bench/ratios.py` prints it: id, what, ours, unit, peers, and maybe target, met and note."""

SHARED: Final = ROOT.parent / "shared" / "data"
_SECONDS: Final = 5_400
_SHOWN_CHARACTERS: Final = 300
_LEFT_OUT: Final = "left out"
_SEMANTIC: Final = "ours + "


class BenchFailed(Exception):
    """A bench printed no figures; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """One program of `bench/` with the arguments of a whole and of a quick run."""

    name: str
    script: str
    always: tuple[str, ...] = ("--json",)
    whole: tuple[str, ...] = ()
    quick: tuple[str, ...] = ("--quick",)
    peers: tuple[str, ...] = ()
    """What makes it install and measure its peers."""
    data: bool = False
    """Whether it can do nothing without the sets that are not part of the repository."""

    def arguments(self, *, quick: bool, peers: bool) -> list[str]:
        """What it is called with."""
        return [*self.always, *(self.quick if quick else self.whole), *(self.peers if peers else ())]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one bench."""

    rows: Sequence[Row] = ()
    quick: bool = False
    failed: str | None = None
    """Why there are no rows, where there should be."""
    absent: str | None = None
    """What is not here that it needs."""
    notices: Sequence[str] = field(default=())
    """Peers that could not be had, with the reason."""
    seconds: float = 0.0


_PEERS: Final = ("--peers",)
BENCHES: Final = (
    Bench(name="core", script="core.py"),
    Bench(name="runtime", script="runtime.py", peers=_PEERS),
    Bench(name="proxy", script="proxy.py", peers=_PEERS),
    Bench(name="gateway", script="gateway.py", peers=_PEERS),
    Bench(name="concurrency", script="concurrency.py", peers=_PEERS),
    Bench(name="catalogue_growth", script="catalogue_growth.py", peers=_PEERS),
    Bench(name="retrieval", script="retrieval.py", always=("--all", "--json"), quick=(), peers=_PEERS, data=True),
    Bench(
        name="retrieval_semantic", script="retrieval.py", always=("--all", "--semantic", "--json"), quick=(), data=True
    ),
    Bench(name="search_scale", script="search_scale.py", quick=("--sizes", "100", "1000", "10000")),
    Bench(name="browse_tree", script="browse_tree.py"),
    Bench(name="store", script="store.py"),
    Bench(name="adapters", script="adapters.py", peers=_PEERS),
    Bench(name="toolpacks", script="toolpacks.py"),
    Bench(name="toolsets", script="toolsets.py"),
    Bench(name="scan", script="scan.py"),
    Bench(name="redaction", script="redaction.py"),
    Bench(name="validation", script="validation.py"),
    Bench(name="attack", script="attack.py"),
    Bench(name="day", script="day.py", quick=()),
)
"""In the order in which they run."""


def run_bench(
    bench: Bench, *, quick: bool, peers: bool, seconds: float = _SECONDS, folder: Path | None = None
) -> Outcome:
    """Run one bench; that it fails is an outcome, too."""
    if bench.data and not SHARED.is_dir():
        return Outcome(absent=DATA, quick=quick)
    script = (folder or ROOT / "bench") / bench.script
    begun = time.monotonic()
    try:
        printed, said = _run([sys.executable, str(script), *bench.arguments(quick=quick, peers=peers)], seconds)
        rows = read_rows(printed)
    except BenchFailed as failure:
        return Outcome(failed=str(failure), quick=quick, seconds=round(time.monotonic() - begun, 1))
    notices = tuple(dict.fromkeys(line.strip() for line in said.splitlines() if _LEFT_OUT in line))
    return Outcome(rows=rows, quick=quick, notices=notices, seconds=round(time.monotonic() - begun, 1))


def read_rows(printed: str) -> list[Row]:
    """The rows of what a bench printed: one object with rows, or a flat object for each set and system.

    Raises:
        BenchFailed: It is neither.
    """
    reading: Callable[[str], list[Row]] = _read_report if '"rows"' in printed else _read_retrieval
    try:
        rows = reading(printed)
    except (KeyError, TypeError, ValueError) as failure:
        raise BenchFailed(f"it printed no report: {failure!r}") from failure
    if not rows:
        raise BenchFailed("it printed no figures")
    return rows


def _read_report(printed: str) -> list[Row]:
    return [dict(row) for row in json.loads(printed)["rows"]]


def _read_retrieval(printed: str) -> list[Row]:
    found = [json.loads(line) for line in printed.splitlines() if line.strip()]
    targets = {each.set: each for each in RETRIEVAL}
    rows: list[Row] = []
    for name in dict.fromkeys(each["set"] for each in found):
        here = [each for each in found if each["set"] == name]
        ours = next(each for each in here if _is_ours(each["system"]))
        semantic = ours["system"].startswith(_SEMANTIC)
        peers = {each["system"]: each["recall@5"] for each in here if each is not ours}
        target = targets.get(name)
        bound = None if target is None else target.semantic if semantic else target.plain
        rows.append(_quality(ours, "recall@5", semantic=semantic, bound=bound, peers=peers))
        if semantic and target is not None and target.semantic_at_10 is not None:
            rows.append(_quality(ours, "recall@10", semantic=semantic, bound=target.semantic_at_10))
        rows += [_page_row(ours, each, semantic=semantic) for each in PAGES if each.metric in ours]
    return rows


def _quality(
    found: Row, metric: str, *, semantic: bool, bound: float | None, peers: Mapping[str, float] | None = None
) -> Row:
    way = "with a model" if semantic else "no model"
    what = f"{metric}, {way} ({found['queries']:,} queries, {found['tools']:,} tools)"
    row = {"id": f"R-{found['set']}", "what": what, "ours": found[metric], "unit": "recall", "peers": dict(peers or {})}
    return row if bound is None else {**row, "target": f">= {bound:g}", "met": found[metric] >= bound}


def _page_row(found: Row, target: PageTarget, *, semantic: bool) -> Row:
    ours = found[target.metric]
    return {
        "id": "R-pages",
        "what": f"{target.what}: {found['set']}, {'with a model' if semantic else 'no model'}",
        "ours": ours,
        "unit": target.unit,
        "peers": {},
        "target": f"{'<=' if target.at_most else '>='} {target.bound:g}",
        "met": ours <= target.bound if target.at_most else ours >= target.bound,
    }


def _is_ours(system: str) -> bool:
    return system == "ours" or system.startswith(_SEMANTIC)


def _run(command: list[str], seconds: float) -> tuple[str, str]:
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    )
    try:
        printed, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise BenchFailed(f"it did not end in {seconds:g} s") from None
    finally:
        # A bench that fails may leave servers behind.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()
    if process.returncode:
        last = said.strip().splitlines()[-1:] or [f"it ended with {process.returncode}"]
        raise BenchFailed(last[0][:_SHOWN_CHARACTERS])
    return printed, said
