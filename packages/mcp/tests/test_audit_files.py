"""Exports that prove themselves, old segments that are removed, records that are read again, and the key."""

from __future__ import annotations

import base64
import io
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from audit_cases import Place, batches_in, call, place_in, records_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from toolcrib_mcp.audit import (
    AuditFault,
    AuditKey,
    Exported,
    Follower,
    MemoryHeads,
    Pruned,
    PublicKeys,
    RecordFilter,
    export,
    newest_records,
    open_key,
    prune,
    read_public_keys,
    verify,
    verify_export,
)
from toolcrib_mcp.audit.chain import Head, sealed
from toolcrib_mcp.audit.heads import Tombstone
from toolcrib_mcp.audit.tables import HEADS
from toolcrib_mcp.errors import AuditUnusable

pytestmark = pytest.mark.req("GW-8.6")

LATER = "2100-01-01T00:00:00.000Z"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path / "state") as made:
        yield made


def exported(place: Place, **times: Any) -> tuple[Exported, Path]:
    target = io.BytesIO()
    told = export(place.folder, place.verify(), target, key=open_key(place.directory), **times)
    file = place.directory / "export.jsonl"
    file.write_bytes(target.getvalue())
    return told, file


def first_in(file: Path, keys: PublicKeys) -> AuditFault:
    fault = verify_export(file, keys).first
    assert fault is not None
    return fault


def test_an_export_holds_every_record_as_it_was_written_and_verifies_alone(place: Place) -> None:
    lines = place.write(call(1)).read_bytes() + place.write(call(2)).read_bytes()

    told, file = exported(place)

    verdict = verify_export(file, place.keys)
    assert told == Exported(segments=2, records=6)
    assert (verdict.is_whole, verdict.records) == (True, 6)
    assert set(lines.splitlines()) < set(file.read_bytes().splitlines())


def test_an_export_of_a_time_is_verified_from_its_first_record_to_its_last(place: Place) -> None:
    records = records_of(batches_in(place, [3, 3, 3]))

    told, file = exported(place, since=records[4].time, until=records[7].time)

    assert told.records == 4
    assert verify_export(file, place.keys).is_whole


def test_a_time_without_records_gives_an_export_without_any(place: Place) -> None:
    place.write(call())

    told, file = exported(place, since=LATER)

    assert told == Exported(segments=0, records=0)
    assert verify_export(file, place.keys).is_whole


def test_an_export_says_how_much_of_it_was_unsigned(place: Place) -> None:
    file = batches_in(place, [2, 3])
    key, third = open_key(place.directory), records_of(file)[2].link
    place.heads.keep(Head.signed(key, segment=file.stem, seq=3, hash_=third.hash))
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:5]))

    assert verify_export(exported(place)[1], place.keys).unsigned == 2


def test_what_is_not_whole_is_not_exported(place: Place) -> None:
    file = place.write(call())
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:1]))

    with pytest.raises(AuditUnusable, match="not whole"):
        exported(place)


@pytest.fixture(scope="module")
def an_export(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, PublicKeys]:
    with place_in(tmp_path_factory.mktemp("export") / "state") as place:
        batches_in(place, [3, 2])
        batches_in(place, [4])
        file = exported(place)[1]
        return file, file.read_bytes(), place.keys


@settings(max_examples=200)
@given(data=st.data())
def test_any_single_change_to_an_export_is_found_in_its_line(
    an_export: tuple[Path, bytes, PublicKeys], data: st.DataObject
) -> None:
    file, content, keys = an_export
    lines = content.splitlines(keepends=True)
    at = data.draw(st.integers(1, len(lines) - 1), label="at")
    how = data.draw(st.sampled_from(["flip", "delete", "swap", "truncate", "repeat"]), label="how")
    bad = at + 1
    match how:
        case "flip":
            line = bytearray(lines[at])
            line[data.draw(st.integers(0, len(line) - 1), label="byte")] ^= data.draw(st.integers(1, 255), label="bits")
            lines[at] = bytes(line)
        case "delete":
            del lines[at]
        case "swap":
            other = data.draw(st.integers(1, len(lines) - 1).filter(lambda each: each != at), label="other")
            lines[at], lines[other] = lines[other], lines[at]
            bad = min(at, other) + 1
        case "truncate":
            del lines[at:]
        case _:
            lines.insert(at + 1, lines[at])
            bad = at + 2
    file.write_bytes(b"".join(lines))

    fault = first_in(file, keys)

    assert fault.line in {bad, None}, fault


