"""The journal: what is written, when, and what becomes of it when the disk, the process or a name is against it."""

from __future__ import annotations

import errno
import json
import logging
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audit_cases import Place, call, place_in, records_of

from toolcrib_mcp.audit import AuditEvent, MemoryHeads, open_journal, open_key, verify
from toolcrib_mcp.audit.chain import Head, genesis
from toolcrib_mcp.audit.events import EventWriter
from toolcrib_mcp.audit.heads import Heads
from toolcrib_mcp.audit.journal import BATCH, AuditJournal
from toolcrib_mcp.audit.segment import Segment
from toolcrib_mcp.errors import AuditUnusable
from toolcrib_runtime.guards.secrets import Scrubber, Secret
from toolcrib_store import StoreUnavailable

pytestmark = pytest.mark.req("GW-8.6")

CANARY = "canary-7f3a91e2"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path / "state") as made:
        yield made


class FailingSegment(Segment):
    """A file on a disk that can be full."""

    full = threading.Event()

    def append(self, data: bytes) -> None:
        if self.full.is_set():
            super().append(data[: len(data) // 2])  # half of it is there, as after a write that stopped
            self._size -= len(data[: len(data) // 2])
            self._untidy = True
            raise OSError(errno.ENOSPC, "No space left on device")
        super().append(data)


def journal_on_failing_disk(place: Place, *, room: int = 100, heads: Heads | None = None) -> AuditJournal:
    key = open_key(place.directory)
    place.folder.mkdir(exist_ok=True)
    return AuditJournal(
        place.folder,
        key=key,
        heads=place.heads if heads is None else heads,
        writer=EventWriter(key, scrubber=Scrubber(), arguments=False),
        room=room,
        opening=lambda folder, began: FailingSegment(folder, began=began),
    )


@pytest.fixture(autouse=True)
def disk_has_room() -> Iterator[None]:
    yield
    FailingSegment.full.clear()


def test_every_record_has_the_hash_of_the_one_before_it_and_the_first_that_of_its_segment(place: Place) -> None:
    file = place.write(call(1), call(2))

    records = records_of(file)

    assert [each.kind for each in records] == ["start", "call", "call", "stop"]
    assert [each.link.seq for each in records] == [1, 2, 3, 4]
    assert [each.link.prev for each in records] == [genesis(file.stem), *(each.link.hash for each in records[:-1])]


def test_a_record_says_who_called_what_and_how_it_ended(place: Place) -> None:
    event = call(
        client="claude/1.2",
        conversation="session-1",
        definition="d" * 64,
        arguments_digest="a" * 64,
        argument_count=2,
        argument_bytes=40,
        rule="policy.toml:3",
        approval="ap_1",
        approved_by="grace",
        result_bytes=900,
        redactions=1,
        artifacts=1,
        trace="t" * 32,
    )

    record = records_of(place.write(event))[1].fields

    digests = {record[name] for name in ("conversation", "argumentsHmac", "hash", "prev")}
    assert len(digests) == 4
    kept = {name: value for name, value in record.items() if value not in digests and name not in {"time", "prevSig"}}
    assert kept == {
        "v": 1,
        "seq": 2,
        "kind": "call",
        "principal": "ada",
        "client": "claude/1.2",
        "server": "files",
        "tool": "files:read-1#0a1b2c3d",
        "definition": "d" * 64,
        "argumentCount": 2,
        "argumentBytes": 40,
        "decision": "allow",
        "rule": "policy.toml:3",
        "approval": "ap_1",
        "approvedBy": "grace",
        "outcome": "ok",
        "durationMs": 12,
        "resultBytes": 900,
        "redactions": 1,
        "artifacts": 1,
        "trace": "t" * 32,
    }


def test_only_the_owner_reads_the_files_and_the_key(place: Place) -> None:
    file = place.write(call())

    modes = [stat.S_IMODE(each.stat().st_mode) for each in (file, place.directory / "audit.key", place.folder)]
    assert modes == [0o600, 0o600, 0o700]


def test_the_last_head_is_signed_and_kept_outside_the_file(place: Place) -> None:
    file = place.write(call())

    head = place.heads.every()[file.stem].head

    assert head.holds(place.keys)
    assert (head.seq, head.hash) == (3, records_of(file)[-1].link.hash)


def test_a_process_without_events_leaves_no_file(place: Place) -> None:
    place.journal().close()

    assert place.files() == []


def test_the_first_record_names_the_head_that_was_kept_last(place: Place) -> None:
    before = place.write(call())

    first = records_of(place.write(call()))[0].fields

    assert (first["after"], first["afterSeq"]) == (before.stem, 3)
    assert first["afterHash"] == records_of(before)[-1].link.hash


def test_the_same_arguments_have_the_same_digest_and_another_key_gives_another(place: Place, tmp_path: Path) -> None:
    mine = records_of(place.write(call(arguments_digest="a" * 64), call(arguments_digest="a" * 64)))
    with place_in(tmp_path / "other") as other:
        theirs = records_of(other.write(call(arguments_digest="a" * 64)))

    assert mine[1].fields["argumentsHmac"] == mine[2].fields["argumentsHmac"]
    assert mine[1].fields["argumentsHmac"] != theirs[1].fields["argumentsHmac"]


@pytest.mark.fault("F18")
def test_nothing_of_what_is_in_a_call_is_in_any_file(place: Place) -> None:
    arguments = json.dumps({"query": CANARY}).encode()
    known = Scrubber([Secret(CANARY)])

    place.write(
        call(arguments=arguments, arguments_digest=CANARY, conversation=CANARY, client=f"{CANARY}/1", tool=CANARY),
        scrubber=known,
    )

    place.store.close()
    files = [each for each in place.directory.rglob("*") if each.is_file()]
    assert len(files) >= 4
    assert [each.name for each in files if CANARY.encode() in each.read_bytes()] == []


@pytest.mark.fault("F18")
def test_arguments_that_were_asked_for_are_written_without_secrets(place: Place) -> None:
    arguments = json.dumps({"city": "Köln\n", "password": "hunter2", "note": f"key {CANARY}"}).encode()

    (record,) = records_of(place.write(call(arguments=arguments), scrubber=Scrubber([Secret(CANARY)]), arguments=True))[
        1:2
    ]

    assert json.loads(record.fields["arguments"])["city"] == "Köln\n"
    assert "hunter2" not in record.fields["arguments"]
    assert CANARY not in record.fields["arguments"]


@pytest.mark.parametrize("text", ["x" * 20_000, "\x01" * 4_000])
def test_large_arguments_are_left_out(place: Place, text: str) -> None:
    arguments = json.dumps({"text": text}, ensure_ascii=False).encode()

    (record,) = records_of(place.write(call(arguments=arguments), arguments=True))[1:2]

    assert "arguments" not in record.fields
    assert record.fields["argumentsLeftOut"] == "too-large"


@pytest.mark.parametrize(
    "name",
    [
        'x"}\n{"seq":99,"kind":"call"}',
        "a\r\nb",
        "\u2028\u2029\x85\x0b\x0c",
        "\ud800 lone",
        "\u202e evil",
        "\x1b[2Jgone",
        "n" * 100_000,
        "",
    ],
)
def test_no_name_breaks_a_line_or_forges_a_record(place: Place, name: str) -> None:
    file = place.write(
        call(tool=name, client=name, principal=name, outcome=name, server=name, rule=name, approved_by=name)
    )

    records = records_of(file)

    assert len(records) == len(file.read_text(encoding="utf-8").splitlines()) == 3
    assert all(str(value).isprintable() and len(str(value)) <= 2_000 for value in records[1].fields.values())
    assert place.verify().is_whole


def test_numbers_are_whole_and_bounded(place: Place) -> None:
    record = records_of(place.write(call(duration_ms=0.4, result_bytes=2**80, redactions=-3)))[1].fields

    assert (record["durationMs"], record["resultBytes"], record["redactions"]) == (0, 2**53 - 1, 0)


def test_ten_thousand_events_are_all_written_in_order(place: Place) -> None:
    file = place.write(*(call(number) for number in range(10_000)))

    records = records_of(file)

    assert [each.fields["tool"] for each in records[1:-1]] == [f"files:read-{n}#0a1b2c3d" for n in range(10_000)]
    verdict = place.verify()
    assert (verdict.is_whole, verdict.records, verdict.unsigned) == (True, 10_002, 0)


def test_several_threads_may_note_at_once(place: Place) -> None:
    journal = place.journal()

    def note_many() -> None:
        for number in range(500):
            journal.note(call(number))

    threads = [threading.Thread(target=note_many) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    journal.close()

    assert place.verify().records == 2_002


def test_while_a_journal_is_open_its_segment_is_no_fault(place: Place) -> None:
    journal = place.journal()
    journal.note(call())
    _until(lambda: place.verify().records == 2)

    verdict = place.verify()

    assert (verdict.is_whole, verdict.segments[0].state) == (True, "being-written")
    journal.close()
    assert place.verify().segments[0].state == "closed"


def test_a_full_disk_holds_up_nobody_and_what_was_lost_is_told_when_there_is_room_again(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    journal = journal_on_failing_disk(place, room=10)
    journal.note(call(0))
    _until(lambda: bool(place.files()) and place.verify().records == 2 and not journal._waiting)
    FailingSegment.full.set()
    with caplog.at_level(logging.ERROR, logger="toolcrib.mcp.audit"):
        for number in range(25):
            journal.note(call(number))
        _until(lambda: bool(caplog.records))
    assert journal.lost == 15
    FailingSegment.full.clear()
    journal.close()

    kinds = [each.kind for each in records_of(place.files()[0])]
    assert kinds == ["start", *["call"] * 11, "lost", "stop"]
    assert records_of(place.files()[0])[-2].fields["lost"] == 15
    assert [each.message for each in caplog.records] == [
        "the audit cannot be written (No space left on device); what happens waits in memory"
    ]
    assert place.verify().is_whole


def test_a_disk_that_stays_full_ends_with_a_journal_that_verifies(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    journal = journal_on_failing_disk(place)
    journal.note(call(0))
    _until(lambda: bool(place.files()) and place.verify().records == 2 and not journal._waiting)
    FailingSegment.full.set()
    journal.note(call(1))

    with caplog.at_level(logging.ERROR, logger="toolcrib.mcp.audit"):
        journal.close()

    verdict = place.verify()
    assert (verdict.is_whole, verdict.segments[0].state, verdict.records) == (True, "cut-off", 2)
    assert "1 events are not in it and follow here, 0 are lost" in caplog.text
    (line,) = [each.getMessage() for each in caplog.records if each.getMessage().startswith("not in the audit: ")]
    record = json.loads(line.removeprefix("not in the audit: "))
    assert (record["kind"], record["tool"], record["outcome"]) == ("call", "files:read-1#0a1b2c3d", "ok")


def test_a_disk_that_is_full_from_the_beginning_leaves_no_file_behind(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    FailingSegment.full.set()
    journal = journal_on_failing_disk(place)

    journal.note(call())
    journal.close()

    assert place.files() == []
    assert "cannot be written" in caplog.text


def test_a_file_system_with_a_limit_is_no_different(tmp_path: Path) -> None:
    code = """
import resource, sys, time
from pathlib import Path
from audit_cases import call, place_in
with place_in(Path(sys.argv[1])) as place:
    journal = place.journal()
    journal.note(call(0))
    while place.verify().records < 2:
        time.sleep(0.01)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The database and its log are larger by now, and only the file of the journal is to hit the wall.
    resource.setrlimit(resource.RLIMIT_FSIZE, (place.files()[0].stat().st_size + 100, hard))
    journal.note(call(1))
    while not journal._complained:
        time.sleep(0.01)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    journal.close()
    verdict = place.verify()
    print(verdict.is_whole, verdict.records, verdict.segments[0].state)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "state")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parent,
    )

    assert ended.stdout.split() == ["True", "4", "closed"], ended.stderr


class DownHeads(MemoryHeads):
    """A database that cannot be used for now."""

    down = True

    def keep(self, head: Head) -> None:
        if self.down:
            raise StoreUnavailable("The database `a.db` cannot be used: the disk is full.")
        super().keep(head)

    def newest(self) -> Head | None:
        if self.down:
            raise StoreUnavailable("The database `a.db` cannot be used: the disk is full.")
        return super().newest()


def test_heads_that_cannot_be_kept_are_told_once_and_kept_later(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    heads = DownHeads()
    journal = journal_on_failing_disk(place, heads=heads)
    for number in range(3):
        journal.note(call(number))
    _until(lambda: bool(place.files()) and place.files()[0].read_bytes().count(b"\n") == 4)
    heads.down = False
    journal.close()

    assert [each.levelname for each in caplog.records] == ["ERROR"]
    assert heads.every()[place.files()[0].stem].head.seq == 5
    assert verify(place.folder, heads, place.keys).is_whole


def test_an_end_that_cannot_be_written_is_told(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    journal = journal_on_failing_disk(place)
    journal.note(call())
    _until(lambda: bool(place.files()) and place.files()[0].read_bytes().count(b"\n") == 2 and not journal._waiting)
    FailingSegment.full.set()

    journal.close()

    assert "the end of the audit cannot be written" in caplog.text
    assert place.verify().segments[0].state == "cut-off"


def test_an_event_that_cannot_be_written_is_counted_and_ends_nothing(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    broken: Any = AuditEvent(kind="call", principal=5)  # type: ignore[arg-type]  # what no type checker lets through
    file = place.write(broken)

    assert [each.kind for each in records_of(file)] == ["start", "lost", "stop"]
    assert "the audit failed (TypeError)" in caplog.text


def test_what_is_noted_after_the_end_is_lost_and_no_error(place: Place) -> None:
    journal = place.journal()
    journal.note(call())
    journal.close()

    journal.note(call())
    journal.start()

    assert journal.lost == 1
    assert len(records_of(place.files()[0])) == 3


async def test_a_journal_is_closed_from_an_event_loop(place: Place) -> None:
    journal = place.journal()
    for number in range(BATCH + 2):
        journal.note(call(number))

    await journal.aclose()

    assert place.verify().records == BATCH + 4


def test_a_file_that_cannot_be_locked_is_no_segment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    place.folder.mkdir()

    with pytest.raises(OSError, match="No locks"):
        Segment(place.folder, began=0.0)


def test_without_a_store_the_heads_end_with_the_process(tmp_path: Path) -> None:
    journal = open_journal(tmp_path, store=None)
    journal.note(call())
    journal.close()

    assert len(list(journal.folder.iterdir())) == 1


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("no folder", encoding="utf-8")

    with pytest.raises(AuditUnusable, match="cannot be used"):
        open_journal(tmp_path, store=None)


def _until(condition: Any) -> None:
    waiting = threading.Event()
    for _ in range(6_000):
        if condition():
            return
        waiting.wait(0.01)
    raise AssertionError("it never happened")
