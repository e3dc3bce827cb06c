"""`toolcrib audit`: what was called is shown, checked, exported and removed, as its owner would do it."""

from __future__ import annotations

import csv
import errno
import json
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from toolcrib_cli.app import app
from toolcrib_cli.audit.showing import line_of
from toolcrib_cli.state_directory import state_of
from toolcrib_mcp.audit import AUDIT_LINE, AuditEvent, open_journal
from toolcrib_mcp.audit.chain import read_record, sealed
from toolcrib_mcp.errors import AuditUnusable, ConfigError
from toolcrib_store import open_store

pytestmark = pytest.mark.req("GW-8.6")


class Kept:
    """A configuration whose calls were written down."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "mcp.json"
        self.config.write_text('{"mcpServers": {"files": {"command": "true"}}}', encoding="utf-8")
        self.root = folder / "state"
        self.state = state_of(self.config, self.root)
        self.state.mkdir(parents=True)

    @property
    def options(self) -> list[str]:
        return ["--config", str(self.config), "--state-dir", str(self.root)]

    @property
    def files(self) -> list[Path]:
        return sorted((self.state / "audit").glob("*.jsonl"))

    def write(self, *events: AuditEvent) -> None:
        with open_store(self.state / "artifacts.db", lines=[AUDIT_LINE]) as store:
            journal = open_journal(self.state, store=store)
            for event in events:
                journal.note(event)
            journal.close()

    def run(self, *words: str, **options: Any) -> Result:
        return CliRunner().invoke(app, ["audit", *words, *self.options], catch_exceptions=False, **options)


def call(tool: str = "files:read#0a1b2c3d", **fields: Any) -> AuditEvent:
    known: dict[str, Any] = {"principal": "ada", "server": "files", "outcome": "ok", "duration_ms": 1234.5}
    return AuditEvent(kind="call", tool=tool, **{**known, **fields})


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    made = Kept(tmp_path)
    made.write(call(), call("mail:send#11223344", principal="grace", server="mail", outcome="POLICY_DENIED"))
    return made


def test_the_last_calls_are_shown_one_a_line(kept: Kept) -> None:
    result = kept.run("tail")

    lines = result.output.splitlines()
    assert [line[14:].split() for line in lines] == [
        ["start"],
        ["1,234", "ms", "ok", "ada", "files:read#0a1b2c3d"],
        ["1,234", "ms", "POLICY_DENIED", "grace", "mail:send#11223344"],
        ["stop"],
    ]
    assert max(map(len, lines)) <= 80


def test_calls_are_chosen_by_server_tool_and_principal(kept: Kept) -> None:
    for option in (["--server", "mail"], ["--tool", "mail:*"], ["--principal", "g*"]):
        told = json.loads(kept.run("tail", "--json", *option).output)
        assert [each["tool"] for each in told["records"]] == ["mail:send#11223344"]
    assert len(json.loads(kept.run("tail", "--json", "-n", "2").output)["records"]) == 2


@pytest.mark.parametrize("command", [["tail"], ["verify"], ["prune", "--before", "2030-01-01", "--yes"]])
def test_where_nothing_was_written_down_nothing_is_made(tmp_path: Path, command: list[str]) -> None:
    empty = Kept(tmp_path)

    result = empty.run(*command)

    assert result.exit_code == 0
    assert list(empty.state.iterdir()) == []
    assert json.loads(empty.run(*command, "--json").output)


def test_records_of_other_kinds_are_lines_too() -> None:
    def line(**fields: Any) -> str:
        record = read_record(
            sealed({"time": "2026-11-18T08:55:30.123Z", **fields}, seq=1, prev="", prev_signature=None)[0]
        )
        assert record is not None
        return line_of(record)

    assert line(kind="lost", lost=3) == "11-18 08:55:30            lost 3 records"
    assert line(kind="approval", decision="granted", principal="ada", tool="a:b").split()[2:] == [
        "approval",
        "granted",
        "ada",
        "a:b",
    ]
    assert line(kind="refused", decision="deny").endswith("deny")
    assert line(kind="refused").endswith("refused")


def test_following_goes_on_with_what_comes(kept: Kept) -> None:
    command = [sys.executable, "-m", "toolcrib_cli", "audit", "tail", "-n", "1", "--follow", "--json", *kept.options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["kind"] == "stop"
            kept.write(call("files:later#0a1b2c3d"))
            found = [json.loads(process.stdout.readline()) for _ in range(3)]
        finally:
            process.kill()

    assert [each["kind"] for each in found] == ["start", "call", "stop"]
    assert found[1]["tool"] == "files:later#0a1b2c3d"


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_following_ends_with_an_interrupt(kept: Kept, monkeypatch: pytest.MonkeyPatch, option: list[str]) -> None:
    rounds: Iterator[Callable[[], None]] = iter(
        [lambda: kept.write(call("files:later#0a1b2c3d")), lambda: signal.raise_signal(signal.SIGINT)]
    )
    monkeypatch.setattr("toolcrib_cli.audit.showing.time.sleep", lambda seconds: next(rounds)())

    result = kept.run("tail", "-n", "1", "--follow", *option)

    assert result.exit_code == 130
    assert [word in result.output for word in ("start", "files:later#0a1b2c3d", "stop")] == [True] * 3


def test_a_record_that_is_whole_is_said_to_be(kept: Kept) -> None:
    result = kept.run("verify")

    assert (result.exit_code, result.output) == (0, "4 records in 1 segment: everything is what was written.\n")
    assert json.loads(kept.run("verify", "--json").output)["whole"] is True


def test_the_first_record_that_is_wrong_is_named(kept: Kept) -> None:
    (file,) = kept.files
    file.write_bytes(file.read_bytes().replace(b"grace", b"alice"))

    result = kept.run("verify")

    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"Record 3 of {file.stem} has been changed. (line 3)",
        "2 records in 1 segment up to what is wrong: the record is not whole.",
    ]
    told = json.loads(kept.run("verify", "--json").output)
    assert (told["whole"], told["first"]["seq"], told["first"]["wrong"]) == (False, 3, "changed")


def test_many_segments_with_something_wrong_are_counted(kept: Kept) -> None:
    for _ in range(21):
        kept.write(call())
    for file in kept.files:
        file.unlink()

    result = kept.run("verify")

    assert "And 2 more segments with something wrong." in result.output


def test_a_database_that_is_gone_is_found_with_all_its_heads(kept: Kept) -> None:
    for file in kept.state.glob("artifacts.db*"):
        file.unlink()

    result = kept.run("verify")

    assert result.exit_code == 1
    assert "has no head in the database" in result.output
    assert not (kept.state / "artifacts.db").exists()


def test_what_is_no_fault_is_told_beside(kept: Kept) -> None:
    waiting = threading.Event()
    with open_store(kept.state / "artifacts.db", lines=[AUDIT_LINE]) as store:
        journal = open_journal(kept.state, store=store)
        journal.start()
        while len(kept.files) < 2 or not kept.files[1].read_bytes():
            waiting.wait(0.01)
        live = kept.run("verify").output
        journal.close()
    kept.run("prune", "--before", "2100-01-01", "--yes")
    pruned = kept.run("verify").output

    assert "  1 segment being written right now." in live.splitlines()
    assert "  2 segments removed by `toolcrib audit prune`." in pruned.splitlines()


def test_a_process_that_was_killed_is_told(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    code = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from toolcrib_mcp.audit import AUDIT_LINE, AuditEvent, open_journal\n"
        "from toolcrib_store import open_store\n"
        "state = Path(sys.argv[1])\n"
        "store = open_store(state / 'artifacts.db', lines=[AUDIT_LINE])\n"
        "journal = open_journal(state, store=store)\n"
        "journal.note(AuditEvent(kind='call'))\n"
        "while sum(each.read_bytes().count(b'\\n') for each in (state / 'audit').iterdir()) < 2:\n"
        "    time.sleep(0.01)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(kept.state)], timeout=120, check=False)

    result = kept.run("verify")

    assert result.exit_code == 0
    assert "  1 segment without a closing record: its process was killed." in result.output.splitlines()
    assert "  1 record at an end that no signature is about." in result.output.splitlines()


def test_an_export_is_checked_with_the_public_key_alone(kept: Kept, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"

    result = kept.run("export", "-o", str(file))

    assert result.output.startswith(f"4 records of 1 segment written to {file}.")
    key = kept.state / "audit.pub"
    checked = CliRunner().invoke(
        app, ["audit", "verify", str(file), "--public-key", str(key), "--demo"], catch_exceptions=False
    )
    assert (checked.exit_code, kept.run("verify", str(file)).exit_code) == (0, 0)
    file.write_bytes(file.read_bytes().replace(b"grace", b"alice"))
    assert kept.run("verify", str(file)).exit_code == 1


def test_an_export_takes_the_records_of_a_time(kept: Kept, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    options = ["--since", "2020-01-01T10:00+02:00", "--until", "2100-01-01", "--json"]

    told = json.loads(kept.run("export", "-o", str(file), *options).output)
    none = json.loads(kept.run("export", "-o", str(file), "--since", "2100-01-01", "--force", "--json").output)

    assert told == {"file": str(file), "segments": 1, "records": 4}
    assert none["records"] == 0


def test_an_export_for_spreadsheets_holds_no_formulas(kept: Kept, tmp_path: Path) -> None:
    kept.write(call('=HYPERLINK("http://x")', principal="@sum"))
    file = tmp_path / "out.csv"
    kept.run("prune", "--before", "2000-01-01", "--yes")

    result = kept.run("export", "-o", str(file), "--format", "csv", "--until", "2100-01-01T00:00")

    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert result.output == f"7 records of 2 segments written to {file}.\n"
    assert rows[1]["tool"] == "files:read#0a1b2c3d"
    assert (rows[5]["tool"], rows[5]["principal"]) == ('\'=HYPERLINK("http://x")', "'@sum")
    kept.run("prune", "--before", "2100-01-01", "--yes")
    assert kept.run("export", "-o", str(file), "--format", "csv", "--force").output.startswith("0 records")


def test_an_export_for_spreadsheets_takes_the_records_of_a_time(kept: Kept, tmp_path: Path) -> None:
    result = kept.run("export", "-o", str(tmp_path / "x.csv"), "--format", "csv", "--until", "2000-01-01")

    assert result.output.startswith("0 records")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_what_is_not_whole_is_not_exported_and_leaves_no_file(kept: Kept, tmp_path: Path, form: str) -> None:
    kept.files[0].write_bytes(b"")
    file = tmp_path / "out"

    with pytest.raises(AuditUnusable, match="is not whole"):
        kept.run("export", "-o", str(file), "--format", form)

    assert [each for each in tmp_path.iterdir() if "out" in each.name] == []


def test_an_export_replaces_no_file_and_needs_a_place(kept: Kept, tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("mine", encoding="utf-8")

    with pytest.raises(AuditUnusable, match="is there already"):
        kept.run("export", "-o", str(file))
    with pytest.raises(AuditUnusable, match="cannot be written"):
        kept.run("export", "-o", str(tmp_path / "none" / "out"))
    assert file.read_text(encoding="utf-8") == "mine"


def test_without_records_there_is_nothing_to_export(tmp_path: Path) -> None:
    with pytest.raises(AuditUnusable, match="Nothing has been written down"):
        Kept(tmp_path).run("export", "-o", str(tmp_path / "out"))


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "2026-01-01T99:00", "0001-01-01T00:00+23:00"])
def test_a_time_that_is_none_is_told(kept: Kept, tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="is no date or time"):
        kept.run("export", "-o", str(tmp_path / "out"), "--since", text)


def test_old_records_are_removed_after_a_yes_and_evidence_is_kept(kept: Kept) -> None:
    kept.write(call())
    kept.files[0].write_bytes(kept.files[0].read_bytes().replace(b"grace", b"alice"))

    refused = kept.run("prune", "--before", "2100-01-01", input="n\n")
    assert (refused.exit_code, len(kept.files)) == (1, 2)
    done = kept.run("prune", "--before", "2100-01-01", input="y\n")

    assert (done.exit_code, len(kept.files)) == (0, 1)
    assert "3 records of 1 segment removed." in done.output
    assert "1 segment kept, since something in it is not what was written" in done.output
    told = json.loads(kept.run("prune", "--before", "2100-01-01", "--yes", "--json").output)
    assert told == {"segments": [], "records": 0, "keptAsEvidence": [kept.files[0].stem]}


def test_a_segment_that_cannot_be_removed_is_told(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("pathlib.Path.unlink", refuse)

    with pytest.raises(AuditUnusable, match="A segment cannot be removed: Permission denied"):
        kept.run("prune", "--before", "2100-01-01", "--yes")


def test_a_key_that_cannot_be_read_is_told(kept: Kept) -> None:
    (kept.state / "audit.key").unlink()
    (kept.state / "audit.key").mkdir()

    with pytest.raises(AuditUnusable):
        kept.run("prune", "--before", "2100-01-01", "--yes")


async def test_what_a_client_calls_is_written_down_and_verifies(workshop: Any) -> None:
    workshop.write(echo=workshop.server())
    called = await workshop.run("call", "echo:echo", "text=canary-5521")
    assert called.code == 0, called.err

    told = (await workshop.run_raw(*_audit(workshop, "tail", "--json"))).json()
    verified = await workshop.run_raw(*_audit(workshop, "verify"))

    (record,) = [each for each in told["records"] if each["kind"] == "call"]
    assert (record["server"], record["outcome"], record["argumentCount"]) == ("echo", "ok", 1)
    assert verified.code == 0, verified.out
    found = [each for each in workshop.state.rglob("*") if each.is_file() and b"canary-5521" in each.read_bytes()]
    assert [each.name for each in found if each.suffix == ".jsonl"] == []


def _audit(workshop: Any, *words: str) -> list[str]:
    return [
        *(sys.executable, "-m", "toolcrib_cli", "audit", *words),
        *("--config", str(workshop.config), "--state-dir", str(workshop.state)),
    ]


@pytest.mark.fault("K7")
def test_an_anchor_finds_a_state_folder_that_was_taken_back(kept: Kept, tmp_path: Path) -> None:
    copy, anchor = tmp_path / "copy", tmp_path / "far" / "anchor"
    shutil.copytree(kept.state, copy)
    kept.write(call())
    anchor.parent.mkdir()
    assert kept.run("anchor", "--output", str(anchor)).exit_code == 0
    assert json.loads(kept.run("anchor").output)["number"] == 2
    assert kept.run("verify", "--anchor", str(anchor)).exit_code == 0

    shutil.rmtree(kept.state)
    shutil.copytree(copy, kept.state)

    assert kept.run("verify").exit_code == 0
    result = kept.run("verify", "--anchor", str(anchor))
    assert result.exit_code == 1
    assert "The database is older than the anchor" in result.output

    shutil.rmtree(kept.state)
    emptied = kept.run("verify", "--anchor", str(anchor), "--json")
    assert emptied.exit_code == 1
    assert json.loads(emptied.output)["others"][0]["wrong"] == "rolled-back"


@pytest.mark.fault("K7")
def test_no_anchor_is_made_of_what_is_not_whole(kept: Kept, tmp_path: Path) -> None:
    with pytest.raises(AuditUnusable, match="cannot be written"):
        kept.run("anchor", "--output", str(tmp_path))
    kept.files[0].write_bytes(b"")

    with pytest.raises(AuditUnusable, match="no anchor is made"):
        kept.run("anchor")
    assert kept.run("verify", "export.jsonl", "--anchor", "x").exit_code == 2
    shutil.rmtree(kept.state)
    with pytest.raises(AuditUnusable, match="Nothing has been written"):
        kept.run("anchor")
