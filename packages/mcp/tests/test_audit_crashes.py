"""Processes that write at once, and processes that are killed while they write: the chain holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from audit_cases import place_in, records_of

pytestmark = pytest.mark.req("GW-8.6")

_ROUNDS = 20

# Each writer is a fork of one process that has imported everything; it is killed somewhere in what it writes.
_KILLED = """
import os, random, signal, sys, time
from pathlib import Path
from audit_cases import call, place_in

chance = random.Random(8)
directory = Path(sys.argv[1])
with place_in(directory):
    pass
for life in range(int(sys.argv[2])):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with place_in(directory) as place:
            journal = place.journal()
            journal.note(call(0))
            number = 0
            while True:
                number += 1
                journal.note(call(number))
                if number == 50:
                    os.write(writing, b"!")
                time.sleep(0.0005)
    os.read(reading, 1)
    time.sleep(chance.random() * 0.5)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
"""

_WRITER = """
import sys
from pathlib import Path
from audit_cases import call, place_in

with place_in(Path(sys.argv[1])) as place:
    journal = place.journal()
    sys.stdin.readline()
    for number in range(int(sys.argv[2])):
        journal.note(call(number, principal=sys.argv[3]))
    journal.close()
"""


@pytest.mark.slow
@pytest.mark.fault("G8")
def test_a_kill_leaves_a_chain_that_holds(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path / "state"), str(_ROUNDS)],
        timeout=280,
        check=True,
        cwd=Path(__file__).parent,
    )

    with place_in(tmp_path / "state") as place:
        verdict = place.verify()

    assert json.dumps([each.told() for each in verdict.faults]) == "[]"
    assert len(verdict.segments) == _ROUNDS
    assert {each.state for each in verdict.segments} == {"cut-off"}
    assert verdict.records > _ROUNDS


def test_two_processes_write_at_once_and_neither_waits_for_the_other(tmp_path: Path) -> None:
    with place_in(tmp_path / "state"):
        pass
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path / "state"), "1000", name],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parent,
        )
        for name in ("ada", "grace")
    ]
    for each in writers:
        assert each.stdin is not None
        each.stdin.write(b"go\n")
        each.stdin.flush()
    for each in writers:
        each.communicate(timeout=200)

    with place_in(tmp_path / "state") as place:
        verdict = place.verify()
        principals = [{str(each.fields["principal"]) for each in records_of(file)[1:-1]} for file in place.files()]

    assert (verdict.is_whole, verdict.records) == (True, 2_004)
    assert sorted(map(sorted, principals)) == [["ada"], ["grace"]]
