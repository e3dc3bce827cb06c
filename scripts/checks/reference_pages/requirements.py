"""Every requirement and every row of the fault matrix, with the files whose tests prove it.

The marks are read from the source and not by collecting, which takes twenty times as long. Files and not tests are
listed, so that the page changes when a promise gets another proof and not whenever a test gets another name.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from checks.reference_pages.tables import code, table
from checks.requirement_table import Row, build_rows
from checks.workspace import ROOT
from tests.statements import DOCUMENTS

_INTRODUCTION = """\
# Requirements and their tests

Every promise of the product has an id, and tests carry the ids they prove: `@pytest.mark.req("AR-1.1")`.
`scripts/requirements --json` lists the single tests; `scripts/test` fails when something that is built has none."""
_CONTRACTS = """\
# Contracts

toolcrib keeps to five source documents.
This page lists each testable statement of them, in our words, with the tests that prove it.
A deliberate deviation has its reason in place of a proof, and the requirement that decides it."""
_KINDS = ("req", "fault")
_TEST_FOLDERS = ("packages", "tests")


def render_requirements() -> str:
    """The page of all promises: requirements by their specification, then the fault matrix."""
    rows = [row for row in build_rows(_all_claims()) if not row.source.startswith("document ")]
    lines = [_INTRODUCTION]
    for source in dict.fromkeys(row.source for row in rows):
        here = [row for row in rows if row.source == source]
        title = "Faults" if source == "faults.md" else source.removesuffix(".md").capitalize()
        lines += ["", f"## {title}", ""]
        lines += table(("id", "promise", "proven in"), [(row.id, row.text, _proof(row)) for row in here])
    return "\n".join(lines) + "\n"


def render_contracts() -> str:
    """The page of the source documents: each statement, and its proof or the reason for deviating from it."""
    rows = {row.id: row for row in build_rows(_all_claims())}
    lines = [_CONTRACTS]
    for title, statements in DOCUMENTS.values():
        lines += ["", f"## {title}", ""]
        cells = [(each.id, each.section, each.text, _proof(rows[each.id])) for each in statements]
        lines += table(("id", "section", "statement", "proven in"), cells)
    return "\n".join(lines) + "\n"


def _all_claims() -> dict[tuple[str, str], set[str]]:
    return find_claims(path for folder in _TEST_FOLDERS for path in sorted((ROOT / folder).rglob("test_*.py")))


def find_claims(files: Iterator[Path]) -> dict[tuple[str, str], set[str]]:
    """By kind and id of a promise, the files in which a mark names it."""
    claims: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in files:
        text = path.read_text("utf-8")
        if "pytest.mark." in text:
            for kind, claimed in _marks(ast.parse(text)):
                claims[kind, claimed].add(path.relative_to(ROOT).as_posix())
    return claims


def _marks(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr=kind), args=args) if kind in _KINDS:
                for each in args:
                    if isinstance(each, ast.Constant):
                        yield kind, str(each.value)


def _proof(row: Row) -> str:
    if row.pending is not None:
        return f"not built: {row.pending}"
    files = "<br>".join(map(code, row.tests))
    remark = f"deviates: {row.deviation}" if row.deviation else row.note
    return "<br>".join(filter(None, (files, remark)))
