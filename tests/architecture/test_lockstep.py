"""One version for all packages, siblings pinned to it, types shipped: uv checks none of this between its members."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from checks.workspace import Package, find_packages
from tests.architecture.tree_copy import TreeCopy

pytestmark = pytest.mark.fault("J1")


def _requirements(package: Package) -> list[Requirement]:
    extras = package.project.get("optional-dependencies", {}).values()
    lines = [*package.project["dependencies"], *(line for extra in extras for line in extra)]
    return [Requirement(line) for line in lines]


def _problems(packages: Iterable[Package]) -> list[str]:
    packages = tuple(packages)
    version = next(package.project["version"] for package in packages if package.module == "toolcrib_core")
    names = {package.name for package in packages}
    problems = [f"{package.name} has another version" for package in packages if package.project["version"] != version]
    for package in packages:
        if not (package.source / "py.typed").is_file():
            problems.append(f"{package.name} has no py.typed")
        problems += [
            f"{package.name} does not pin {required.name} to {version}"
            for required in _requirements(package)
            if required.name in names and required.specifier != SpecifierSet(f"=={version}")
        ]
    return problems


@pytest.mark.req("D1-9a")
def test_all_packages_have_one_version_exact_sibling_pins_and_types() -> None:
    assert _problems(find_packages()) == []


def test_another_version_of_one_package_is_found(tree: TreeCopy) -> None:
    tree.edit("packages/store/pyproject.toml", 'version = "0.1.0"', 'version = "0.2.0"')

    assert _problems(tree.packages.values()) == ["toolcrib-store has another version"]


@pytest.mark.parametrize("pin", ["==0.2.0", ">=0.1.0", ""])
def test_a_sibling_that_is_not_pinned_to_the_version_is_found(tree: TreeCopy, pin: str) -> None:
    tree.edit("packages/mcp/pyproject.toml", "toolcrib-core==0.1.0", f"toolcrib-core{pin}")

    assert _problems(tree.packages.values()) == ["toolcrib-mcp does not pin toolcrib-core to 0.1.0"]


def test_a_missing_marker_of_types_is_found(tree: TreeCopy) -> None:
    (tree.packages["toolcrib_gemini"].source / "py.typed").unlink()

    assert _problems(tree.packages.values()) == ["toolcrib-gemini has no py.typed"]


def test_every_python_version_that_is_promised_is_the_same() -> None:
    assert {package.project["requires-python"] for package in find_packages()} == {">=3.11"}
