"""A copy of the packages that a test may break."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from checks.workspace import ROOT, Package, find_packages


@dataclass(frozen=True)
class TreeCopy:
    """The packages and their configuration, without tests, in a folder of its own."""

    root: Path

    @property
    def packages(self) -> dict[str, Package]:
        """By import name."""
        return {package.module: package for package in find_packages(self.root)}

    def plant(self, module: str, source: str) -> None:
        """Write a module, named with dots, into the copy."""
        package, _, rest = module.partition(".")
        self.packages[package].source.joinpath(*rest.split(".")).with_suffix(".py").write_text(source, "utf-8")

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text that stands in a file of the copy."""
        path = self.root / file
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a module of Python in the copy, whose packages hide the installed ones."""
        sources = os.pathsep.join(str(package.folder / "src") for package in self.packages.values())
        environment = os.environ | {"PYTHONPATH": sources, "PYTHONDONTWRITEBYTECODE": "1"}
        command = (sys.executable, *command)
        return subprocess.run(command, cwd=self.root, env=environment, check=False, capture_output=True, text=True)


def copy_tree_to(root: Path) -> TreeCopy:
    """Copy the sources of all packages, and what configures their checks, into an empty folder."""
    for package in find_packages(ROOT):
        target = root / package.folder.relative_to(ROOT)
        shutil.copytree(package.folder / "src", target / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(package.folder / name, target / name)
    for name in ("pyproject.toml", ".importlinter"):
        shutil.copy(ROOT / name, root / name)
    return TreeCopy(root)
