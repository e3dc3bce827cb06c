"""Runs a program of `examples/` as its reader does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from checks.workspace import ROOT


def run_example(name: str, *arguments: str, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What an example prints and how it ends, with these variables beside our own."""
    return subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *arguments],
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
