"""What the charts of `docs/benchmarks.md` show, taken from the figures; `bench/charts.py` draws them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from checks.bench_running import Outcome, Row
from checks.workspace import ROOT

Point: TypeAlias = tuple[float | str, float]

OURS: Final = "toolcrib"
_DRAWING_SECONDS: Final = 900
_SIZE: Final = re.compile(r"\b([\d,]+) tools")
_AT_ONCE: Final = re.compile(r"\b(\d+) at once")
_PROXIES: Final = {"P1": "proxy, stdio", "P3": "proxy, HTTP in front", "P2": "gateway, stdio"}
_MEASURED: Final = ("transparent, in turn", "http to stdio, in turn", "toolcrib, in turn")


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One drawing: lines over numbers, or groups of bars over names."""

    name: str
    """Of its file, without the ending."""
    title: str
    kind: Literal["lines", "bars"]
    x: str
    y: str
    series: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False


def charts_of(outcomes: Mapping[str, Outcome]) -> list[Chart]:
    """Every chart there is something to show for."""
    made = (_tokens(outcomes), _recall(outcomes), _overhead(outcomes), _latency(outcomes), _calls(outcomes))
    return [each for each in made if each.series]


def draw(charts: Sequence[Chart], folder: Path) -> str | None:
    """Draw them into a folder, in an environment that has the plotting library; gives the reason if that fails."""
    command = [sys.executable, str(ROOT / "bench" / "charts.py"), str(folder)]
    job = json.dumps([asdict(each) for each in charts])
    try:
        subprocess.run(command, input=job, check=True, capture_output=True, text=True, timeout=_DRAWING_SECONDS)
    except subprocess.CalledProcessError as failure:
        return str((failure.stderr.strip().splitlines() or [failure])[-1])
    except subprocess.TimeoutExpired as failure:
        return str(failure)
    return None


def _tokens(outcomes: Mapping[str, Outcome]) -> Chart:
    rows = _rows(outcomes, "catalogue_growth", "growth-tokens")
    series = _by_size(rows) if rows else {}
    return Chart(
        name="tokens",
        title="What a model reads to find and call one tool",
        kind="lines",
        x="tools in the catalogue",
        y="tokens",
        series=series,
        log_x=True,
        log_y=True,
    )


def _recall(outcomes: Mapping[str, Outcome]) -> Chart:
    series: dict[str, list[Point]] = {}
    for bench, name in (("retrieval_semantic", f"{OURS}, with a model"), ("retrieval", OURS)):
        for row in _rows(outcomes, bench, "R-"):
            if row["what"].startswith("recall@5"):
                group = row["id"].removeprefix("R-")
                series.setdefault(name, []).append((group, row["ours"]))
                for peer, figure in row["peers"].items():
                    series.setdefault(peer, []).append((group, figure))
    return Chart(
        name="recall",
        title="The right tool among the first five",
        kind="bars",
        x="set of requests",
        y="recall@5",
        series=series,
    )


def _overhead(outcomes: Mapping[str, Outcome]) -> Chart:
    series: dict[str, list[Point]] = {}
    for row in (*_rows(outcomes, "proxy", "P"), *_rows(outcomes, "gateway", "P2")):
        if row["what"] in _MEASURED:
            group = _PROXIES[row["id"]]
            for name, figure in {OURS: row["ours"], **row["peers"]}.items():
                series.setdefault(name, []).append((group, figure))
    return Chart(
        name="overhead",
        title="A call through each, against a direct one",
        kind="bars",
        x="way",
        y="CPU of all processes, x direct",
        series=series,
    )


def _latency(outcomes: Mapping[str, Outcome]) -> Chart:
    rows = _rows(outcomes, "catalogue_growth", "growth-latency")
    return Chart(
        name="latency",
        title="One search, as the catalogue grows",
        kind="lines",
        x="tools in the catalogue",
        y="median, ms of CPU",
        series=_by_size(rows) if rows else {},
        log_x=True,
        log_y=True,
    )


def _calls(outcomes: Mapping[str, Outcome]) -> Chart:
    series: dict[str, list[Point]] = {}
    for row in _rows(outcomes, "concurrency", "calls"):
        found = _AT_ONCE.search(row["what"])
        if found is not None:
            for name, figure in {OURS: row["ours"], **row["peers"]}.items():
                series.setdefault(name, []).append((float(found[1]), figure))
    return Chart(
        name="concurrency",
        title="Calls per second, as more are made at once",
        kind="lines",
        x="calls at once",
        y="calls per second",
        series=series,
        log_x=True,
    )


def _by_size(rows: Sequence[Row]) -> dict[str, list[Point]]:
    series: dict[str, list[Point]] = {}
    for size, row in _sized(rows):
        for name, figure in {OURS: row["ours"], **row["peers"]}.items():
            series.setdefault(name, []).append((size, figure))
    return series


def _sized(rows: Sequence[Row]) -> Iterator[tuple[float, Row]]:
    for row in rows:
        found = _SIZE.search(row["what"])
        if found is not None:
            yield float(found[1].replace(",", "")), row


def _rows(outcomes: Mapping[str, Outcome], bench: str, start: str) -> list[Row]:
    return [row for row in outcomes[bench].rows if row["id"].startswith(start)] if bench in outcomes else []
