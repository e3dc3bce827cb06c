"""Dependencies declared in each pyproject match what the package imports."""

from __future__ import annotations

import pytest

from checks.declared_dependencies import undeclared
from checks.workspace import Package, find_packages
from tests.architecture.tree_copy import TreeCopy

pytestmark = [pytest.mark.req("AR-9.2"), pytest.mark.fault("J1")]


@pytest.mark.req("D1-10i", "D1-8a")
@pytest.mark.parametrize("package", find_packages(), ids=lambda package: package.name)
def test_a_package_declares_what_it_imports(package: Package) -> None:
    assert undeclared(package) == []


@pytest.mark.req("D1-10i", "D1-9c")
@pytest.mark.parametrize(
    ("imported", "code"),
    [
        pytest.param("no_such_distribution", "DEP001", id="nowhere installed"),
        pytest.param("yaml", "DEP003", id="installed for a sibling"),
        pytest.param("annotated_types", "DEP003", id="installed for a dependency"),
        pytest.param("toolcrib_store", "DEP003", id="a sibling"),
    ],
)
def test_an_import_without_a_declaration_is_found(tree: TreeCopy, imported: str, code: str) -> None:
    tree.plant("toolcrib_core.planted", f"import {imported}\n")

    findings = undeclared(tree.packages["toolcrib_core"])

    assert [finding for finding in findings if code in finding and imported in finding]


@pytest.mark.req("D1-10i")
def test_a_declaration_without_an_import_is_found(tree: TreeCopy) -> None:
    tree.edit("packages/core/pyproject.toml", "dependencies = [", 'dependencies = [\n    "rich>=14",')

    findings = undeclared(tree.packages["toolcrib_core"])

    assert [finding for finding in findings if "DEP002" in finding and "rich" in finding]
