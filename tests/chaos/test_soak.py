"""The soak: a served gateway under mixed load holds no more at the end than after its warm-up, and swaps no answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checks.workspace import ROOT
from tests.chaos.soak_samples import Sample, grown, is_alive, read_process

needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to see what is held")
HELD = Sample(memory=100.0, descriptors=50, threads=5, processes=9, tasks=130, sessions=32)
SOAK_SECONDS = 840


def test_what_is_held_may_grow_within_its_bounds_and_not_beyond() -> None:
    within = Sample(memory=131.0, descriptors=60, threads=8, processes=9, tasks=150, sessions=33)
    beyond = Sample(memory=140.0, descriptors=500, threads=5, processes=19, tasks=1_130, sessions=64)

    assert grown(HELD, within) == []
    assert grown(HELD, beyond) == [
        "memory grew from 100 to 140, and may by 32",
        "descriptors grew from 50 to 500, and may by 16",
        "processes grew from 9 to 19, and may by 2",
        "tasks grew from 130 to 1130, and may by 24",
        "sessions grew from 32 to 64, and may by 8",
    ]


@needs_proc
def test_a_process_is_read_with_all_that_descends_from_it() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        # Until the program has taken the place of what started it.
        while not is_alive(child.pid, "input()"):
            time.sleep(0.01)
        held = read_process(os.getpid())
        lives = is_alive(child.pid, "input()"), is_alive(child.pid, "another")
    finally:
        child.communicate(b"\n")

    assert held["processes"] >= 2
    assert held["memory"] > 1
    assert held["descriptors"] >= 3
    assert lives == (True, False)
    assert not is_alive(child.pid, "input()")


@needs_proc
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(SOAK_SECONDS + 60)
@pytest.mark.fault("F15", "F16")
def test_a_gateway_under_mixed_load_and_faults_swaps_no_answer_and_holds_no_more_than_before(tmp_path: Path) -> None:
    arguments = ["--minutes=2", "--clients=64", "--json", f"--folder={tmp_path}"]
    # It takes every core that it can get; what runs beside it comes first.
    behind = ["nice", "-n", "5"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'scripts'}{os.pathsep}{ROOT}"}

    done = subprocess.run(
        [*behind, sys.executable, "-m", "tests.chaos.soak", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SOAK_SECONDS,
    )

    assert done.stdout, done.stderr
    judged = json.loads(done.stdout)
    assert judged["problems"] == []
    assert judged["outcomes"]["call answered"] > 0
    assert judged["kills"] > 0
    assert judged["started"] > 9
