"""The benches run one after the other, one that fails stops none, and every target has its row."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from checks import bench_running, bench_suite
from checks.bench_charts import charts_of, draw
from checks.bench_page import render_page
from checks.bench_running import BENCHES, Bench, BenchFailed, Outcome, read_rows, run_bench
from checks.bench_table import render_summary, render_table, standings
from checks.bench_targets import DATA, TARGETS
from checks.workspace import ROOT

PROXY = {
    "id": "P1",
    "what": "transparent, in turn",
    "ours": 1.31,
    "unit": "x direct",
    "target": "<= 1.5",
    "met": True,
    "peers": {"fastmcp 4.1.2": 2.9},
}
MISSED = {"id": "P7", "what": "canonical bytes " * 6, "ours": 3.2, "unit": "x", "target": ">= 4", "met": False}
OTHER = {"id": "AD", "what": "strict", "ours": 12_345, "unit": "tools", "peers": {}}
GROWTH = [
    {
        "id": "growth-tokens",
        "what": f"list, {size:,} tools",
        "ours": 1600,
        "unit": "tokens",
        "peers": {"raw": size * 200},
    }
    for size in (100, 1_000)
]
CALLS = [{"id": "calls", "what": "calls, 8 at once", "ours": 700.0, "unit": "calls/s", "peers": {"direct": 800.0}}]
RECALL = {"set": "cw83", "queries": 83, "tools": 80, "recall@5": 0.9, "recall@10": 0.95}


def bench(tmp_path: Path, source: str, **options: Any) -> Bench:
    (tmp_path / "made.py").write_text(source, "utf-8")
    return Bench(name="made", script="made.py", **options)


def run_made(tmp_path: Path, source: str, *, seconds: float = 60, **options: Any) -> Outcome:
    made = bench(tmp_path, source, **options)
    return run_bench(made, quick=True, peers=False, folder=tmp_path, seconds=seconds)


def test_every_bench_of_the_folder_that_prints_figures_is_run_once() -> None:
    sources = {path.name: path.read_text("utf-8") for path in (ROOT / "bench").glob("*.py")}
    reporting = {
        name for name, text in sources.items() if "__main__" in text and ('"--json"' in text or "as_json=" in text)
    }
    # These two are part of others, and print their rows, too, when they are run alone.
    within_others = {"store_packs.py", "toolpacks_loading.py"}

    assert {each.script for each in BENCHES} == reporting - within_others


def test_every_target_is_printed_by_a_bench_or_says_why_not() -> None:
    names = {each.name for each in BENCHES}

    assert [each.id for each in TARGETS][:16] == [f"P{number}" for number in range(1, 17)]
    assert [each.id for each in TARGETS if each.bench not in names and not each.reason] == []
    assert len({each.id for each in TARGETS}) == len(TARGETS)


def test_the_rows_of_a_bench_are_read_with_its_notices(tmp_path: Path) -> None:
    source = (
        "import json, sys\n"
        "print('x is left out: not here', file=sys.stderr)\n"
        "print('x is left out: not here', file=sys.stderr)\n"
        f"print(json.dumps({{'bench': 'made', 'rows': [{PROXY!r}]}}, indent=1))\n"
    )

    outcome = run_made(tmp_path, source)

    assert outcome.rows == [PROXY]
    assert outcome.notices == ("x is left out: not here",)
    assert outcome.failed is None


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise SystemExit('no disk here')", "no disk here"),
        ("import os; os._exit(3)", "it ended with 3"),
        ("print('{\"rows\": 7}')", "it printed no report"),
        ("print('hello')", "it printed no report"),
        ("print('{\"rows\": []}')", "it printed no figures"),
    ],
)
def test_a_bench_that_prints_no_figures_is_told_with_its_reason(tmp_path: Path, source: str, reason: str) -> None:
    outcome = run_made(tmp_path, source)

    assert outcome.rows == ()
    assert reason in str(outcome.failed)


def test_a_bench_that_never_ends_is_ended_with_what_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    source = (
        "import pathlib, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        f"pathlib.Path({str(pid)!r}).write_text(str(child.pid))\n"
        "time.sleep(1000)\n"
    )

    outcome = run_made(tmp_path, source, seconds=8)

    assert outcome.failed == "it did not end in 8 s"
    status = Path("/proc", pid.read_text(), "stat")
    # It was killed, and goes as soon as the machine has a moment for it.
    for _ in range(1000):
        if _is_gone(status):
            break
        time.sleep(0.03)
    assert _is_gone(status)


def _is_gone(status: Path) -> bool:
    try:
        return " Z " in status.read_text()
    except OSError:
        return True


def test_a_bench_that_needs_sets_is_absent_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_running, "SHARED", tmp_path / "none")

    outcome = run_made(tmp_path, "raise SystemExit", data=True)

    assert (outcome.absent, outcome.failed) == (DATA, None)


def test_flat_objects_of_retrieval_become_rows_with_the_bounds_of_their_set() -> None:
    plain = {**RECALL, "system": "ours"}
    peer = {**RECALL, "system": "fts5 3", "recall@5": 0.8}
    model = {**RECALL, "set": "mcp-dev", "system": "ours + minilm", "recall@5": 0.5}
    unknown = {**RECALL, "set": "given", "system": "ours"}

    rows = read_rows("\n".join(map(json.dumps, (plain, peer, model, unknown))))

    shown = [(row["id"], row["ours"], row.get("target"), row.get("met"), row["peers"]) for row in rows]
    assert shown == [
        ("R-cw83", 0.9, ">= 0.86", True, {"fts5 3": 0.8}),
        ("R-mcp-dev", 0.5, ">= 0.6", False, {}),
        ("R-mcp-dev", 0.95, ">= 0.7", True, {}),
        ("R-given", 0.9, None, None, {}),
    ]


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(BenchFailed, match="no report"):
        read_rows('{"set": "cw83"}')


def test_the_table_has_every_target_at_a_readable_width() -> None:
    outcomes = {
        "proxy": Outcome(rows=[PROXY], quick=True),
        "core": Outcome(rows=[MISSED]),
        "adapters": Outcome(rows=[OTHER]),
        "gateway": Outcome(failed="no port"),
        "retrieval": Outcome(absent=DATA),
    }

    table = render_table(outcomes)

    assert max(map(len, table.splitlines())) <= 120
    assert all(re.search(rf"^{each.id} ", table, re.MULTILINE) for each in TARGETS)
    assert re.search(r"^P1 .*1\.31 x direct .*<= 1\.5 +met$", table, re.MULTILINE)
    assert "peers: fastmcp 4.1.2 2.9" in table
    assert re.search(r"^P7 .*MISSED$", table, re.MULTILINE)
    assert re.search(r"^P3 .*not measured: left out by --quick$", table, re.MULTILINE)
    assert re.search(r"^P6 .*not measured: `core` did not print it$", table, re.MULTILINE)
    assert re.search(r"^P2 .*not measured: `gateway` failed: no port$", table, re.MULTILINE)
    assert re.search(r"^P5 .*not measured: `runtime` was not run$", table, re.MULTILINE)
    assert re.search(r"^R-held-out .*held back for judging$", table, re.MULTILINE)
    assert re.search(r"^AD .*12,345 tools$", table, re.MULTILINE)
    summary = render_summary(outcomes)
    assert (
        summary
        == f"bench: 3 figures · 1 of 2 bounds met · 2 of {len(TARGETS)} targets measured · 1 benches failed (gateway)"
    )


def test_a_bound_that_is_missed_says_why_in_the_table_and_on_the_page() -> None:
    outcomes = {"core": Outcome(rows=[MISSED]), "scan": Outcome(rows=[{**MISSED, "id": "S1", "what": "found"}])}

    table, page = render_table(outcomes), render_page(outcomes, machine="a machine")

    assert re.search(r"^S1 found: the scan is made of rules", table, re.MULTILINE)
    assert re.search(r"^P7 (canonical bytes )+: not known$", table.replace("\n  ", " "), re.MULTILINE)
    assert "| S1 | found | 3.2 x | >= 4 | the scan is made of rules" in page
    assert "missed, and why" not in render_table({"proxy": Outcome(rows=[PROXY])})
    assert "## Bounds that are missed" not in render_page({"proxy": Outcome(rows=[PROXY])}, machine="a machine")


def test_a_target_is_met_when_all_its_bounds_are() -> None:
    rows = [{**PROXY, "met": True}, {**PROXY, "met": False}]
    free = {key: value for key, value in {**PROXY, "id": "P2"}.items() if key not in {"target", "met"}}

    found = {each.target.id: each.met for each in standings({"proxy": Outcome(rows=[*rows, free])})}

    assert (found["P1"], found["P2"], found["P3"]) == (False, None, None)


def test_charts_show_what_there_is_and_no_others() -> None:
    outcomes = {
        "proxy": Outcome(rows=[PROXY]),
        "catalogue_growth": Outcome(rows=[*GROWTH, {**GROWTH[0], "what": "no size"}]),
        "concurrency": Outcome(rows=[*CALLS, {**CALLS[0], "what": "no width"}]),
        "retrieval": Outcome(rows=read_rows(json.dumps({**RECALL, "system": "ours"}))),
    }

    charts = {each.name: each.series for each in charts_of(outcomes)}

    assert charts == {
        "tokens": {"toolcrib": [(100, 1600), (1_000, 1600)], "raw": [(100, 20_000), (1_000, 200_000)]},
        "recall": {"toolcrib": [("cw83", 0.9)]},
        "overhead": {"toolcrib": [("proxy, stdio", 1.31)], "fastmcp 4.1.2": [("proxy, stdio", 2.9)]},
        "concurrency": {"toolcrib": [(8, 700.0)], "direct": [(8, 800.0)]},
    }


def test_charts_that_cannot_be_drawn_are_a_reason_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "charts.py").write_text("raise SystemExit('no matplotlib here')", "utf-8")
    monkeypatch.setattr("checks.bench_charts.ROOT", tmp_path)

    assert draw([], tmp_path) == "no matplotlib here"

    (tmp_path / "bench" / "charts.py").write_text("", "utf-8")
    assert draw([], tmp_path) is None


def test_the_page_says_what_was_measured_quickly_and_what_was_not() -> None:
    outcomes = {
        "proxy": Outcome(rows=[PROXY], quick=True, notices=["x is left out: gone"]),
        "core": Outcome(rows=[OTHER]),
    }

    page = render_page(outcomes, machine="one machine")

    assert "Measured on one machine.\nWith `--quick`, so with fewer rounds and smaller sizes: `proxy`." in page
    assert "| P1 | transparent, in turn | 1.31 x direct | fastmcp 4.1.2 2.9 | <= 1.5 | yes |" in page
    assert "| P2 | a call through the gateway, everything checked | not measured: `gateway` was not run |" in page
    assert "![A call through each, against a direct one](assets/overhead.svg)" in page
    assert "x is left out: gone" in page


def test_the_suite_prints_one_table_goes_on_after_a_failure_and_keeps_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = {"core": Outcome(failed="broken"), "store": Outcome(rows=[PROXY], notices=["x is left out"])}
    monkeypatch.setattr(bench_suite, "run_bench", lambda bench, **_: outcomes[bench.name])
    monkeypatch.setattr(bench_suite, "draw", lambda *_: "no library")
    for name in ("FIGURES", "PAGE", "ASSETS"):
        monkeypatch.setattr(bench_suite, name, tmp_path / name)
    monkeypatch.setattr(bench_suite, "ROOT", tmp_path)

    code = bench_suite.main(["--only", "core", "store", "--write"])

    out, err = capsys.readouterr()
    assert code == 1
    assert out.splitlines()[-1].startswith("bench: 1 figures · 1 of 1 bounds met")
    assert [line for line in err.splitlines() if "NOTICE" in line] == [
        "NOTICE: no figures: broken",
        "NOTICE: x is left out",
        "NOTICE: the charts were not drawn: no library",
    ]
    assert bench_suite.read_record(tmp_path / "FIGURES") == {"store": Outcome(rows=[PROXY], notices=["x is left out"])}
    assert bench_suite.main(["--page"]) == 1
    assert bench_suite.main(["--only", "store", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["benches"]["store"]["rows"] == [PROXY]
    assert bench_suite.read_record(tmp_path / "none") == {}
