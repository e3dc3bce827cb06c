"""Other tool runtimes on the same calls, each at a fixed version in a throw-away environment under `bench/peers/`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from peer_environments import environment, reason

_HERE = Path(__file__).resolve().parent
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
    for name, requirement in REQUIREMENTS.items():
        try:
            python = environment(name, requirement, install=install) / "python"
            version, run = _run(python, name, rounds)
        except (OSError, subprocess.SubprocessError) as failure:
            print(f"{name} is left out: {reason(failure)}", file=sys.stderr)
        else:
            runs[f"{name} {version}"] = run
    return runs


def _run(python: Path, name: str, rounds: int) -> tuple[str, PeerRun]:
    command = [str(python), str(_HERE / "runtime_peer_worker.py"), name, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_RUN_SECONDS, check=True)
    found = json.loads(done.stdout)
    calls = {key: round(value, 2) for key, value in found["calls"].items()}
    return found["version"], PeerRun(calls=calls, tool=round(found["tool"], 2))
