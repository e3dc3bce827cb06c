"""How the end of a call gets into the ledger when the ledger is slow, broken, or in another process."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.calls import ToolCall, ToolResult
from toolcrib_runtime.policy import idempotency
from toolcrib_runtime.policy.idempotency import IdempotencyStage
from toolcrib_runtime.policy.ledgers import MemoryLedger, Standing
from toolcrib_runtime.policy.rules import Policy
from toolcrib_runtime.testing import FakeClock, fake_tool
from toolcrib_runtime.toolbox import Toolbox, create_toolbox

CALL = ToolCall(tool="pay", idempotency_key="k-1")


class SlowLedger(MemoryLedger):
    """Takes its time to record an end."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    async def finish(self, key: str, record: bytes) -> None:
        self.asked.set()
        await self.go.wait()
        await super().finish(key, record)


class BrokenLedger(MemoryLedger):
    """Cannot record an end."""

    async def finish(self, key: str, record: bytes) -> None:
        await self.abandon(key)
        raise OSError("the disk is full")


def boxed(ledger: Any, **options: Any) -> Toolbox:
    pay = fake_tool("pay", sequence=["first", "second"], effects="write")
    return create_toolbox([pay], policy=Policy(by_risk=None), ledger=ledger, **options)


def category(result: ToolResult) -> ToolErrorCategory | None:
    return None if result.error is None else result.error.category


@pytest.mark.req("RT-7", "RT-5")
async def test_an_end_is_recorded_although_the_time_of_the_call_ran_out_meanwhile():
    ledger, clock = SlowLedger(), FakeClock()
    box = boxed(ledger, clock=clock, timeout=10)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        first = group.create_task(box.execute(CALL))
        await ledger.asked.wait()
        await clock.advance(10)
        ledger.go.set()
    second = await box.execute(CALL)

    assert category(first.result()) is ToolErrorCategory.TIMEOUT
    assert (second.value, second.source) == ("first", "ledger")


@pytest.mark.req("RT-7")
async def test_a_ledger_that_fails_at_the_end_takes_no_value_away_and_lets_nothing_run_twice(caplog):
    box = boxed(BrokenLedger())

    first = await box.execute(CALL)
    second = await box.execute(CALL)

    assert first.value == "first"
    assert category(second) is ToolErrorCategory.UNKNOWN_OUTCOME
    assert "was not recorded" in caplog.text


@pytest.mark.req("RT-7")
async def test_a_ledger_that_hangs_keeps_a_call_waiting_for_a_bounded_time(monkeypatch, caplog):
    monkeypatch.setattr(idempotency, "END_SECONDS", 0.01)
    ledger = SlowLedger()

    async with asyncio.timeout(5):
        result = await boxed(ledger).execute(CALL)

    assert result.value == "first"
    assert "was not recorded" in caplog.text
    assert await ledger.begin("other", "f", repeatable=False) == Standing(state="fresh")


class Stub:
    """As much of an invocation as the stage looks at when it is driven by hand."""

    def __init__(self, *, attempts: int) -> None:
        self.call = CALL
        self.tool = self.definition = fake_tool("pay", effects="write")
        self.definition = self.tool.definition
        self.options = type("Options", (), {"context": None})
        self.principal = None
        self.snapshot = b"{}"
        self.attempts = attempts
        self.in_flight = attempts > 0
        self.blocks = None


@pytest.mark.req("RT-7")
@pytest.mark.parametrize(("attempts", "state"), [(0, "fresh"), (1, "unknown")])
async def test_a_failure_of_the_runtime_itself_counts_by_whether_the_tool_was_started(attempts, state):
    ledger = MemoryLedger()
    stub: Any = Stub(attempts=attempts)

    async def proceed(_: object) -> Any:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await IdempotencyStage(ledger)(stub, proceed)

    key, fingerprint = idempotency._scoped("k-1", stub), idempotency.arguments_digest(stub)
    assert (await ledger.begin(key, fingerprint, repeatable=False)).state == state


@pytest.mark.req("RT-7")
@pytest.mark.parametrize(("attempts", "state"), [(0, "fresh"), (1, "unknown")])
async def test_a_call_whose_coroutine_is_closed_does_not_hold_its_key(attempts, state):
    ledger = MemoryLedger()
    stub: Any = Stub(attempts=attempts)

    async def proceed(_: object) -> Any:
        await asyncio.sleep(0)

    running: Any = IdempotencyStage(ledger)(stub, proceed)
    running.send(None)

    running.close()

    key, fingerprint = idempotency._scoped("k-1", stub), idempotency.arguments_digest(stub)
    assert (await ledger.begin(key, fingerprint, repeatable=False)).state == state


class FileLedger:
    """The protocol over SQLite: as much of it as it takes to be shared by processes."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("CREATE TABLE IF NOT EXISTS calls (key PRIMARY KEY, fingerprint, record)")

    async def begin(self, key: str, fingerprint: str, *, repeatable: bool) -> Standing:
        with contextlib.closing(self._database.cursor()) as cursor:
            cursor.execute("INSERT OR IGNORE INTO calls VALUES (?, ?, NULL)", (key, fingerprint))
            if cursor.rowcount == 1:
                return Standing(state="fresh")
            cursor.execute("SELECT fingerprint, record FROM calls WHERE key = ?", (key,))
            known, record = cursor.fetchone()
        if known != fingerprint:
            return Standing(state="conflict")
        if record is not None:
            return Standing(state="finished", record=record)
        return Standing(state="fresh" if repeatable else "unknown")

    async def settled(self, key: str) -> None:
        raise AssertionError("it never says `running`")

    async def finish(self, key: str, record: bytes) -> None:
        self._database.execute("UPDATE calls SET record = ? WHERE key = ?", (record, key))

    async def forget(self, key: str) -> None:
        self._database.execute("DELETE FROM calls WHERE key = ?", (key,))

    async def abandon(self, key: str) -> None:
        """A row without a record says so already."""

    def close(self) -> None:
        self._database.close()


async def pay_in_this_process(directory: Path, *, dies: bool) -> ToolResult:
    async def pay() -> str:
        """Pay."""
        with (directory / "effects").open("a", encoding="utf-8") as effects:
            effects.write("paid\n")
        if dies:
            import os

            os._exit(9)
        return "receipt"

    from toolcrib_runtime.runnable import create_tool

    with contextlib.closing(FileLedger(directory / "ledger.db")) as ledger:
        box = create_toolbox([create_tool(pay, effects="write")], policy=Policy(by_risk=None), ledger=ledger)
        return await box.execute(CALL)


@pytest.mark.req("RT-7")
@pytest.mark.parametrize("dies", [True, False])
async def test_a_key_holds_from_one_process_to_the_next_also_when_the_first_died_in_the_call(tmp_path, dies):
    script = (
        "import asyncio, sys, pathlib; sys.path.insert(0, sys.argv[1]); import test_policy_idempotency_ends as shared; "
        "asyncio.run(shared.pay_in_this_process(pathlib.Path(sys.argv[2]), dies=sys.argv[3] == 'True'))"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent), str(tmp_path), str(dies)]
    exited = await asyncio.to_thread(subprocess.run, command, check=False, timeout=60)

    result = await pay_in_this_process(tmp_path, dies=True)

    assert exited.returncode == (9 if dies else 0)
    assert (tmp_path / "effects").read_text(encoding="utf-8") == "paid\n"
    if dies:
        assert category(result) is ToolErrorCategory.UNKNOWN_OUTCOME
    else:
        assert (result.value, result.source) == ("receipt", "ledger")