@pytest.mark.parametrize("change", ["content", "signature", "key"])
def test_a_first_line_that_the_key_has_not_signed_is_found(place: Place, change: str) -> None:
    place.write(call())
    file = exported(place)[1]
    first, *rest = file.read_bytes().splitlines(keepends=True)
    manifest = json.loads(first)
    keys = place.keys
    if change == "content":
        manifest["segments"][0]["last"] = 2
    elif change == "signature":
        manifest["sig"] = "no base64"
    else:
        keys = PublicKeys([AuditKey(b"z" * 32).public])
    file.write_bytes(json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode() + b"\n" + b"".join(rest))

    assert first_in(file, keys).wrong == "bad-signature"


@pytest.mark.parametrize("content", [b"", b"no json\n", b"[]\n", b'{"export":"other"}\n'])
def test_a_file_that_is_no_export_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(content)

    with pytest.raises(AuditUnusable, match="is no export"):
        verify_export(file, PublicKeys([]))


def test_an_export_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(AuditUnusable, match="cannot be read: No such file"):
        verify_export(tmp_path / "none", PublicKeys([]))


def test_a_segment_that_was_put_into_an_export_is_found(place: Place) -> None:
    file = batches_in(place, [1])
    target = exported(place)[1]
    with target.open("ab") as opened:
        opened.write(b'{"segment":"forged"}\n' + file.read_bytes())

    fault = first_in(target, place.keys)

    assert (fault.segment, fault.wrong, fault.line) == ("forged", "out-of-place", 6)


def test_a_record_that_follows_the_last_of_an_export_is_found(place: Place) -> None:
    last = records_of(batches_in(place, [1]))[-1].link
    target = exported(place)[1]
    with target.open("ab") as opened:
        opened.write(sealed({"kind": "call"}, seq=4, prev=last.hash, prev_signature=None)[0])

    fault = first_in(target, place.keys)

    assert (fault.seq, fault.wrong, fault.line) == (4, "out-of-place", 6)


def test_segments_that_were_put_in_another_order_are_found(place: Place) -> None:
    one, two = batches_in(place, [1]), batches_in(place, [2])
    target = exported(place)[1]
    swapped = target.read_bytes().splitlines(keepends=True)
    at = [number for number, line in enumerate(swapped) if line.startswith(b'{"segment"')]
    target.write_bytes(b"".join([swapped[0], *swapped[at[1] :], *swapped[at[0] : at[1]]]))

    fault = first_in(target, place.keys)

    assert (fault.segment, fault.wrong, fault.line) == (min(one.stem, two.stem), "out-of-place", 2)


def test_records_in_front_of_the_first_name_are_found(place: Place) -> None:
    batches_in(place, [1])
    target = exported(place)[1]
    lines = target.read_bytes().splitlines(keepends=True)
    target.write_bytes(b"".join([lines[0], *lines[2:]]))

    assert first_in(target, place.keys).line == 2


@pytest.mark.parametrize(
    "line", [b'{"segment":\n', b'{"segment":5}\n', b'{"segment": "x"}\n', b'{"segment":"x","a":1}\n']
)
def test_what_only_begins_as_the_name_of_a_segment_is_no_record(place: Place, line: bytes) -> None:
    batches_in(place, [1])
    target = exported(place)[1]
    lines = target.read_bytes().splitlines(keepends=True)
    target.write_bytes(b"".join([*lines[:3], line, *lines[3:]]))

    assert first_in(target, place.keys).line == 4


def prune_all(place: Place, *, before: str = LATER) -> Pruned:
    return prune(place.folder, place.verify(), place.heads, key=open_key(place.directory), before=before, at=1e9)


def test_old_segments_are_removed_and_the_record_is_still_whole(place: Place) -> None:
    old = batches_in(place, [2])
    new = place.write(call())

    told = prune_all(place, before="2001-01-01T00:00:00.000Z")

    assert told == Pruned(segments=(old.stem,), records=4, kept_as_evidence=())
    assert place.files() == [new]
    verdict = place.verify()
    assert (verdict.is_whole, [each.state for each in verdict.segments]) == (True, ["pruned", "closed"])


