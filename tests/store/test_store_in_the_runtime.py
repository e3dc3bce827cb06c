"""A toolbox that keeps its calls and approvals in the store, through restarts, crashes and many processes."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from toolcrib_runtime import Ledger, SpentApprovals, ToolCall, create_tool, create_toolbox
from toolcrib_store import SqlLedger, SqlSpentApprovals, open_store

PROCESS = Path(__file__).with_name("calling_process.py")


async def a_life(directory: Path, *, ends: int = 0, **given: object) -> dict[str, Any]:
    """What one life of the application answers; `ends` is how it ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        PROCESS,
        directory,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        answer, _ = await process.communicate(json.dumps({"effects": "read", **given}).encode())
    assert process.returncode == ends
    return dict(json.loads(answer or "{}"))


def runs(directory: Path) -> int:
    file = directory / "runs"
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


def test_they_are_what_the_runtime_asks_for(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as store:
        for protocol, kept in ((Ledger, SqlLedger(store)), (SpentApprovals, SqlSpentApprovals(store))):
            methods = {name for name in vars(protocol) if not name.startswith("_")}
            assert methods <= set(dir(kept))


@pytest.mark.req("RT-7")
async def test_calls_with_one_key_at_once_run_once_and_all_are_given_the_same(store_url: str) -> None:
    ran = []

    def pay(amount: int) -> str:
        ran.append(amount)
        return f"paid {amount}"

    tool = create_tool(pay, namespace="bank", version="1.0.0", description="Pay.", effects="read")
    with open_store(store_url) as store:
        async with create_toolbox([tool], ledger=SqlLedger(store)) as toolbox:
            call = ToolCall(tool="bank:pay", arguments={"amount": 5}, idempotency_key="k")
            results = await asyncio.gather(*(toolbox.execute(call) for _ in range(20)))

    assert ran == [5]
    assert {result.value for result in results} == {"paid 5"}


@pytest.mark.slow
@pytest.mark.req("RT-7")
async def test_after_a_restart_the_same_key_is_given_the_first_result(store_url: str, tmp_path: Path) -> None:
    first = await a_life(tmp_path, target=store_url, key="k")
    second = await a_life(tmp_path, target=store_url, key="k")

    assert [each["outcome"] for each in (first, second)] == ["success", "success"]
    assert first["value"] == second["value"]
    assert runs(tmp_path) == 1


@pytest.mark.slow
@pytest.mark.req("RT-7")
@pytest.mark.fault("G8")
async def test_a_call_whose_process_was_killed_in_the_middle_is_never_run_again(tmp_path: Path) -> None:
    target = str(tmp_path / "a.db")
    await a_life(tmp_path, ends=-signal.SIGKILL, target=target, key="k", effects="write", die=True)

    second = await a_life(tmp_path, target=target, key="k", effects="write")

    assert second["error"]["category"] == "unknown_outcome"
    assert second["error"]["retryable"] is False
    assert runs(tmp_path) == 1


@pytest.mark.slow
@pytest.mark.req("RT-10")
async def test_an_approval_is_good_for_one_call_in_all_processes_together(store_url: str, tmp_path: Path) -> None:
    # A tool that does not say what it does asks first.
    asked = await a_life(tmp_path, target=store_url, effects="unknown")
    granted = await a_life(tmp_path, target=store_url, pending=asked["action"])

    calls = (a_life(tmp_path, target=store_url, effects="unknown", token=granted["token"]) for _ in range(2))
    results = await asyncio.gather(*calls)

    assert sorted(each["outcome"] for each in results) == ["error", "success"]
    assert runs(tmp_path) == 1
