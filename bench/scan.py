"""How well the scan of tools' own texts tells poisoned ones from clean ones, and what it adds to reading a tool."""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import corpus
import orjson
from ratios import Row, cpu_seconds, parser, report
from retrieval_sets import DATA

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_ROOT), str(_ROOT / "packages" / "mcp" / "tests")]

from scan_corpus.planting import Poisoned, poisoned  # noqa: E402  # from beside the tests, whose corpus it is

from tests.catalogues.catalogues import invented_servers  # noqa: E402  # as above
from toolcrib_mcp.catalog import UpstreamTerms, _reading  # noqa: E402  # after the path is set
from toolcrib_mcp.scan import scan_texts  # noqa: E402  # as above
from toolcrib_mcp.scan.findings import CLEAN  # noqa: E402  # as above
from toolcrib_mcp.scan.scanning import forget_clean_texts  # noqa: E402  # as above

_CATALOGUE = DATA / "mcp-catalogs" / "catalog.jsonl"
_UNSEEN = ("bfcl", "metatool", "nestful", "toolalpaca", "cw83")
_RECALL, _FALSE, _COST = ">= 0.95", "<= 2", "<= 1.15"


def main() -> None:
    """Print the figures."""
    options = parser(__doc__ or "").parse_args()
    real = [row["tool"] for row in _lines(_CATALOGUE)]
    if not real:
        print("The tools of real servers are not there (../shared): only our own are measured.", file=sys.stderr)
    clean = {
        "real servers, with which the rules were tuned": real,
        "public tool sets, with which they were not": [each for name in _UNSEEN for each in _lines(_tools_of(name))],
        "our own": [tool for tools in invented_servers().values() for tool in tools],
    }
    wrong: Counter[str] = Counter()
    false_rows = []
    for name, tools in clean.items():
        if tools:
            found = [rules for tool in tools if (rules := _broken(tool))]
            wrong.update(rule for rules in found for rule in rules)
            false_rows.append(_false_row(name, len(found), len(tools)))
    cost = [_cost_row(real or [row["tool"] for row in corpus.tool_rows()], rounds=3 if options.quick else 7)]
    report("scan", [*_recall_rows(poisoned(), wrong), *false_rows, *cost], as_json=options.json)


def _recall_rows(rows: list[Poisoned], wrong: Counter[str]) -> list[Row]:
    found = {row: _broken(row.tool) for row in rows}
    kinds = sorted({row.kind for row in rows})
    made = [
        Row(
            id="S1",
            what=f"poisoned tools found: {kind}",
            ours=_share(found[row] for row in rows if row.kind == kind),
            unit="recall",
            peers={
                "heldout": _share(found[row] for row in rows if row.kind == kind and row.part == "heldout"),
                "precision": _precision(sum(kind in found[row] for row in rows), wrong[kind]),
            },
            note=f"{sum(row.kind == kind for row in rows)} tools",
        )
        for kind in kinds
    ]
    for part, target in (("tuned", _RECALL), ("heldout", _RECALL)):
        those = [row for row in rows if row.part == part]
        made.append(
            Row(
                id="S1",
                what=f"poisoned tools found: all that are {part}",
                ours=_share(found[row] for row in those),
                unit="recall",
                target=target,
                note=f"{len(those)} tools",
            )
        )
    every = Row(
        id="S1",
        what="poisoned tools found: all",
        ours=_share(found.values()),
        unit="recall",
        target=_RECALL,
        peers={"precision": _precision(sum(map(bool, found.values())), wrong.total())},
        note=f"{len(rows)} tools; precision against all clean tools below",
    )
    return [*made, every]


def _false_row(name: str, found: int, tools: int) -> Row:
    return Row(
        id="S2",
        what=f"clean tools found: {name}",
        ours=100 * found / tools,
        unit="% of tools",
        target=_FALSE,
        note=f"{found} of {tools:,}",
    )


def _cost_row(tools: list[dict[str, Any]], *, rounds: int) -> Row:
    texts = [orjson.dumps(tool) for tool in tools]
    terms = UpstreamTerms(server="bench")
    read = partial(_read_all, texts, terms)
    scanning, ratios = _reading.scan_texts, []
    read()
    for _ in range(rounds):
        _reading.scan_texts = lambda _: CLEAN
        without = cpu_seconds(read)
        _reading.scan_texts = scanning
        ratios.append(cpu_seconds(read) / without)
    return Row(
        id="S3",
        what="reading a tool with the scan, against without",
        ours=statistics.median(ratios),
        unit="times its cost",
        target=_COST,
        note=f"{len(tools):,} tools",
    )


def _read_all(texts: list[bytes], terms: UpstreamTerms) -> None:
    forget_clean_texts()
    for text in texts:
        _reading.read_tool(text, upstream="bench", terms=terms)


def _broken(tool: dict[str, Any]) -> set[str]:
    found = scan_texts(tool)
    return {each.rule for each in (*found.refused, *found.flagged)}


def _share(found: Iterable[set[str]]) -> float:
    every = list(found)
    return round(sum(map(bool, every)) / len(every), 3) if every else float("nan")


def _precision(right: int, wrong: int) -> float:
    return round(right / (right + wrong), 3)


def _tools_of(name: str) -> Path:
    return DATA / "retrieval" / name / "tools.jsonl"


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []


if __name__ == "__main__":
    main()
