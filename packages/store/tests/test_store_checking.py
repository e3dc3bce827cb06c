"""Looking through a store, and moving what cannot be read out of the way."""

from __future__ import annotations

import asyncio
import base64
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing

import pytest
from sqlalchemy import Connection, select, text, update

from toolcrib_store import (
    ArtifactNotFound,
    Artifacts,
    Owner,
    SqlLedger,
    Store,
    StoreDamaged,
    Unreadable,
    check_store,
    open_store,
    quarantine,
    quarantined,
)
from toolcrib_store.checking import _shortened
from toolcrib_store.tables import ARTIFACTS, CALLS, CHUNKS

ANNA = Owner(principal="anna")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with open_store(store_url) as opened:
        yield opened


def put(store: Store, content: bytes) -> str:
    return Artifacts(store).put(content, owner=ANNA, media_type="t", kind="k", source="s").handle


def harm(store: Store, *changes: object) -> None:
    with store.writing() as connection:
        for change in changes:
            connection.execute(change)


def test_a_store_that_is_as_it_should_be_says_what_is_in_it(store: Store) -> None:
    for content in (b"one", b"two", b"x" * 300_000, b""):
        put(store, content)

    report = check_store(store)

    assert report.ok
    assert (report.dialect, report.revisions) == (store.dialect, {"store": "0002"})
    assert (report.rows["artifacts"], report.rows["chunks"], report.quarantined) == (4, 4, 0)


@pytest.mark.fault("G9")
@pytest.mark.req("CP-17")
def test_content_that_is_not_what_was_put_is_found_and_moved_and_nothing_is_deleted(store: Store) -> None:
    bad, good = put(store, b"bad"), put(store, b"good")
    harm(store, update(CHUNKS).where(CHUNKS.c.content == b"bad").values(content=b"BAD"))

    found = check_store(store)
    moved = check_store(store, move=True)
    after = check_store(store)

    assert len(found.problems) == 3
    assert (found.moved, moved.moved, after.ok, after.quarantined) == (0, 3, True, 3)
    assert Artifacts(store).read(good, owner=ANNA) == b"good"
    with pytest.raises(ArtifactNotFound):
        Artifacts(store).read(bad, owner=ANNA)
    kept = quarantined(store)
    assert [each.source for each in kept] == ["artifacts", "chunks", "blobs"]
    assert kept[0].content["handle"] == bad
    assert kept[1].content["content"] == {"base64": base64.b64encode(b"BAD").decode()}
    assert "not what was put" in kept[0].reason


@pytest.mark.fault("G9")
@pytest.mark.parametrize(
    "change",
    [
        update(ARTIFACTS).values(facts='{"rows": 4}'),
        update(ARTIFACTS).values(source="another:tool"),
        update(ARTIFACTS).values(facts="no json", seal=None),
        update(ARTIFACTS).values(facts="[]", seal=None),
    ],
)
def test_a_row_that_is_not_what_was_written_is_found(store: Store, change: object) -> None:
    put(store, b"one")
    harm(store, change)

    report = check_store(store, move=True)

    assert [each.partition(":")[0] for each in report.problems] == ["In `artifacts`"]
    assert report.quarantined == 1


@pytest.mark.fault("G9")
def test_a_row_whose_seal_is_broken_is_never_given_out_and_does_not_hide_the_others(store: Store) -> None:
    bad, good = put(store, b"bad"), put(store, b"good")
    harm(store, update(ARTIFACTS).where(ARTIFACTS.c.handle == bad).values(media_type="text/html"))
    kept = Artifacts(store)

    for ask in (kept.info, kept.read):
        with pytest.raises(StoreDamaged):
            ask(bad, owner=ANNA)
    assert [each.handle for each in kept.list(owner=ANNA)] == [good]


def test_a_call_that_is_not_what_was_written_is_found_and_moved(store: Store) -> None:
    ledger = SqlLedger(store)
    for key in ("good", "bad"):
        asyncio.run(ledger.begin(key, "f", repeatable=False))
        asyncio.run(ledger.finish(key, b"1"))
    harm(store, update(CALLS).where(CALLS.c.key == "bad").values(record=b"2"))

    report = check_store(store, move=True)

    assert (len(report.problems), report.moved) == (1, 1)
    with store.reading() as connection:
        assert connection.scalars(select(CALLS.c.key)).all() == ["good"]
    ledger.close()


@pytest.mark.req("CP-17")
def test_rows_of_other_packages_are_looked_at_too(store: Store) -> None:
    put(store, b"one")

    def distrust(connection: Connection) -> Iterable[Unreadable]:
        yield Unreadable(table=ARTIFACTS, where=ARTIFACTS.c.id > 0, what="I do not like it.")

    report = check_store(store, more=[distrust], move=True)

    assert report.problems == ("In `artifacts`: I do not like it.",)
    assert report.moved == 1


@pytest.mark.fault("G9")
def test_texts_that_are_none_and_types_that_do_not_belong_are_moved_as_they_are(tmp_path) -> None:
    with open_store(tmp_path / "a.db") as store:
        put(store, b"one")
        put(store, b"two")
        harm(
            store,
            text("UPDATE artifacts SET kind = CAST(x'ff41' AS TEXT), size = 1.5 WHERE id = 1"),
            text("UPDATE artifacts SET facts = x'00ff' WHERE id = 2"),
            text("INSERT INTO blobs VALUES (x'07', 4, 0)"),
            text("INSERT INTO chunks VALUES (x'07', 0, 'text', x'')"),
        )

        report = check_store(store, move=True)

        first, second, *others = (each.content for each in quarantined(store))
    assert (report.moved, len(others)) == (4, 2)
    assert (first["kind"], first["size"]) == ({"base64": base64.b64encode(b"\xffA").decode()}, 1.5)
    assert second["facts"] == {"base64": base64.b64encode(b"\x00\xff").decode()}


@pytest.mark.fault("G9")
def test_what_the_database_itself_finds_is_told(tmp_path) -> None:
    with open_store(tmp_path / "a.db") as store:
        put(store, b"one")
        with closing(sqlite3.connect(tmp_path / "a.db")) as plain:
            plain.execute("DELETE FROM blobs")
            plain.commit()

        report = check_store(store)

    assert report.problems
    assert "that is not there" in report.problems[0]


def test_what_is_not_there_is_not_moved(store: Store) -> None:
    with store.writing() as connection:
        nothing = Unreadable(table=ARTIFACTS, where=ARTIFACTS.c.id == 99, what="It is not there.")
        assert quarantine(connection, nothing, now=0.0) == 0
    assert quarantined(store) == []


def test_the_quarantine_is_read_in_pages(store: Store) -> None:
    for number in range(3):
        put(store, b"%d" % number)
    harm(store, update(ARTIFACTS).values(facts="no json", seal=None))
    check_store(store, move=True)

    first = quarantined(store, limit=2)
    rest = quarantined(store, limit=2, after=first[-1].id)

    assert [len(first), len(rest)] == [2, 1]


def test_a_thousand_problems_are_told_in_a_hundred_and_one_lines() -> None:
    assert _shortened(["x"] * 1_000)[99:] == ("x", "And 900 more.")
