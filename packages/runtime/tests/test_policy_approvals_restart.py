"""Approvals outlive the process that asked for them, and stay good for one call; with real processes."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import approving_process
import pytest

SECRET = "a secret that is kept"


async def _in_a_new_process(directory: Path, **given: object) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        approving_process.__file__,
        str(directory),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30):
        answer, _ = await process.communicate(json.dumps({"secret": SECRET, **given}).encode())
    assert process.returncode == 0
    return dict(json.loads(answer))


def _runs(directory: Path) -> int:
    runs = directory / "runs"
    return len(runs.read_text(encoding="utf-8").splitlines()) if runs.exists() else 0


@pytest.mark.req("RT-10")
async def test_an_approval_survives_restarts_between_the_question_the_answer_and_each_use(tmp_path: Path) -> None:
    asked = await _in_a_new_process(tmp_path)
    granted = await _in_a_new_process(tmp_path, pending=asked["action"])
    first = await _in_a_new_process(tmp_path, token=granted["token"])
    second = await _in_a_new_process(tmp_path, token=granted["token"])

    assert [each["outcome"] for each in (asked, first, second)] == ["action_required", "success", "error"]
    assert second["error"]["details"] == {"reason": "spent"}
    assert _runs(tmp_path) == 1


@pytest.mark.req("RT-10")
async def test_processes_that_use_the_same_approval_at_once_run_the_call_once(tmp_path: Path) -> None:
    asked = await _in_a_new_process(tmp_path)
    granted = await _in_a_new_process(tmp_path, pending=asked["action"])

    results = await asyncio.gather(*(_in_a_new_process(tmp_path, token=granted["token"]) for _ in range(3)))

    assert sorted(each["outcome"] for each in results) == ["error", "error", "success"]
    assert _runs(tmp_path) == 1


@pytest.mark.req("RT-10")
async def test_after_a_restart_with_another_secret_the_approval_is_void(tmp_path: Path) -> None:
    asked = await _in_a_new_process(tmp_path)
    granted = await _in_a_new_process(tmp_path, pending=asked["action"])

    result = await _in_a_new_process(tmp_path, secret="another secret now", token=granted["token"])

    assert result["error"]["details"] == {"reason": "signature"}
    assert _runs(tmp_path) == 0
