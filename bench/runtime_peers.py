"""Other tool runtimes on the same calls, each at a fixed version in a throw-away environment under `bench/peers/`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ENVIRONMENTS = _HERE / "peers" / ".venvs"
_INSTALL_SECONDS = 600
_RUN_SECONDS = 300

REQUIREMENTS = {
    "openai-agents": "openai-agents==0.24.0",
    "pydantic-ai": "pydantic-ai-slim==2.66.0",
    "langchain-core": "langchain-core==1.7.2",
}


@dataclass(frozen=True, kw_only=True)
class PeerRun:
    """What a peer costs against floors of its own process: a call of each sample, and the making of a tool."""

    calls: Mapping[str, float]
    tool: float


def run_peers(*, install: bool, rounds: int) -> dict[str, PeerRun]:
    """Measure every peer that is there, by name and version; one that is not is told on stderr."""
    runs = {}
    for name in REQUIREMENTS:
        try:
            python = _environment(name, install=install)
            version, run = _run(python, name, rounds)
        except (OSError, subprocess.SubprocessError) as failure:
            print(f"{name} is left out: {_reason(failure)}", file=sys.stderr)
        else:
            runs[f"{name} {version}"] = run
    return runs


def _run(python: Path, name: str, rounds: int) -> tuple[str, PeerRun]:
    command = [str(python), str(_HERE / "runtime_peer_worker.py"), name, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_RUN_SECONDS, check=True)
    found = json.loads(done.stdout)
    calls = {key: round(value, 2) for key, value in found["calls"].items()}
    return found["version"], PeerRun(calls=calls, tool=round(found["tool"], 2))


def _environment(name: str, *, install: bool) -> Path:
    home = _ENVIRONMENTS / name
    python, ready = home / "bin" / "python", home / "ready"
    if ready.is_file() and ready.read_text() == REQUIREMENTS[name]:
        return python
    uv = shutil.which("uv") or shutil.which(_HERE.parent / ".tools" / "uv" / "bin" / "uv")
    if not install or uv is None:
        raise FileNotFoundError("it is not installed; `--peers` installs it" if not install else "there is no `uv`")
    shutil.rmtree(home, ignore_errors=True)
    make = [uv, "venv", "--quiet", "--no-project", "--python", sys.executable, str(home)]
    fill = [uv, "pip", "install", "--quiet", "--python", str(python), REQUIREMENTS[name]]
    for command in (make, fill):
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    ready.write_text(REQUIREMENTS[name])
    return python


def _reason(failure: Exception) -> str:
    said = failure.stderr if isinstance(failure, subprocess.CalledProcessError) else None
    return (said or "").strip().splitlines()[-1] if (said or "").strip() else str(failure)
