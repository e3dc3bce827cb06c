"""What cannot be read, what fails half-way, and what a newer version has written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pack_cases import Bench, bench, document
from sqlalchemy import event, text

from toolcrib_contextpacks import InvalidPack, PackError, PackStoreFailed, PackUnreadable, export_pack, import_pack
from toolcrib_store import StoreTooNew, open_store
from toolcrib_store.quarantining import quarantined

pytestmark = pytest.mark.req("CP-17")


def _run(packs: Bench, statement: str) -> None:
    with packs.store.writing() as connection:
        connection.execute(text(statement))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE packs SET body = 'not json'",
        "UPDATE packs SET body = replace(body, 'login', 'logout')",
        "UPDATE packs SET status = 'finalized'",
        "UPDATE packs SET revision = 7",
        "UPDATE packs SET expires_at = expires_at + 1",
    ],
)
def test_a_row_that_is_not_what_was_written_is_set_aside_and_told(packs_anywhere: Bench, damage: str) -> None:
    bad = packs_anywhere.input("write", document=document(name="bad"))
    _run(packs_anywhere, damage)
    good = packs_anywhere.input("write", document=document(name="good"))

    error = packs_anywhere.refused("output", action="read", id=bad["id"])
    after = packs_anywhere.input("list")

    assert (error["kind"], error["code"]) == ("deserialize_error", "deserialize_error")
    assert [each["id"] for each in after["packs"]] == [good["id"]]
    assert after["quarantined"] == 1
    assert "could not be read" in packs_anywhere.call("output", action="list")
    kept = quarantined(packs_anywhere.store)[0]
    assert (kept.source, kept.content["id"], kept.content["name"]) == ("packs", bad["id"], "bad")
    assert packs_anywhere.input("write", document=document(name="bad"))["revision"] == 1


def test_text_that_is_no_text_is_set_aside_as_it_is(packs: Bench) -> None:
    made = packs.input("write", document=document())
    _run(packs, "UPDATE packs SET body = CAST(x'fffe00ff' AS TEXT)")

    with pytest.raises(PackUnreadable):
        packs.packs.write(document(), pack_id=made["id"], expected_revision=1)

    assert quarantined(packs.store)[0].content["body"] == {"base64": "//4A/w=="}


def test_what_is_unreadable_is_set_aside_and_not_forgotten_when_its_time_is_over(packs: Bench) -> None:
    packs.input("write", document=document(name="bad", ttl_minutes=1))
    _run(packs, "UPDATE packs SET body = '{}'")
    packs.clock.turn(3600)

    assert packs.packs.sweep() == 0
    assert packs.input("list")["quarantined"] == 1


def test_a_name_of_what_is_unreadable_and_past_its_time_is_free(packs: Bench) -> None:
    packs.input("write", document=document(name="bad", ttl_minutes=1))
    _run(packs, "UPDATE packs SET body = '{}'")
    packs.clock.turn(3600)

    assert packs.input("write", document=document(name="bad"))["revision"] == 1
    assert packs.packs.sweep() == 0
    assert packs.input("list")["quarantined"] == 1


def test_a_pack_of_a_newer_version_is_left_alone_and_breaks_no_list(packs: Bench) -> None:
    made = packs.input("write", document=document(name="newer", ttl_minutes=1))
    _run(packs, "UPDATE packs SET form = 2")

    error = packs.refused("input", action="get", id=made["id"])

    assert error["code"] == "migration_required"
    assert packs.input("list")["count"] == 1
    assert "quarantined" not in packs.input("list")
    packs.clock.turn(3600)
    assert packs.input("write", document=document(name="newer"))["revision"] == 1


def test_a_lower_limit_makes_nothing_unreadable(tmp_path: Path) -> None:
    with bench(tmp_path) as packs:
        made = packs.input("write", document=document())
    with bench(tmp_path, max_pack_bytes=10) as packs:
        assert packs.found(id=made["id"]) == made
        assert packs.refused("input", action="write", document=document())["details"]["allowed_bytes"] == 10


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    with bench(tmp_path) as packs:
        _run(packs, "UPDATE contextpacks_version SET version_num = 'cp9999'")
        lines = packs.store.lines[1:]

    with pytest.raises(StoreTooNew):
        open_store(tmp_path / "packs.db", lines=lines)


def _operations() -> dict[str, Callable[[Bench, str], object]]:
    return {
        "create": lambda packs, _: packs.packs.write(document(name="new")),
        "update": lambda packs, one: packs.packs.write(document(brief="B"), pack_id=one, expected_revision=1),
        "ttl": lambda packs, one: packs.packs.ttl(pack_id=one, ttl_minutes=5),
        "finalize": lambda packs, one: packs.packs.set_status("finalized", pack_id=one),
        "delete": lambda packs, one: packs.packs.delete(pack_id=one),
        "adopt": lambda packs, one: packs.packs.adopt(packs.packs.get(pack_id=one)),
    }


@pytest.mark.parametrize("operation", list(_operations()))
def test_whichever_statement_fails_nothing_is_half_written(packs: Bench, operation: str) -> None:
    made = packs.packs.write(document(name="first")).pack
    work = _operations()[operation]
    before, number = _everything(packs), 0

    while True:
        number += 1
        with _failing(packs, number) as failed, suppress(PackStoreFailed):
            work(packs, made.id)
        if not failed:
            break
        assert _everything(packs) == before

    assert number > 1
    assert (_everything(packs) != before) == (operation != "adopt")


@contextmanager
def _failing(packs: Bench, number: int) -> Iterator[list[int]]:
    """Let the statement with this number fail as a full disk would; the list tells whether it came to that."""
    import sqlite3

    failed: list[int] = []
    counted = 0

    def fail(*_: object) -> None:
        nonlocal counted
        counted += 1
        if counted == number:
            failed.append(number)
            failure = sqlite3.OperationalError("database or disk is full")
            failure.sqlite_errorname = "SQLITE_FULL"
            raise failure

    engine = packs.store._writer.engine
    event.listen(engine, "before_cursor_execute", fail)
    try:
        yield failed
    finally:
        event.remove(engine, "before_cursor_execute", fail)


def _everything(packs: Bench) -> list[object]:
    with packs.store.reading() as connection:
        return [
            tuple(row)
            for table in ("packs", "pack_history")
            for row in connection.execute(text(f"SELECT * FROM {table}"))
        ]


def test_an_exported_pack_is_the_very_same_elsewhere(packs: Bench, tmp_path: Path) -> None:
    made = packs.packs.write(document(name="auth-fix", tags=["ä"])).pack

    with bench(tmp_path / "other") as other:
        read = import_pack(export_pack(made), max_bytes=100_000)
        other.packs.adopt(read)

        assert read == made
        assert other.packs.get(name="auth-fix") == made


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"id": "abc"},
        {"revision": 0},
        {"revision": True},
        {"expires_at": "soon"},
        {"ref_hashes": {"a/b": "x"}},
        {"ref_hashes": None},
        {"document": {"sections": [], "more": 1}},
        {"document": 5},
    ],
)
def test_a_file_that_is_no_exported_pack_is_refused(packs: Bench, change: dict[str, object]) -> None:
    exported = json.loads(export_pack(packs.packs.write(document()).pack))

    with pytest.raises(InvalidPack):
        import_pack(json.dumps(exported | change), max_bytes=100_000)
    with pytest.raises(PackError):
        import_pack(b"\xff", max_bytes=10)
    with pytest.raises(InvalidPack):
        import_pack("[]", max_bytes=10)
