"""Throw-away environments under `bench/peers/`, one for each peer at a fixed version."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ENVIRONMENTS = _HERE / "peers" / ".venvs"
_INSTALL_SECONDS = 600


def environment(name: str, requirement: str, *, install: bool) -> Path:
    """The `bin` folder of a peer's environment, which is made if it is not there.

    Raises:
        FileNotFoundError: It is not there and is not to be made, or there is no `uv`.
        subprocess.SubprocessError: It could not be made.
    """
    home = _ENVIRONMENTS / name
    ready = home / "ready"
    if ready.is_file() and ready.read_text() == requirement:
        return home / "bin"
    uv = shutil.which("uv") or shutil.which(_HERE.parent / ".tools" / "uv" / "bin" / "uv")
    if not install or uv is None:
        raise FileNotFoundError("it is not installed; `--peers` installs it" if not install else "there is no `uv`")
    shutil.rmtree(home, ignore_errors=True)
    make = [uv, "venv", "--quiet", "--no-project", "--python", sys.executable, str(home)]
    fill = [uv, "pip", "install", "--quiet", "--python", str(home / "bin" / "python"), requirement]
    for command in (make, fill):
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    ready.write_text(requirement)
    return home / "bin"


def reason(failure: Exception) -> str:
    """Why a peer is left out, in a line."""
    said = failure.stderr if isinstance(failure, subprocess.CalledProcessError) else None
    return (said or "").strip().splitlines()[-1] if (said or "").strip() else str(failure)
