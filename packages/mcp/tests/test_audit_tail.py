"""The end of the audit cannot be cut off, and nothing taken back, unnoticed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from audit_cases import Place, batches_in, call, place_in, records_of
from sqlalchemy import delete, insert, select, update

from toolcrib_mcp.audit import AuditFault, AuditKey, KeptAnchor, MemoryHeads, PublicKeys, open_key, prune, verify
from toolcrib_mcp.audit.chain import Head
from toolcrib_mcp.audit.heads import Tombstone
from toolcrib_mcp.audit.tables import HEADS, REGISTRY
from toolcrib_mcp.errors import AuditUnusable

pytestmark = pytest.mark.fault("K7")

TABLES = (HEADS, REGISTRY)
OTHER_FORM = '{"anchor":"x","heads":{},"number":1,"sig":"","time":""}'
TIME = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path / "state") as made:
        yield made


def cut(file: Path, count: int) -> None:
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:count]))


def without_head(place: Place, *files: Path) -> None:
    with place.store.writing() as connection:
        for file in files:
            connection.execute(delete(HEADS).where(HEADS.c.segment == file.stem))


def anchor_of(place: Place) -> KeptAnchor:
    return KeptAnchor.made(place.heads, open_key(place.directory), time=TIME)


def only_fault(place: Place, anchor: KeptAnchor | None = None) -> AuditFault:
    (fault,) = verify(place.folder, place.heads, place.keys, anchor=anchor).faults
    return fault


@pytest.mark.parametrize("end", [1, 3])
def test_a_signature_in_the_file_is_no_head_of_what_is_before_it(place: Place, end: int) -> None:
    file = batches_in(place, [2, 2])
    records = records_of(file)
    stolen = records[end].link.prev_signature
    assert stolen is not None
    cut(file, end)

    place.heads.keep(Head(segment=file.stem, seq=end, hash=records[end - 1].link.hash, signature=stolen))

    fault = only_fault(place)
    assert (fault.segment, fault.wrong) == (file.stem, "bad-head")


def test_a_head_is_no_signature_of_a_record(place: Place) -> None:
    file = place.write(call())
    head = place.heads.every()[file.stem].head

    assert head.holds(place.keys)
    assert head.signature not in {record.link.prev_signature for record in records_of(file)}


@pytest.mark.parametrize("gone", [True, False], ids=["file and head", "all but the first record"])
def test_the_newest_segment_cannot_be_removed_with_its_head(place: Place, *, gone: bool) -> None:
    place.write(call(1))
    file = place.write(call(2))
    if gone:
        file.unlink()
    else:
        cut(file, 1)
    without_head(place, file)

    fault = only_fault(place)

    assert (fault.segment, fault.wrong) == (file.stem, "segment-missing")
    assert "the registry names it as the newest" in fault.message


def test_the_newest_segments_cannot_be_removed_with_their_heads(place: Place) -> None:
    place.write(call(1))
    gone = [place.write(call(2)), place.write(call(3))]
    for file in gone:
        file.unlink()
    without_head(place, *gone)

    assert only_fault(place).segment == gone[-1].stem


def test_the_only_segment_cannot_be_removed_with_its_head(place: Place) -> None:
    file = place.write(call())
    file.unlink()
    without_head(place, file)

    assert only_fault(place).segment == file.stem


def test_what_was_removed_is_not_covered_by_a_new_segment(place: Place) -> None:
    place.write(call(1))
    file = place.write(call(2))
    file.unlink()
    without_head(place, file)

    place.write(call(3))

    fault = only_fault(place)
    assert (fault.segment, fault.wrong) == ("", "bad-head")
    assert "it names 3 segments, and there are heads of 2" in fault.message


@pytest.mark.parametrize("change", [{"number": 1}, {"newest": "x"}, {"digest": "0" * 64}, {"signature": ""}])
def test_the_registry_cannot_be_changed_without_the_key(place: Place, change: dict[str, object]) -> None:
    place.write(call(1))
    file = place.write(call(2))
    file.unlink()
    without_head(place, file)
    with place.store.writing() as connection:
        connection.execute(update(REGISTRY).values(**change))

    assert "The registry of segments is not what the key has signed" in only_fault(place).message
    place.write(call(3))
    assert not place.verify().is_whole


def test_the_registry_cannot_be_removed(place: Place) -> None:
    place.write(call())
    with place.store.writing() as connection:
        connection.execute(delete(REGISTRY))

    assert "is gone from the database" in only_fault(place).message
    place.write(call())
    assert not place.verify().is_whole


def test_segments_that_were_pruned_stay_in_the_registry(place: Place) -> None:
    place.write(call())
    prune(place.folder, place.verify(), place.heads, key=open_key(place.directory), before="9", at=1.0)
    place.write(call())

    assert place.verify().is_whole
    assert place.heads.number() == 2


def test_heads_of_segments_that_were_swapped_are_found(place: Place) -> None:
    files = [place.write(call(1)), place.write(call(2))]
    with place.store.writing() as connection:
        for file, number in zip(files, [2, 1], strict=True):
            connection.execute(update(HEADS).where(HEADS.c.segment == file.stem).values(number=number))

    assert "do not agree" in only_fault(place).message


class Earlier:
    """A state directory at a moment, to which it can be taken back."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.files = {file: file.read_bytes() for file in place.files()}
        with place.store.reading() as connection:
            self.rows = {table: [dict(row) for row in connection.execute(select(table)).mappings()] for table in TABLES}

    def restore(self, *, files: bool = True) -> None:
        with self.place.store.writing() as connection:
            for table, rows in self.rows.items():
                connection.execute(delete(table))
                if rows:
                    connection.execute(insert(table), rows)
        if files:
            for file in self.place.files():
                file.unlink()
            for file, content in self.files.items():
                file.write_bytes(content)


