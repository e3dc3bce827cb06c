"""`docs/benchmarks.md`: the targets with what was measured, charts, and everything else that the benches print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from checks.bench_charts import Chart, charts_of
from checks.bench_running import BENCHES, Outcome, Row
from checks.bench_table import Standing, missed_rows, other_rows, render_summary, shown, shown_peers, standings
from checks.reference_pages.tables import code, table

_INTRODUCTION: Final = """\
# Benchmarks

`scripts/bench` measures everything on this page and prints it; `scripts/bench --write` makes the page.
Both sides of a comparison run in turns, in one run; the figure is the median of the ratios of their CPU times.
Seconds depend on the machine; ratios hardly do.
The other libraries have fixed versions, each in an environment of its own."""
_VERDICT: Final[Mapping[bool | None, str]] = {True: "yes", False: "**no**", None: ""}
_SENTENCES: Final[Mapping[str, str]] = {
    "tokens": "A client of the gateway reads the list, one search and one call; any other, every definition.",
    "recall": "How often a search shows the right tool among its first five, on judged sets of requests.",
    "overhead": "What a call costs through a proxy or a gateway, of which 1 is the call itself.",
    "latency": "What one search costs through the whole gateway; of peers, and once of ours, the search alone.",
    "concurrency": "Through the transparent proxy over stdio, and directly; all share the cores of one machine.",
}


def render_page(outcomes: Mapping[str, Outcome], *, machine: str) -> str:
    """The whole page."""
    lines = [_INTRODUCTION, f"Measured on {machine}.", *_quick(outcomes), "", f"`{render_summary(outcomes)}`"]
    lines += ["", "## Targets", ""]
    rows = [row for each in standings(outcomes) for row in _target_rows(each)]
    lines += table(("id", "what", "ours", "peers", "target", "met"), rows)
    missed = missed_rows(outcomes)
    if missed:
        cells = [(row["id"], row["what"], _ours(row), row["target"], why) for row, why in missed]
        lines += ["", "## Bounds that are missed", "", *table(("id", "what", "ours", "bound", "why"), cells)]
    for chart in charts_of(outcomes):
        lines += ["", f"## {chart.title}", "", *_picture(chart)]
    for name, others in other_rows(outcomes).items():
        lines += ["", f"## Beside the targets: {name}", "", *_others(others)]
    lines += ["", "## Commands", "", *_commands(outcomes)]
    return "\n".join(lines) + "\n"


def _quick(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    names = [code(name) for name, each in outcomes.items() if each.quick]
    if names:
        yield f"With `--quick`, so with fewer rounds and smaller sizes: {', '.join(names)}."


def _target_rows(standing: Standing) -> Iterator[Sequence[str]]:
    target = standing.target
    if not standing.rows:
        yield target.id, target.what, f"not measured: {standing.reason}", "", target.must, ""
    for row in standing.rows:
        bound = row.get("target", "")
        yield target.id, row["what"], _ours(row), shown_peers(row), bound, _VERDICT[row.get("met")]


def _picture(chart: Chart) -> Iterator[str]:
    yield _SENTENCES[chart.name]
    yield ""
    yield f"![{chart.title}](assets/{chart.name}.svg)"


def _others(rows: Sequence[Row]) -> list[str]:
    cells = [
        (row["what"], _ours(row), shown_peers(row), row.get("target", ""), _VERDICT[row.get("met")]) for row in rows
    ]
    return table(("what", "ours", "peers", "bound", "kept"), cells)


def _commands(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    yield "Each bench is a command of its own, run from the root of the repository."
    yield ""
    cells = []
    for each in BENCHES:
        outcome = outcomes.get(each.name, Outcome())
        arguments = " ".join(word for word in each.arguments(quick=outcome.quick, peers=True) if word != "--json")
        missing = "<br>".join(outcome.notices) or outcome.absent or ("" if outcome.rows else "not run")
        cells.append(
            (each.name, code(f"python bench/{each.script} {arguments}".strip()), str(len(outcome.rows)), missing)
        )
    yield from table(("bench", "command", "figures", "left out"), cells)


def _ours(row: Row) -> str:
    return f"{shown(row['ours'])} {row['unit']}".strip()
