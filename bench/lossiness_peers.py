"""What other converters make of the schemas of docs/reference/lossiness.md: `lossiness_peers.json` is the record.

uv run python bench/lossiness_peers.py    installs each at a fixed version under `bench/peers/`, and renews the record
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from peer_environments import environment, reason

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

from checks.reference_pages.lossiness_cases import CASES

_HERE = Path(__file__).resolve().parent
_RECORD = _HERE / "lossiness_peers.json"
_RUN_SECONDS = 120

REQUIREMENTS = {
    "anthropic": "anthropic==0.125.0",
    "google-genai": "google-genai==2.34.0",
    "langchain-core": "langchain-core==1.7.2",
    "openai": "openai==2.54.0",
    "openai-agents": "openai-agents==0.24.0",
    "pydantic-ai": "pydantic-ai-slim[openai,google]==2.66.0",
    "toolregistry": "toolregistry==0.19.0",
}


def main() -> None:
    """Ask every peer, and write down what each of them says."""
    asked = json.dumps({case.name: case.schema for case in CASES})
    record: dict[str, Any] = {}
    for name, requirement in REQUIREMENTS.items():
        try:
            python = environment(f"lossiness-{name}", requirement, install=True) / "python"
            command = [str(python), str(_HERE / "lossiness_peer_worker.py"), name]
            done = subprocess.run(
                command, input=asked, capture_output=True, text=True, timeout=_RUN_SECONDS, check=True
            )
        except (OSError, subprocess.SubprocessError) as failure:
            print(f"{name} is left out: {reason(failure)}", file=sys.stderr)
        else:
            record |= json.loads(done.stdout)
    _RECORD.write_text(_lines(record), encoding="utf-8")


def _lines(record: dict[str, dict[str, Any]]) -> str:
    """JSON with a line for each schema, so that a change is seen where it is."""
    peers = []
    for label, made in sorted(record.items()):
        cases = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each, sort_keys=True)}" for name, each in made.items())
        peers.append(f" {json.dumps(label)}: {{\n{cases}\n }}")
    return "{\n" + ",\n".join(peers) + "\n}\n"


if __name__ == "__main__":
    main()
