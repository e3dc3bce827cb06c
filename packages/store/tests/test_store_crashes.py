"""Killed while writing, again and again: what was acknowledged is there, and nothing is damaged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from toolcrib_store import Artifacts, Owner, open_store

_ROUNDS = 200

# Each writer is a fork of one process that has imported everything: 200 starts of Python would take minutes.
_KILLER = """
import os, random, signal, sys
from pathlib import Path
from toolcrib_store import Artifacts, Owner, open_store

file, chance = Path(sys.argv[1]), random.Random(11)

def write(life, pipe):
    kept = Artifacts(open_store(file))
    for number in range(10_000):
        content = f"{life}-{number}:".encode() + b"x" * chance.choice([100, 20_000, 600_000])
        info = kept.put(content, owner=Owner(principal="p"), media_type="t", kind="k", source="s")
        os.write(pipe, f"{life}-{number} {info.handle}\\n".encode())

for life in range(int(sys.argv[2])):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write(life, writing)
    os.close(writing)
    told = os.read(reading, 1)  # it has begun to write; kill it somewhere in the middle of what follows
    for _ in range(chance.randrange(4)):
        told += os.read(reading, chance.randrange(1, 200))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reading, 65536):
        told += more
    os.close(reading)
    sys.stdout.write(told.decode())
"""


@pytest.mark.slow
@pytest.mark.req("GW-7.4")
@pytest.mark.fault("G8")
def test_nothing_that_was_acknowledged_is_lost_to_a_kill(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    open_store(file).close()

    told = subprocess.run(
        [sys.executable, "-c", _KILLER, str(file), str(_ROUNDS)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    ).stdout

    acknowledged = [line.split() for line in told.splitlines() if line.count(" ") == 1]
    with open_store(file) as store:
        kept = Artifacts(store)
        lost = [name for name, handle in acknowledged if not _is_there(kept, handle, name)]
        with store.reading() as connection:
            integrity = connection.scalar(text("PRAGMA integrity_check"))
    assert len(acknowledged) >= _ROUNDS
    assert lost == []
    assert integrity == "ok"


def _is_there(kept: Artifacts, handle: str, name: str) -> bool:
    return kept.read(handle, owner=Owner(principal="p"), stop=40).startswith(f"{name}:".encode())