def test_heads_in_memory_know_what_was_removed(place: Place) -> None:
    file, heads = batches_in(place, [2]), MemoryHeads()
    heads.keep(place.heads.every()[file.stem].head)

    verdict = verify(place.folder, heads, place.keys)
    prune(place.folder, verdict, heads, key=open_key(place.directory), before=LATER, at=1e9)

    assert [each.state for each in verify(place.folder, heads, place.keys).segments] == ["pruned"]


def test_what_was_removed_once_is_not_removed_again(place: Place) -> None:
    place.write(call())
    prune_all(place)

    assert prune_all(place) == Pruned(segments=(), records=0, kept_as_evidence=())
    assert exported(place)[0].segments == 0


def test_a_segment_that_is_being_written_or_is_not_what_was_written_stays(place: Place) -> None:
    changed = batches_in(place, [2])
    changed.write_bytes(changed.read_bytes().replace(b"allow", b"ALLOW", 1))
    journal = place.journal()
    journal.start()
    waiting = threading.Event()
    while len(place.files()) < 2 or not place.heads.every().keys() >= {each.stem for each in place.files()}:
        waiting.wait(0.01)

    told = prune_all(place)

    journal.close()
    assert told == Pruned(segments=(), records=0, kept_as_evidence=(changed.stem,))
    assert len(place.files()) == 2


def test_a_tombstone_that_the_key_has_not_signed_hides_nothing(place: Place) -> None:
    file = place.write(call())
    file.unlink()
    with place.store.writing() as connection:
        connection.execute(update(HEADS).values(pruned_at=5, pruned_signature="AAAA"))

    assert [(each.segment, each.wrong) for each in place.verify().faults] == [(file.stem, "bad-head")]


def test_a_tombstone_for_less_than_a_later_segment_names_hides_nothing(place: Place) -> None:
    file, key = batches_in(place, [2]), open_key(place.directory)
    second = records_of(file)[1].link
    place.write(call())
    head = Head.signed(key, segment=file.stem, seq=2, hash_=second.hash)
    place.heads.bury(head, Tombstone.signed(key, head, at=5))
    file.unlink()

    assert [(each.segment, each.wrong) for each in place.verify().faults] == [(file.stem, "bad-head")]


def test_the_newest_records_of_all_segments_come_in_the_order_of_time(place: Place) -> None:
    batches_in(place, [5])
    batches_in(place, [2])
    place.write(*(call(each) for each in range(300)))

    found = newest_records(place.folder, 4)

    assert [each.kind for each in found] == ["call", "call", "call", "stop"]
    assert [each.fields.get("tool") for each in found[:3]] == [
        f"files:read-{each}#0a1b2c3d" for each in (297, 298, 299)
    ]
    assert len(newest_records(place.folder, 1000)) == 7 + 4 + 302
    assert newest_records(place.folder / "none", 5) == []


def test_records_are_chosen_by_patterns(place: Place) -> None:
    place.write(call(1, principal="ada"), call(2, principal="grace", server="mail"), call(3, principal="ada"))

    def tools(wanted: RecordFilter) -> list[str]:
        return [str(each.fields["tool"]) for each in newest_records(place.folder, 10, wanted=wanted)]

    assert tools(RecordFilter(principal="grace")) == ["files:read-2#0a1b2c3d"]
    assert tools(RecordFilter(tool="*read-[13]#*")) == ["files:read-1#0a1b2c3d", "files:read-3#0a1b2c3d"]
    assert tools(RecordFilter(server="mail", principal="ada")) == []


def test_lines_that_are_no_records_are_not_shown(place: Place) -> None:
    file = place.write(call())
    file.write_bytes(b"junk\n" + file.read_bytes() + b"half a li")

    assert [each.kind for each in newest_records(place.folder, 10)] == ["start", "call", "stop"]


