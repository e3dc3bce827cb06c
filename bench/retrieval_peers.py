"""Other retrievers on the same sets, each at a fixed version in a throw-away environment under `bench/peers/`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval_sets import RetrievalSet

_HERE = Path(__file__).resolve().parent
_ENVIRONMENTS = _HERE / "peers"
_INSTALL_SECONDS = 600
_RUN_SECONDS = 1_800


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A retriever of `retrieval_peer_worker.py` and what it needs installed; the slow ones get fewer queries."""

    name: str
    requirements: tuple[str, ...] = ()
    most_queries: int = 2_500


@dataclass(frozen=True, kw_only=True)
class PeerRun:
    """What a peer found for the first queries of a set, and how long it took, in seconds of CPU."""

    version: str
    rankings: Sequence[Sequence[str]]
    build_seconds: float
    query_seconds: Sequence[float]


PEERS = (
    Peer(name="fts5"),
    Peer(name="bm25s", requirements=("bm25s==0.3.16", "PyStemmer==3.1.0")),
    Peer(name="rank-bm25", requirements=("rank-bm25==0.2.2",)),
    Peer(name="tantivy", requirements=("tantivy==0.27.0",)),
    Peer(name="fastmcp", requirements=("fastmcp==4.1.2",)),
    Peer(name="contextweaver", requirements=("contextweaver==0.18.2",), most_queries=300),
)


def run_peer(peer: Peer, judged: RetrievalSet, *, depth: int) -> PeerRun | str:
    """Run a peer on a set; a sentence that says why when it cannot be had."""
    try:
        python = _environment(peer)
        queries = [query.text for query in judged.queries[: peer.most_queries]]
        job = {"tools": [_tool(each) for each in judged.definitions], "queries": queries, "depth": depth}
        done = subprocess.run(
            [python, str(_HERE / "retrieval_peer_worker.py"), peer.name],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=_RUN_SECONDS,
            check=True,
        )
    except subprocess.CalledProcessError as failure:
        return f"left out, it failed: {(failure.stderr or '').strip().splitlines()[-1:] or failure}"
    except (OSError, subprocess.TimeoutExpired) as failure:
        return f"left out: {failure}"
    found = json.loads(done.stdout)
    ids = [judged.ids[each.id] for each in judged.definitions]
    return PeerRun(
        version=f"{peer.name} {found['version']}",
        rankings=[[ids[row] for row in ranking] for ranking in found["rankings"]],
        build_seconds=found["build"],
        query_seconds=found["seconds"],
    )


def _environment(peer: Peer) -> str:
    if not peer.requirements:
        return sys.executable
    home = _ENVIRONMENTS / peer.name
    python = home / "bin" / "python"
    if not (home / "ready").is_file():
        uv = shutil.which("uv")
        make = [uv, "venv", "--quiet", str(home)] if uv else [sys.executable, "-m", "venv", str(home)]
        install = (
            [uv, "pip", "install", "--quiet", "--python", str(python)]
            if uv
            else [str(python), "-m", "pip", "install", "-q"]
        )
        shutil.rmtree(home, ignore_errors=True)
        for command in (make, [*install, *peer.requirements]):
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
        (home / "ready").touch()
    return str(python)


def _tool(definition: Any) -> dict[str, Any]:
    properties = definition.input_schema.get("properties") or {}
    return {
        "namespace": "" if definition.namespace == "default" else definition.namespace,
        "name": definition.name,
        "description": definition.description,
        "parameters": {name: _prose(value) for name, value in properties.items()},
    }


def _prose(schema: object) -> str:
    return str(schema.get("description") or "") if isinstance(schema, Mapping) else ""
