"""While the audit cannot be written, what may change something does not run, and nothing that ran is lost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from approval_cases import call_of
from audit_cases import call, place_in
from safeguard_cases import MODES, NOTE, Guarded, guarded, server_with

from toolcrib_mcp.audit import AuditJournal, SqlHeads, verify
from toolcrib_mcp.audit.chain import Head
from toolcrib_mcp.errors import AuditUnusable
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.safeguards.noting import CallRecorder
from toolcrib_store import StoreUnavailable

pytestmark = pytest.mark.fault("K23")

WRITE = {**NOTE, "name": "write_note"}
READ = {**NOTE, "annotations": {"readOnlyHint": True}}


def journal_of(case: Guarded) -> AuditJournal:
    journal = case.safeguards.checkpoint.recorder._journal
    assert journal is not None
    return journal


async def until(condition: Any) -> None:
    for _ in range(6_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never happened")


async def without_folder(case: Guarded) -> None:
    """Let the place of the audit be gone, as after a disk was taken away."""
    journal_of(case).folder.rmdir()
    case.safeguards.checkpoint.recorder.start()
    await until(lambda: journal_of(case).problem)


async def refusal(case: Guarded) -> str:
    """What a client reads of a call that is refused, in the way of the mode."""
    if case.mode == "transparent":
        with pytest.raises(RpcError) as caught:
            await case.run("write_note", title="a")
        return caught.value.message
    return str((await case.refused("write_note", title="a"))["message"])


@pytest.mark.parametrize("mode", MODES)
async def test_what_may_write_is_refused_and_what_only_reads_runs(tmp_path: Path, mode: str) -> None:
    async with guarded(tmp_path, {"notes": server_with(READ, WRITE)}, mode=mode) as case:
        await without_folder(case)

        error = await refusal(case)
        assert case.calls() == 0
        await case.run("read_note", title="a")
        assert case.calls() == 1

        journal_of(case).folder.mkdir(mode=0o700)
        await until(lambda: journal_of(case).problem is None)
        await case.run("write_note", title="a")
        assert case.calls() == 2

    assert "is not run: the audit cannot be written (No such file or directory)" in error
    (file,) = (tmp_path / "state" / "audit").iterdir()
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(each["kind"], each.get("outcome")) for each in records] == [
        ("start", None),
        ("refused", "INTERNAL_ERROR"),
        ("call", "ok"),
        ("call", "ok"),
        ("stop", None),
    ]


@pytest.mark.parametrize(("chosen", "reached"), [("refuse-all", 0), ("refuse-writes", 1), ("continue", 2)])
async def test_the_setting_says_which_calls_are_refused(tmp_path: Path, chosen: str, reached: int) -> None:
    ours = {"audit": {"onFailure": chosen}}
    async with guarded(tmp_path, {"notes": server_with(READ, WRITE)}, ours=ours) as case:
        await without_folder(case)

        for tool in ("read_note", "write_note"):
            await case.run(tool, title="a")

        problem = case.safeguards.checkpoint.recorder.problem
        assert case.calls() == reached
        journal_of(case).folder.mkdir(mode=0o700)
    assert problem is not None
    assert problem.startswith("No such file or directory. ")


async def test_an_approval_is_not_used_up_by_a_call_that_could_not_be_written_down(tmp_path: Path) -> None:
    policy = 'version = 1\ndefault = "ask"\n'
    async with guarded(tmp_path, {"notes": server_with(WRITE)}, policy=policy) as case:
        await without_folder(case)

        assert (await case.refused("write_note", title="a"))["error"] == "INTERNAL_ERROR"
        journal_of(case).folder.mkdir(mode=0o700)
        await until(lambda: journal_of(case).problem is None)
        assert (await case.refused("write_note", title="a"))["error"] == "APPROVAL_REQUIRED"


async def test_a_database_that_takes_no_heads_is_a_failure_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep, down = SqlHeads.keep, True

    def kept(self: SqlHeads, head: Head) -> None:
        if down:
            raise StoreUnavailable("The database cannot be used: the disk is full.")
        keep(self, head)

    monkeypatch.setattr(SqlHeads, "keep", kept)
    async with guarded(tmp_path, {"notes": server_with(WRITE)}) as case:
        case.safeguards.checkpoint.recorder.start()
        await until(lambda: journal_of(case).problem)

        error = await case.refused("write_note", title="a")
        down = False
        await until(lambda: journal_of(case).problem is None)
        await case.run("write_note", title="a")

        assert case.calls() == 1
    assert "the disk is full" in error["message"]


@pytest.mark.parametrize("only_reads", [True, False])
def test_when_half_of_the_room_is_taken_nothing_runs(tmp_path: Path, *, only_reads: bool) -> None:
    with place_in(tmp_path / "state") as place:
        journal = place.journal()
        journal._room = 4
        recorder = CallRecorder(journal)
        recorder.check_writable(call_of(), only_reads=only_reads)
        place.folder.rmdir()
        journal.note(call(1))
        journal.note(call(2))

        with pytest.raises(AuditUnusable, match="the audit cannot be written"):
            recorder.check_writable(call_of(), only_reads=only_reads)

        CallRecorder(journal, on_failure="continue").check_writable(call_of(), only_reads=only_reads)
        place.folder.mkdir(mode=0o700)
        journal.close()
        assert journal.lost == 0
        assert place.verify().records == 4


def test_without_an_audit_nothing_is_refused() -> None:
    recorder = CallRecorder()

    recorder.check_writable(call_of(), only_reads=False)

    assert recorder.problem is None


def test_a_journal_that_recovers_is_whole(tmp_path: Path) -> None:
    with place_in(tmp_path / "state") as place:
        journal = place.journal()
        place.folder.rmdir()
        journal.note(call(1))
        place.folder.mkdir(mode=0o700)
        journal.close()

        assert verify(place.folder, place.heads, place.keys).is_whole
        assert journal.problem is None
