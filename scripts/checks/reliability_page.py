"""`docs/reliability.md`: every row of the fault matrix, how its cases ended in the last run, and the tests it has.

Tests are read from the source and not by collecting, which takes twenty times as long.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from checks.chaos_outcome import ChaosOutcome, Kills, render_line
from checks.reference_pages.tables import code, table
from checks.workspace import ROOT
from tests.faults import FAULTS, Fault

PAGE: Final = ROOT / "docs" / "reliability.md"
OUTCOME: Final = ROOT / "tests" / "chaos" / "outcome.json"

_TEST_FOLDERS: Final = ("packages", "tests")
_GROUPS: Final[Mapping[str, str]] = {
    "A": "Identifiers and registry",
    "B": "Schemas and arguments",
    "C": "Tools from files",
    "D": "Processes",
    "E": "Network",
    "F": "MCP gateway and proxy",
    "G": "Context packs and stores",
    "H": "Toolsets and keys",
    "I": "Running tools",
    "J": "Build and supply chain",
    "K": "What the security review found",
}
_INTRODUCTION: Final = """\
# Reliability

Every fault that the product must survive is a row of one matrix.
Tests carry the rows they prove: `@pytest.mark.fault("A5")`.
A case survives when its fault ends as the row says and the next good call succeeds.
`scripts/chaos` runs all of them and prints one line; `scripts/chaos --write` makes this page."""
_LEGEND: Final = """\
What is counted:

- **rows** of the matrix with at least one case that ran.
- **cases**: single runs of a test, with its parameters; skipped tests do not count.
- **rounds**: processes that write to a store, or serve behind the gateway, killed with SIGKILL during their work.
- **acknowledged**: writes and answers that these had confirmed before; **lost** are those that were gone afterwards.
- **corrupt**: problems that a check of the whole store found afterwards.
- **leaked**: processes that were still alive after the end, out of those that the tests and runs had started.
  Processes that these started in turn are searched for, too.
- **canary**: a secret in the environment of every process; a hit is a file that contains it afterwards.
  Everything that the runs wrote is searched: logs, databases, results."""


def render_page(outcome: ChaosOutcome | None, claims: Mapping[str, Iterable[str]]) -> str:
    """The whole page."""
    lines = [_INTRODUCTION, ""]
    if outcome is None:
        lines.append("The last run was not kept.")
    else:
        lines += [f"```text\n{text}\n```" for text in filter(None, (render_line(outcome), outcome.soak))]
    lines += ["", _LEGEND]
    for letter, title in _GROUPS.items():
        rows = [_cells(fault, outcome, sorted(claims.get(fault.id, ()))) for fault in FAULTS if fault.id[0] == letter]
        lines += ["", f"## {letter}. {title}", "", *table(("id", "fault", "expected", "status", "tests"), rows)]
    return "\n".join(lines) + "\n"


def find_claims(files: Iterable[Path]) -> dict[str, set[str]]:
    """By row of the matrix, the tests whose marks name it, each as `file::test`."""
    claims: dict[str, set[str]] = defaultdict(set)
    for path in files:
        text = path.read_text("utf-8")
        if "mark.fault" in text:
            for row, name in _claims_of(ast.parse(text)):
                claims[row].add(f"{path.name}::{name}")
    return claims


def read_outcome(file: Path = OUTCOME) -> ChaosOutcome | None:
    """The outcome that was kept, if one was."""
    if not file.is_file():
        return None
    kept = json.loads(file.read_text("utf-8"))
    kills = None if kept["kills"] is None else Kills(**kept["kills"])
    return ChaosOutcome(**{**kept, "kills": kills, "problems": tuple(kept["problems"])})


def current_page() -> str:
    """The page as it would be written now."""
    return render_page(read_outcome(), find_claims(_test_files()))


def write_page() -> None:
    """Write it."""
    PAGE.write_text(current_page(), "utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Write the page of the outcome that was kept; with `--check`, 1 when that would change it."""
    parser = argparse.ArgumentParser(prog="scripts/docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where something would be written")
    if parser.parse_args(arguments).check:
        return 0 if PAGE.is_file() and PAGE.read_text("utf-8") == current_page() else 1
    write_page()
    return 0


def _test_files() -> Iterator[Path]:
    return (path for folder in _TEST_FOLDERS for path in sorted((ROOT / folder).rglob("test_*.py")))


def _cells(fault: Fault, outcome: ChaosOutcome | None, tests: list[str]) -> tuple[str, str, str, str, str]:
    return fault.id, fault.fault, fault.expected, _status(fault, outcome, tests), _folded(tests)


def _status(fault: Fault, outcome: ChaosOutcome | None, tests: list[str]) -> str:
    if fault.pending is not None:
        return f"not built: {fault.pending}"
    if not tests:
        return "**no test**"
    counts = {} if outcome is None else outcome.rows.get(fault.id, {})
    survived, failed = counts.get("passed", 0), counts.get("failed", 0)
    if not survived + failed:
        return "not in the last run"
    skipped = f", {counts['skipped']} skipped" if counts.get("skipped") else ""
    return f"{survived:,} of {survived + failed:,} survived{skipped}"


def _folded(tests: list[str]) -> str:
    if not tests:
        return ""
    listed = "<br>".join(map(code, tests))
    return f"<details><summary>{len(tests)} tests</summary>{listed}</details>"


def _claims_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Rows and names of tests: marks of the module, of a class, of a function, and of parameters a function names."""
    named = {
        target.id: list(_rows(node.value))
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    yield from _claims_within(tree, named.pop("pytestmark", []), named)


def _claims_within(
    parent: ast.Module | ast.ClassDef, inherited: list[str], named: Mapping[str, list[str]]
) -> Iterator[tuple[str, str]]:
    for node in parent.body:
        if isinstance(node, ast.ClassDef):
            own = [row for decorator in node.decorator_list for row in _rows(decorator, named)]
            yield from _claims_within(node, [*inherited, *own], named)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            own = [row for decorator in node.decorator_list for row in _rows(decorator, named)]
            yield from ((row, node.name) for row in (*inherited, *own))


def _rows(tree: ast.AST, named: Mapping[str, list[str]] | None = None) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="fault"), args=args):
                yield from (str(each.value) for each in args if isinstance(each, ast.Constant))
            case ast.Name(id=name) if named is not None:
                yield from named.get(name, ())


if __name__ == "__main__":
    sys.exit(main())
