"""Killed while writing, again and again: what was acknowledged is there, and nothing is damaged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_ROUNDS = 20
_ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
@pytest.mark.req("GW-7.4", "CP-17", "RT-7")
@pytest.mark.fault("G8")
def test_nothing_that_was_acknowledged_is_lost_to_a_kill(store_url: str) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "tests.chaos.store_kills", f"--rounds={_ROUNDS}", f"--target={store_url}", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=_ROOT,
    )

    judgement = json.loads(told.stdout)
    assert judgement["acknowledged"] >= _ROUNDS
    assert (judgement["lost"], judgement["problems"]) == ([], [])