def test_who_follows_gets_what_is_new_once_and_whole(place: Place) -> None:
    file = place.write(call(1))
    half = place.folder / "20300101T000000000Z-0123456789abcdef.jsonl"
    half.write_bytes(b"x" * 100_000)
    follower = Follower(place.folder, wanted=RecordFilter(tool="*"))
    assert follower.new() == []
    lines = file.read_bytes().splitlines(keepends=True)
    with file.open("ab") as opened:
        opened.write(lines[1] + lines[1][:20])
    assert [each.link.seq for each in follower.new()] == [2]
    with file.open("ab") as opened:
        opened.write(lines[1][20:])
    place.write(call(2))

    assert [each.kind for each in follower.new()] == ["call", "start", "call", "stop"]
    assert follower.new() == []


def test_the_key_is_made_once_however_many_want_it(tmp_path: Path) -> None:
    found: list[bytes] = []
    begin = threading.Barrier(8)

    def opened() -> None:
        begin.wait()
        found.append(open_key(tmp_path).public)

    threads = [threading.Thread(target=opened) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len(found) == 8
    assert len(set(found)) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["audit.key", "audit.pub"]


def test_a_key_that_was_lost_is_followed_by_another_and_old_records_still_verify(place: Place) -> None:
    place.write(call())
    (place.directory / "audit.key").unlink()
    place.write(call())

    assert place.verify().is_whole
    assert len((place.directory / "audit.pub").read_text(encoding="ascii").splitlines()) == 2


def test_a_key_shows_nothing_of_itself(tmp_path: Path) -> None:
    key = open_key(tmp_path)

    text = (tmp_path / "audit.key").read_text(encoding="ascii").split()[1]
    assert text not in f"{key!r} {vars(key)['_digesting']!r}"
    assert repr(key) == "AuditKey(…)"


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        ("toolcrib-audit-key-1 " + base64.b64encode(b"k" * 32).decode(), 0o644, "can be read by others"),
        ("toolcrib-audit-key-1 " + base64.b64encode(b"k" * 31).decode(), 0o600, "holds no key"),
        ("toolcrib-audit-key-1 §", 0o600, "holds no key"),
        ("other " + base64.b64encode(b"k" * 32).decode(), 0o600, "holds no key"),
        ("", 0o600, "holds no key"),
    ],
)
def test_a_key_that_cannot_be_used_is_told(tmp_path: Path, content: str, mode: int, message: str) -> None:
    file = tmp_path / "audit.key"
    file.write_text(content, encoding="utf-8")
    file.chmod(mode)

    with pytest.raises(AuditUnusable, match=message):
        open_key(tmp_path)


def test_a_key_of_another_user_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_key(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: (tmp_path / "audit.key").stat().st_uid + 1)

    with pytest.raises(AuditUnusable, match="It belongs to another user"):
        open_key(tmp_path)


def test_a_key_that_is_no_file_or_leads_elsewhere_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "audit.key")
    with pytest.raises(AuditUnusable, match="is no plain file"):
        open_key(tmp_path)
    (tmp_path / "audit.key").unlink()
    (tmp_path / "elsewhere").write_text("", encoding="utf-8")
    (tmp_path / "audit.key").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(AuditUnusable, match="cannot be trusted: It is a link"):
        open_key(tmp_path)


def test_public_keys_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(AuditUnusable, match="cannot be read: No such file"):
        read_public_keys(tmp_path / "audit.pub")
    (tmp_path / "audit.pub").write_text("ed25519 AAAA\n", encoding="ascii")
    with pytest.raises(AuditUnusable, match="holds none"):
        read_public_keys(tmp_path / "audit.pub")


@pytest.mark.parametrize("signature", ["", "no base64!", "AAAA", base64.b64encode(bytes(64)).decode() + "\n"])
def test_what_is_no_signature_vouches_for_nothing(signature: str) -> None:
    keys = PublicKeys([AuditKey(b"k" * 32).public, AuditKey(b"l" * 32).public])

    assert not keys.signed(b"message", signature)
    assert keys.signed(b"message", AuditKey(b"l" * 32).sign(b"message"))


def test_one_signature_has_one_text() -> None:
    key = AuditKey(b"k" * 32)
    text = key.sign(b"message")
    # The last character but two holds four bits that no byte is made of.
    other = next(
        f"{text[:-3]}{each}=="
        for each in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        if each != text[-3] and base64.b64decode(f"{text[:-3]}{each}==") == base64.b64decode(text)
    )

    assert not PublicKeys([key.public]).signed(b"message", other)
