"""Whatever is done to a record of calls is found, and the first record that is wrong is named."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import accumulate, count
from pathlib import Path
from typing import Any

import pytest
from audit_cases import Place, batches_in, call, place_in, records_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, update

from toolcrib_mcp.audit import (
    AUDIT_LINE,
    AuditFault,
    AuditKey,
    AuditVerdict,
    MemoryHeads,
    PublicKeys,
    SqlHeads,
    open_key,
    verify,
)
from toolcrib_mcp.audit.chain import Head, genesis, read_record, sealed
from toolcrib_mcp.audit.checking import Piece, walk
from toolcrib_mcp.audit.heads import KeptHead, Tombstone
from toolcrib_mcp.audit.segment import Segment
from toolcrib_mcp.audit.tables import HEADS
from toolcrib_mcp.audit.tracing_back import Anchor, first_break
from toolcrib_mcp.audit.writing import ChainWriter
from toolcrib_store import migrate_to, open_store

pytestmark = pytest.mark.req("GW-8.6")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path / "state") as made:
        yield made


class Written:
    """A journal as it was written, in batches that end with these records."""

    def __init__(self, file: Path, ends: tuple[int, ...], *, heads: MemoryHeads, keys: PublicKeys) -> None:
        self.file, self.ends = file, ends
        self.content = file.read_bytes()
        self._heads, self._keys = heads, keys

    def __repr__(self) -> str:
        return f"Written({self.ends})"

    def verify(self, lines: list[bytes]) -> AuditVerdict:
        """The verdict on these lines in the place of those that were written."""
        self.file.write_bytes(b"".join(lines))
        return verify(self.file.parent, self._heads, self._keys)


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> list[Written]:
    """Journals of many shapes: to make one takes longer than to check it."""
    chance = random.Random(12)
    made = []
    for _ in range(12):
        with place_in(tmp_path_factory.mktemp("journal") / "state") as place:
            batches = [chance.randint(1, 5) for _ in range(chance.randint(1, 6))]
            file, heads = batches_in(place, batches), MemoryHeads()
            heads.keep(place.heads.every()[file.stem].head)
            ends = tuple(accumulate([1, *batches, 1]))
            made.append(Written(file, ends, heads=heads, keys=place.keys))
    return made


def first_of(verdict: AuditVerdict) -> AuditFault:
    assert verdict.first is not None
    return verdict.first


def lines_of(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines(keepends=True)


def changed(file: Path, lines: list[bytes]) -> None:
    file.write_bytes(b"".join(lines))


def _hash_on(line: bytes) -> str:
    record = read_record(line)
    assert record is not None
    return record.link.hash


def rechained(file: Path, keep: Callable[[int, dict[str, Any]], dict[str, Any]]) -> list[bytes]:
    """The records with every hash made anew, as somebody does who knows how, but has no key."""
    made, previous = [], genesis(file.stem)
    for seq, record in enumerate(records_of(file), 1):
        left_out = {"hash", "prev", "seq", "v", "prevSig"}
        fields = {name: value for name, value in keep(seq, dict(record.fields)).items() if name not in left_out}
        line, previous = sealed(fields, seq=seq, prev=previous, prev_signature=record.link.prev_signature)
        made.append(line)
    return made


@settings(max_examples=400)
@given(data=st.data())
def test_any_single_change_is_found_and_the_first_bad_record_named(
    journals: list[Written], data: st.DataObject
) -> None:
    written = data.draw(st.sampled_from(journals), label="journal")
    lines = written.content.splitlines(keepends=True)
    count = len(lines)
    at = data.draw(st.integers(0, count - 1), label="at")
    how = data.draw(st.sampled_from(["flip", "delete", "swap", "truncate", "cut", "repeat", "insert"]), label="how")
    bad = at + 1
    match how:
        case "flip":
            line = bytearray(lines[at])
            line[data.draw(st.integers(0, len(line) - 1), label="byte")] ^= data.draw(st.integers(1, 255), label="bits")
            lines[at] = bytes(line)
        case "delete":
            del lines[at]
        case "swap":
            other = data.draw(st.integers(0, count - 1).filter(lambda each: each != at), label="other")
            lines[at], lines[other] = lines[other], lines[at]
            bad = min(at, other) + 1
        case "truncate":
            del lines[at:]
        case "cut":
            kept = written.content[: data.draw(st.integers(0, len(written.content) - 1), label="end")]
            lines, bad = [kept], kept.count(b"\n") + 1
        case "repeat":
            where = data.draw(st.integers(at, count - 1), label="where")
            lines.insert(where + 1, lines[at])
            bad = where + 2
        case _:
            before = genesis(written.file.stem) if at == 0 else _hash_on(lines[at - 1])
            forged, _ = sealed({"kind": "call", "tool": "forged"}, seq=at + 1, prev=before, prev_signature=None)
            lines.insert(at, forged)

    fault = first_of(written.verify(lines))

    assert (fault.segment, fault.line, fault.seq) == (written.file.stem, bad, bad), fault


@settings(max_examples=100)
@given(which=st.integers(0, 11), where=st.integers(0, 999))
def test_a_chain_that_was_made_anew_without_the_key_is_found_at_the_next_signature(
    journals: list[Written], which: int, where: int
) -> None:
    written = journals[which]
    at = where % written.ends[-1] + 1
    written.file.write_bytes(written.content)
    forged = rechained(written.file, lambda seq, fields: {**fields, "tool": "forged"} if seq == at else fields)

    fault = first_of(written.verify(forged))

    # What is signed of a batch is its last record, and with it all before: more cannot be told without the key.
    assert fault.seq == next(each for each in written.ends if each >= at)
    assert fault.wrong == "rewritten"


def test_one_record_that_was_forged_to_fit_is_named_and_not_the_next(place: Place) -> None:
    file = batches_in(place, [5])
    lines, records = lines_of(file), records_of(file)
    lines[2], _ = sealed({"kind": "call"}, seq=3, prev=records[1].link.hash, prev_signature=None)
    changed(file, lines)

    fault = first_of(place.verify())

    assert (fault.seq, fault.wrong) == (3, "rewritten")
    assert (
        fault.message
        == f"Record 3 of {file.stem} is not the one that was signed; it or one since record 2 has been rewritten."
    )


def test_a_rewritten_batch_says_since_when_it_may_be_wrong(place: Place) -> None:
    file = batches_in(place, [5, 2])
    changed(file, rechained(file, lambda seq, fields: {**fields, "x": "y"} if seq == 3 else fields))

    fault = first_of(place.verify())

    assert "it or one since record 2 has been rewritten" in fault.message


def test_a_segment_that_is_gone_is_named(place: Place) -> None:
    file = place.write(call())
    place.write(call())
    file.unlink()

    fault = first_of(place.verify())

    assert (fault.segment, fault.wrong, fault.line) == (file.stem, "segment-missing", None)


def test_a_segment_that_is_gone_with_its_head_is_named_by_the_next(place: Place) -> None:
    file = place.write(call())
    place.write(call())
    file.unlink()
    with place.store.writing() as connection:
        connection.execute(delete(HEADS).where(HEADS.c.segment == file.stem))

    fault = first_of(place.verify())

    assert (fault.segment, fault.wrong) == (file.stem, "segment-missing")


def test_a_segment_that_was_taken_back_together_with_its_head_is_named_by_the_next(place: Place) -> None:
    file = batches_in(place, [2, 2])
    records = records_of(file)
    place.write(call())
    changed(file, lines_of(file)[:3])
    earlier = Head.signed(open_key(place.directory), segment=file.stem, seq=3, hash_=records[2].link.hash)
    place.heads.keep(earlier)

    fault = first_of(place.verify())

    assert (fault.segment, fault.wrong, fault.seq) == (file.stem, "rewritten", 6)


def test_a_segment_under_another_name_is_found(place: Place) -> None:
    one, two = place.write(call(1)), place.write(call(2))
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)

    assert [(each.segment, each.seq) for each in place.verify().faults] == sorted([(one.stem, 1), (two.stem, 1)])


def test_a_head_that_the_key_has_not_signed_is_found(place: Place) -> None:
    file = place.write(call())
    with place.store.writing() as connection:
        connection.execute(update(HEADS).values(seq=2))

    fault = first_of(place.verify())

    assert (fault.segment, fault.wrong) == (file.stem, "bad-head")


def test_a_segment_without_a_head_is_found_unless_it_has_only_begun(place: Place) -> None:
    batches_in(place, [2], keeps_head=False)
    begun = Segment(place.folder, began=2_000_000.0)
    ChainWriter(begun, key=open_key(place.directory)).write([(2_000_000.0, {"kind": "start"})])
    begun.close()

    verdict = place.verify()

    assert [each.wrong for each in verdict.faults] == ["no-head"]
    assert verdict.segments[1].unsigned == 1


def test_a_segment_that_was_put_there_by_somebody_else_is_found_and_believed_by_nobody(place: Place) -> None:
    genuine = place.write(call())
    forged = Segment(place.folder, began=2_000_000_000.0)
    claim: dict[str, str | int] = {"kind": "start", "after": genuine.stem, "afterSeq": 2, "afterHash": "0" * 64}
    ChainWriter(forged, key=AuditKey(b"x" * 32)).write([(2_000_000_000.0, claim), (2_000_000_000.0, {"kind": "call"})])
    forged.close()

    verdict = place.verify()

    assert [(each.segment, each.wrong) for each in verdict.faults] == [(forged.name, "no-head")]


def test_an_end_that_no_head_is_about_yet_is_said_to_be_unsigned(place: Place) -> None:
    file = batches_in(place, [2, 3])
    head = records_of(file)[2].link
    place.heads.keep(Head.signed(open_key(place.directory), segment=file.stem, seq=3, hash_=head.hash))
    changed(file, lines_of(file)[:5])

    verdict = place.verify()

    assert (verdict.is_whole, verdict.records, verdict.unsigned) == (True, 5, 2)
    assert verdict.segments[0].state == "cut-off"


def test_a_signature_in_the_file_vouches_for_what_the_database_does_not_know_yet(place: Place) -> None:
    file = batches_in(place, [2, 3])
    first = records_of(file)[0].link
    place.heads.keep(Head.signed(open_key(place.directory), segment=file.stem, seq=1, hash_=first.hash))

    verdict = place.verify()

    assert (verdict.is_whole, verdict.records, verdict.unsigned) == (True, 7, 1)


def test_half_a_line_behind_the_head_is_no_fault(place: Place) -> None:
    file = batches_in(place, [2])
    with file.open("ab") as opened:
        opened.write(b'{"kind":"ca')

    verdict = place.verify()

    assert (verdict.is_whole, verdict.records) == (True, 4)


def test_a_record_behind_the_head_that_does_not_follow_is_a_fault(place: Place) -> None:
    file = batches_in(place, [2])
    line, _ = sealed({"kind": "call"}, seq=5, prev="0" * 64, prev_signature=None)
    with file.open("ab") as opened:
        opened.write(line)

    fault = first_of(place.verify())

    assert (fault.seq, fault.wrong) == (5, "out-of-place")
    assert fault.message.endswith("does not follow the record before it.")


def test_a_false_signature_behind_the_head_is_a_fault(place: Place) -> None:
    file = batches_in(place, [2])
    last = records_of(file)[-1].link.hash
    line, _ = sealed({"kind": "call"}, seq=5, prev=last, prev_signature="AAAA")
    with file.open("ab") as opened:
        opened.write(line)

    fault = first_of(place.verify())

    assert (fault.seq, fault.wrong) == (5, "bad-signature")


@pytest.mark.parametrize(
    "line",
    [
        b"[]\n",
        b"\xff\n",
        b'{"seq":"1","prev":"x"}\n',
        b'{"hash":"x","prev":"x","seq":1}\n',
        b'{"seq":1, "prev":"x"}\n',
        b'{"a":' + b"[" * 600 + b"]" * 600 + b',"prev":"x","seq":1}\n',
        b"x" * 600_000 + b"\n",
    ],
)
def test_lines_that_are_no_records_are_named(place: Place, line: bytes) -> None:
    file = batches_in(place, [2])
    lines = lines_of(file)
    lines[1] = line
    changed(file, lines)

    assert first_of(place.verify()).seq == 2


def test_a_file_that_cannot_be_read_is_a_fault_of_its_own(place: Place) -> None:
    place.write(call())
    file = place.write(call())
    file.unlink()
    file.mkdir()

    fault = first_of(place.verify())

    assert (fault.segment, fault.wrong) == (file.stem, "unreadable")


def test_an_empty_file_of_a_process_that_was_killed_at_once_is_no_fault(place: Place) -> None:
    place.write(call())
    Segment(place.folder, began=2_000_000_000.0).close()

    assert place.verify().is_whole


def test_with_another_key_nothing_is_believed(place: Place) -> None:
    place.write(call())

    verdict = verify(place.folder, place.heads, PublicKeys([AuditKey(b"y" * 32).public]))

    assert [each.wrong for each in verdict.faults] == ["bad-head"]


def test_a_segment_that_is_removed_while_it_is_checked_has_its_tombstone_by_then(place: Place) -> None:
    file, key = place.write(call()), open_key(place.directory)
    head = place.heads.every()[file.stem].head

    class Removing(MemoryHeads):
        """Heads whose segment is removed after its folder was looked into."""

        asked = 0

        def every(self) -> dict[str, KeptHead]:
            self.asked += 1
            if self.asked == 1:
                return {}
            file.unlink(missing_ok=True)
            return {file.stem: KeptHead(head=head, tombstone=Tombstone.signed(key, head, at=9))}

    verdict = verify(place.folder, Removing(), place.keys)

    assert (verdict.is_whole, [each.state for each in verdict.segments]) == (True, ["pruned"])


def test_a_segment_that_began_after_the_heads_were_read_is_no_fault(place: Place) -> None:
    file = batches_in(place, [2])
    kept = place.heads.every()

    class Late(MemoryHeads):
        """Heads of which one is there only the second time."""

        asked = 0

        def every(self) -> dict[str, KeptHead]:
            self.asked += 1
            return {} if self.asked == 1 else dict(kept)

    assert verify(place.folder, Late(), place.keys).is_whole
    assert file.exists()


@pytest.mark.parametrize(("bad", "whole"), [({0}, True), ({0, 2, 4}, False)])
def test_lines_that_were_being_written_again_are_read_again(place: Place, bad: set[int], *, whole: bool) -> None:
    file = batches_in(place, [3])
    lines, head, times = lines_of(file), place.heads.every()[file.stem].head, count()

    def read() -> list[bytes]:
        return lines[1:] if next(times) in bad else lines

    piece = Piece(segment=file.stem, lines=read, first=1, before=genesis(file.stem))
    went = walk(piece, [Anchor(seq=head.seq, hash=head.hash)], place.keys)

    assert (went.broken is None) is whole
    assert went.records == (5 if whole else 0)


def test_a_chain_that_holds_has_no_break(place: Place) -> None:
    file = batches_in(place, [3, 1])
    links = [record.link for record in records_of(file)]

    assert first_break(file.stem, links, first=1, before=genesis(file.stem), anchors=[], keys=place.keys) is None


def test_where_there_is_nothing_nothing_is_wrong(tmp_path: Path) -> None:
    verdict = verify(tmp_path / "none", MemoryHeads(), PublicKeys([]))

    assert (verdict.is_whole, verdict.records, verdict.told()["segments"]) == (True, 0, [])


def test_a_verdict_is_told_as_json(place: Place) -> None:
    file = place.write(call())
    changed(file, lines_of(file)[:2])

    told = place.verify().told()

    fault = {
        "segment": file.stem,
        "line": 3,
        "seq": 3,
        "wrong": "missing",
        "message": f"Record 3 of {file.stem} is missing: the file was cut short.",
    }
    assert told == {
        "whole": False,
        "records": 2,
        "unsigned": 0,
        "first": fault,
        "others": [],
        "segments": [{"segment": file.stem, "records": 2, "unsigned": 0, "state": "cut-off", "fault": fault}],
    }


def test_several_records_cut_off_are_told_together(place: Place) -> None:
    file = batches_in(place, [4])
    changed(file, lines_of(file)[:2])

    assert "is missing, as are all up to record 6: the file was cut short" in first_of(place.verify()).message


def test_the_table_is_the_same_on_both_databases(store_url: str) -> None:
    key = AuditKey(b"k" * 32)
    with open_store(store_url, lines=[AUDIT_LINE]) as store:
        heads = SqlHeads(store)
        assert heads.newest() is None
        heads.keep(Head.signed(key, segment="one", seq=1, hash_="a"))
        heads.keep(Head.signed(key, segment="one", seq=2**40, hash_="b"))
        last = heads.newest()
        assert last is not None
        assert (last.seq, last.holds(PublicKeys([key.public]))) == (2**40, True)
        heads.bury(last, Tombstone.signed(key, last, at=7))
        kept = heads.every()["one"]
        assert kept.tombstone is not None
        assert kept.tombstone.holds(kept.head, PublicKeys([key.public]))
        with store.writing() as connection:
            connection.execute(
                insert(HEADS).values(segment="x", seq=1, hash="", signature="", kept_at=0.0, pruned_at=1)
            )
        assert heads.every()["x"].tombstone == Tombstone(at=1, signature="")
        with store.writing() as connection:
            migrate_to(connection, AUDIT_LINE, "base", name="test")
            migrate_to(connection, AUDIT_LINE, "0002", name="test")
        assert heads.every() == {}
