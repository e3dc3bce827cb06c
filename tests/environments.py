"""Environments that tests make with uv, from versions that are the same on every day."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from typing import Final

from checks.workspace import ROOT, find_uv
from tests.real_parts import real_part_missing

_SECONDS: Final = 300


def run_uv(*arguments: str | Path) -> None:
    """Run uv to a good end, or skip the test where there is none."""
    failure = failure_of_uv(*arguments)
    assert not failure, failure


def failure_of_uv(*arguments: str | Path) -> str:
    """What uv says when it fails; nothing otherwise."""
    uv = find_uv()
    if uv is None:
        real_part_missing("uv is not on PATH")
    command = [uv, "--quiet", *map(str, arguments)]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=_SECONDS)
    return (run.stderr or f"uv ended with {run.returncode}") if run.returncode else ""


def newest_allowed() -> str:
    """The moment that the lock knows nothing newer than."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["uv"]["exclude-newer"])