def test_a_database_that_was_rolled_back_with_the_files_is_found_against_an_anchor(place: Place) -> None:
    place.write(call(1))
    earlier = Earlier(place)
    file = place.write(call(2))
    anchor = anchor_of(place)
    assert verify(place.folder, place.heads, place.keys, anchor=anchor).is_whole

    earlier.restore()

    assert place.verify().is_whole  # which is why there are anchors
    faults = verify(place.folder, place.heads, place.keys, anchor=anchor).faults
    assert [(each.segment, each.wrong) for each in faults] == [(file.stem, "segment-missing"), ("", "rolled-back")]
    assert "it knows 1 segment, and the anchor 2" in faults[1].message


def test_a_segment_that_was_taken_back_with_its_head_is_found_against_an_anchor(place: Place) -> None:
    file = batches_in(place, [2, 2], keeps_head=False)
    records, key = records_of(file), open_key(place.directory)
    place.heads.keep(Head.signed(key, segment=file.stem, seq=3, hash_=records[2].link.hash))
    earlier = Earlier(place)
    place.heads.keep(Head.signed(key, segment=file.stem, seq=6, hash_=records[5].link.hash))
    anchor = anchor_of(place)
    earlier.restore()
    cut(file, 3)

    fault = only_fault(place, anchor)

    assert (fault.segment, fault.seq, fault.wrong) == (file.stem, 4, "missing")


def test_heads_alone_that_were_taken_back_are_found_against_an_anchor(place: Place) -> None:
    file = batches_in(place, [2, 2], keeps_head=False)
    records, key = records_of(file), open_key(place.directory)
    place.heads.keep(Head.signed(key, segment=file.stem, seq=3, hash_=records[2].link.hash))
    earlier = Earlier(place)
    place.heads.keep(Head.signed(key, segment=file.stem, seq=6, hash_=records[5].link.hash))
    anchor = anchor_of(place)
    earlier.restore(files=False)

    fault = only_fault(place, anchor)

    assert (fault.segment, fault.wrong) == (file.stem, "rolled-back")


def test_what_was_pruned_after_the_anchor_is_no_fault_and_what_was_cut_before_is(place: Place) -> None:
    file = place.write(call())
    last, key = records_of(file)[-1].link, open_key(place.directory)
    anchor = anchor_of(place)
    prune(place.folder, place.verify(), place.heads, key=key, before="9", at=1.0)
    assert verify(place.folder, place.heads, place.keys, anchor=anchor).is_whole

    heads = MemoryHeads()
    shorter = Head.signed(key, segment=file.stem, seq=last.seq - 1, hash_=last.prev)
    heads.bury(shorter, Tombstone.signed(key, shorter, at=1))
    found = verify(place.folder, heads, place.keys, anchor=anchor).faults

    assert [(each.segment, each.wrong) for each in found] == [(file.stem, "rolled-back")]


def test_an_anchor_holds_for_what_comes_after_it(place: Place) -> None:
    place.write(call(1))
    anchor = anchor_of(place)
    place.write(call(2))

    assert verify(place.folder, place.heads, place.keys, anchor=anchor).is_whole


def test_an_anchor_of_another_key_proves_that_the_keys_were_replaced(place: Place) -> None:
    place.write(call())
    anchor = KeptAnchor.made(place.heads, AuditKey(b"x" * 32), time=TIME)

    fault = only_fault(place, anchor)

    assert (fault.wrong, "the keys were replaced" in fault.message) == ("bad-signature", True)


def test_an_anchor_outlives_a_file(place: Place, tmp_path: Path) -> None:
    place.write(call())
    anchor = anchor_of(place)
    (tmp_path / "anchor").write_bytes(anchor.dumped())

    assert KeptAnchor.read(tmp_path / "anchor") == anchor
    assert anchor.holds(place.keys)
    assert not anchor.holds(PublicKeys([]))


@pytest.mark.parametrize(
    "content", [OTHER_FORM, "", "[]", "{}", '{"anchor":"x"}', '{"anchor":"toolcrib-audit-anchor-1","heads":1}']
)
def test_a_file_that_is_no_anchor_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "anchor").write_text(content, encoding="utf-8")

    with pytest.raises(AuditUnusable, match="is no anchor of the audit"):
        KeptAnchor.read(tmp_path / "anchor")
    with pytest.raises(AuditUnusable, match="cannot be read: No such file"):
        KeptAnchor.read(tmp_path / "none")
