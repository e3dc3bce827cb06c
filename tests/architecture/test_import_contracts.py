"""The contracts of .importlinter cover every package, and each of them bites."""

from __future__ import annotations

import configparser
import re

import pytest

from checks.workspace import ROOT, find_packages
from tests.architecture.tree_copy import TreeCopy, copy_tree_to

pytestmark = pytest.mark.req("AR-9.1")

# One forbidden import per line: who, whom, and the contract that must say so.
PLANTED = [
    ("toolcrib_core", "toolcrib_runtime", "Packages stand in layers"),
    ("toolcrib_core", "toolcrib_openai", "Packages stand in layers"),
    ("toolcrib_runtime", "toolcrib_store", "Packages stand in layers"),
    ("toolcrib_store", "toolcrib_runtime", "Packages stand in layers"),
    ("toolcrib_semantic", "toolcrib_store", "Packages stand in layers"),
    ("toolcrib_runtime", "toolcrib_cli", "Packages stand in layers"),
    ("toolcrib_mcp", "toolcrib_toolsets", "Packages stand in layers"),
    ("toolcrib_toolsets", "toolcrib_toolpacks", "Packages stand in layers"),
    ("toolcrib_cli", "toolcrib", "Packages stand in layers"),
    ("toolcrib_gemini", "toolcrib_anthropic", "Adapters are independent of each other"),
    ("toolcrib_mcp", "toolcrib_openai", "Only the command line wires adapters and semantic search to the rest"),
    ("toolcrib_contextpacks", "toolcrib_semantic", "Only the command line wires adapters and semantic search"),
    ("toolcrib_toolpacks", "toolcrib_store", "Toolpacks keep nothing in the store"),
    ("toolcrib_core", "asyncio", "Core does no I/O and knows no vendor"),
    ("toolcrib_core", "subprocess", "Core does no I/O and knows no vendor"),
    ("toolcrib_core", "sqlite3", "Core does no I/O and knows no vendor"),
    ("toolcrib_core", "httpx", "Core does no I/O and knows no vendor"),
    ("toolcrib_core", "mcp", "Core does no I/O and knows no vendor"),
    ("toolcrib_core", "google", "Core does no I/O and knows no vendor"),
    ("toolcrib_toolsets", "mcp", "Only the mcp package speaks MCP"),
    ("toolcrib_runtime", "openai", "Only the mcp package speaks MCP"),
]


def _lint(tree: TreeCopy) -> str:
    run = tree.run("-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache", "--no-logo")
    return f"{run.stdout}{run.stderr}\nexit code {run.returncode}"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What lint-imports says of a copy with every planted import in it."""
    tree = copy_tree_to(tmp_path_factory.mktemp("broken"))
    for index, (importer, imported, _) in enumerate(PLANTED):
        tree.plant(f"{importer}.planted_{index}", f"import {imported}\n")
    return _lint(tree)


@pytest.mark.req("D1-10f", "D1-10h")
def test_every_package_is_placed_in_the_layers() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter", encoding="utf-8")
    modules = {package.module for package in find_packages()}

    roots = set(config["importlinter"]["root_packages"].split())
    placed = set(config["importlinter:contract:layers"]["layers"].replace("|", " ").split())

    assert roots == modules
    assert placed == modules


@pytest.mark.req("D1-0z", "D1-10c", "D1-10e", "D1-10g", "D1-7k")
def test_the_tree_as_it_stands_keeps_every_contract(tree: TreeCopy) -> None:
    report = _lint(tree)

    assert re.search(r"Contracts: \d+ kept, 0 broken", report)
    assert report.endswith("exit code 0")


@pytest.mark.req("D1-0z", "D1-10c", "D1-10e", "D1-10g", "D1-10h", "D1-7k", "D1-9b")
@pytest.mark.fault("J2")
@pytest.mark.parametrize(("importer", "imported", "contract"), PLANTED)
def test_a_forbidden_import_breaks_its_contract(broken: str, importer: str, imported: str, contract: str) -> None:
    index = PLANTED.index((importer, imported, contract))
    sections = re.split(r"\n(?=[^\n]+\n-+\n)", broken)

    told = [section for section in sections if section.startswith(contract)]

    assert any(f"{importer}.planted_{index}" in section for section in told)
    assert broken.endswith("exit code 1")


@pytest.mark.req("D1-9b")
@pytest.mark.fault("J2")
def test_an_import_cycle_between_packages_breaks_the_layers(tree: TreeCopy) -> None:
    tree.plant("toolcrib_runtime.planted", "import toolcrib_mcp.planted\n")
    tree.plant("toolcrib_mcp.planted", "import toolcrib_runtime.planted\n")

    report = _lint(tree)

    assert "toolcrib_runtime.planted -> toolcrib_mcp.planted" in report
    assert report.endswith("exit code 1")
