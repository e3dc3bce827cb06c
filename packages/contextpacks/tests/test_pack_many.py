"""Many at once: writers of one document, makers of one name, and processes that are killed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from pack_cases import Bench, bench, document, section
from sqlalchemy import text

from toolcrib_contextpacks import PACKS_LINE, ContextPacks, RevisionConflict
from toolcrib_store import open_store

pytestmark = pytest.mark.req("CP-17")

_WRITERS, _WRITES = 8, 100
_NAMES = 200
_ROUNDS = 25
_WITHOUT_HISTORY = """
SELECT count(*) FROM packs
WHERE revision != (SELECT max(h.revision) FROM pack_history h WHERE h.pack_id = packs.id)
"""

# Two of these race: each says that it is ready, hears a number, and tries to be the first to have that name.
_RACER = """
import sys
from toolcrib_contextpacks import PACKS_LINE, ContextPacks, PackConflict
from toolcrib_store import open_store

packs = ContextPacks(open_store(sys.argv[1], lines=[PACKS_LINE]))
print("ready", flush=True)
for number in sys.stdin:
    try:
        packs.write({"name": f"race-{number.strip()}", "sections": []})
        print("won", flush=True)
    except PackConflict as conflict:
        print(conflict.reason, flush=True)
"""

# Each writer is a fork of one process that has imported everything.
_KILLER = """
import os, random, signal, sys
from toolcrib_contextpacks import PACKS_LINE, ContextPacks
from toolcrib_store import open_store

chance = random.Random(7)

def write(life, pipe):
    packs = ContextPacks(open_store(sys.argv[1], lines=[PACKS_LINE]))
    for number in range(10_000):
        name = f"life-{life}-{number}"
        text = "x" * chance.choice([10, 5_000, 50_000])
        pack = packs.write({"name": name, "sections": [{"key": "aa", "title": "A", "description": text}]}).pack
        os.write(pipe, f"{name} 1\\n".encode())
        packs.write({"sections": []}, pack_id=pack.id, expected_revision=1)
        os.write(pipe, f"{name} 2\\n".encode())

for life in range(int(sys.argv[2])):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write(life, writing)
    os.close(writing)
    told = os.read(reading, 1)
    for _ in range(chance.randrange(4)):
        told += os.read(reading, chance.randrange(1, 60))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reading, 65536):
        told += more
    os.close(reading)
    sys.stdout.write(told.decode())
"""


@pytest.mark.slow
@pytest.mark.fault("G4")
@pytest.mark.req("D2-7.62g")
def test_eight_writers_of_one_document_lose_no_write() -> None:
    # In memory where there is such a folder: this is about turns, and waiting for the disk 800 times proves nothing.
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder, bench(Path(folder)) as packs:
        pack = packs.packs.write(document(section("log", "0"))).pack
        wrong: list[BaseException] = []

        def write() -> None:
            try:
                for _ in range(_WRITES):
                    _add_one(packs, pack.id)
            except BaseException as error:  # noqa: BLE001  # told below
                wrong.append(error)

        writers = [threading.Thread(target=write) for _ in range(_WRITERS)]
        for each in writers:
            each.start()
        for each in writers:
            each.join()
        after = packs.packs.get(pack_id=pack.id)

    assert wrong == []
    assert after.document.sections[0].description == str(_WRITERS * _WRITES)
    assert after.revision == 1 + _WRITERS * _WRITES


def _add_one(packs: Bench, pack_id: str) -> None:
    """Read, add one, and write it back, until nobody was quicker."""
    revision = None
    while True:
        before = packs.packs.get(pack_id=pack_id)
        assert revision is None or before.revision >= revision
        number = int(before.document.sections[0].description or 0) + 1
        try:
            packs.packs.write(document(section("log", str(number))), pack_id=pack_id, expected_revision=before.revision)
        except RevisionConflict as conflict:
            revision, changed = conflict.details["current_revision"], conflict.details["changed_section_keys"]
        else:
            return
        assert changed == ["log"]


@pytest.mark.slow
def test_of_two_processes_that_make_one_name_exactly_one_wins(store_url: str) -> None:
    open_store(store_url, lines=[PACKS_LINE]).close()
    command = [sys.executable, "-c", _RACER, store_url]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) for _ in range(2)
    ]
    outcomes = []
    try:
        assert [_heard(each) for each in racers] == ["ready", "ready"]
        for number in range(_NAMES):
            # Both have it in their pipes before either is asked for the answer; who is told first takes turns.
            for each in racers if number % 2 else reversed(racers):
                _tell(each, str(number))
            outcomes.append(sorted(_heard(each) for each in racers))
    finally:
        for each in racers:
            each.communicate(timeout=20)

    assert outcomes == [["conflict", "won"]] * _NAMES
    with open_store(store_url, lines=[PACKS_LINE]) as store, store.reading() as connection:
        assert connection.scalar(text("SELECT count(DISTINCT name) FROM packs")) == _NAMES
        assert connection.scalar(text("SELECT count(*) FROM packs")) == _NAMES


def _tell(racer: subprocess.Popen[str], line: str) -> None:
    assert racer.stdin is not None
    racer.stdin.write(f"{line}\n")
    racer.stdin.flush()


def _heard(racer: subprocess.Popen[str]) -> str:
    assert racer.stdout is not None
    return racer.stdout.readline().strip()


@pytest.mark.slow
def test_nothing_that_was_acknowledged_is_lost_to_a_kill(tmp_path: Path) -> None:
    file = tmp_path / "packs.db"
    open_store(file, lines=[PACKS_LINE]).close()
    killing = [sys.executable, "-c", _KILLER, str(file), str(_ROUNDS)]

    told = subprocess.run(killing, capture_output=True, text=True, timeout=120, check=True).stdout

    acknowledged = {line.split()[0]: int(line.split()[1]) for line in told.splitlines() if line.count(" ") == 1}
    with open_store(file, lines=[PACKS_LINE]) as store:
        packs = ContextPacks(store)
        lost = [name for name, revision in acknowledged.items() if packs.get(name=name).revision < revision]
        with store.reading() as connection:
            integrity = connection.scalar(text("PRAGMA integrity_check"))
            forgotten = connection.scalar(text(_WITHOUT_HISTORY))
    assert len(acknowledged) >= _ROUNDS
    assert lost == []
    assert integrity == "ok"
    assert forgotten == 0


def test_what_two_processes_share_is_the_same_document(packs: Bench) -> None:
    made = packs.input("write", document=document(name="shared"))
    read = (
        "import json, sys; from toolcrib_contextpacks import *; from toolcrib_store import open_store;"
        "packs = ContextPacks(open_store(sys.argv[1], lines=[PACKS_LINE]));"
        "pack = packs.adopt(packs.get(name='shared'));"
        "print(json.dumps([pack.id, pack.revision]))"
    )

    told = subprocess.run(
        [sys.executable, "-c", read, str(packs.store.file)], capture_output=True, text=True, timeout=60, check=False
    )

    # The clock of the test is in the future, and that of the other process is not: the pack lives on there.
    assert json.loads(told.stdout) == [made["id"], 1]
