"""Every bench one after the other, one table of what they found, and the page that is made of it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from checks.bench_charts import charts_of, draw
from checks.bench_page import render_page
from checks.bench_running import BENCHES, Outcome, run_bench
from checks.bench_table import render_summary, render_table
from checks.workspace import ROOT

FIGURES: Final = ROOT / "bench" / "figures.json"
PAGE: Final = ROOT / "docs" / "benchmarks.md"
ASSETS: Final = ROOT / "docs" / "assets"


def main(arguments: list[str] | None = None) -> int:
    """Run, print and maybe write; 1 when a bench failed, whatever the figures say."""
    options = _options(arguments)
    if options.page:
        return write_page(read_record(FIGURES))
    outcomes = {}
    chosen = [each for each in BENCHES if not options.only or each.name in options.only]
    for number, bench in enumerate(chosen, start=1):
        print(f"-- bench {bench.name} ({number} of {len(chosen)})", file=sys.stderr, flush=True)
        outcomes[bench.name] = run_bench(bench, quick=options.quick, peers=options.peers)
        _tell(outcomes[bench.name])
    if options.json:
        print(json.dumps(as_record(outcomes), indent=2))
    else:
        print(render_table(outcomes), render_summary(outcomes), sep="\n\n")
    if options.write:
        record = {**read_record(FIGURES), **{name: each for name, each in outcomes.items() if each.rows}}
        FIGURES.write_text(json.dumps(as_record(record), indent=1) + "\n", "utf-8")
        write_page(read_record(FIGURES))  # in the order in which a later page is made of it, too
    return 1 if any(each.failed for each in outcomes.values()) else 0


def as_record(outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    """What is kept of a run: on what it was made, and the outcome of every bench by name."""
    return {"machine": machine(), "benches": {name: asdict(each) for name, each in outcomes.items()}}


def read_record(file: Path) -> dict[str, Outcome]:
    """What was kept, in the order of the benches; nothing where nothing was."""
    if not file.is_file():
        return {}
    kept = json.loads(file.read_text("utf-8"))["benches"]
    return {each.name: Outcome(**kept[each.name]) for each in BENCHES if each.name in kept}


def machine() -> str:
    """What the figures were measured on, in a line."""
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def write_page(record: Mapping[str, Outcome]) -> int:
    """Make the page and its charts of what was measured; 1 when the charts could not be drawn."""
    on = json.loads(FIGURES.read_text("utf-8"))["machine"]
    PAGE.write_text(render_page(record, machine=on), "utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}", file=sys.stderr)
    problem = draw(charts_of(record), ASSETS)
    if problem is not None:
        print(f"NOTICE: the charts were not drawn: {problem}", file=sys.stderr)
    return 0 if problem is None else 1


def _tell(outcome: Outcome) -> None:
    for notice in outcome.notices:
        print(f"NOTICE: {notice}", file=sys.stderr)
    if outcome.failed or outcome.absent:
        print(f"NOTICE: no figures: {outcome.failed or outcome.absent}", file=sys.stderr, flush=True)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller sizes")
    parser.add_argument("--json", action="store_true", help="print one object in place of the table")
    parser.add_argument("--only", nargs="+", choices=[each.name for each in BENCHES], help="these benches alone")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="install no peers that are missing")
    parser.add_argument("--write", action="store_true", help="keep the figures, and make the page and its charts")
    parser.add_argument("--page", action="store_true", help="make the page and its charts of the kept figures")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
