"""The packages of the workspace, read from their pyproject files."""

from __future__ import annotations

import os
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = ("packages/*", "packages/adapters/*")  # as in [tool.uv.workspace]


@dataclass(frozen=True, kw_only=True)
class Package:
    """One distribution of the workspace."""

    folder: Path
    project: dict[str, Any]
    module: str
    """The import name."""

    @property
    def name(self) -> str:
        """The name of the distribution."""
        return str(self.project["name"])

    @property
    def source(self) -> Path:
        """The folder that holds the import package."""
        return self.folder / "src" / self.module


def find_packages(root: Path = ROOT) -> tuple[Package, ...]:
    """All packages below `root`, ordered by the name of their distribution."""
    files = [file for pattern in _FOLDERS for file in root.glob(f"{pattern}/pyproject.toml")]
    return tuple(sorted((_read_package(file) for file in files), key=lambda package: package.name))


def find_uv() -> str | None:
    """The uv that the scripts chose, else the one on PATH, else nothing."""
    return os.environ.get("UV") or shutil.which("uv") or shutil.which(ROOT / ".tools/uv/bin/uv")


def _read_package(file: Path) -> Package:
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    module = content["tool"]["uv"]["build-backend"]["module-name"]
    return Package(folder=file.parent, project=content["project"], module=module)
