"""Opening a database: whatever lies there, nothing is lost and nothing is believed."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import NoSuchTableError

from toolcrib_store import (
    Store,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
    back_up,
    check_store,
    open_store,
    restore,
)


def test_a_new_database_is_made_with_its_folder_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "state" / "toolcrib.db"

    open_store(file).close()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_second_process_waits_its_turn_to_bring_it_up(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    failures: list[BaseException] = []

    def opening() -> None:
        try:
            open_store(file).close()
        except BaseException as failure:  # noqa: BLE001  # told to the test
            failures.append(failure)

    threads = [threading.Thread(target=opening) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert failures == []


@pytest.mark.fault("G7")
def test_a_database_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with open_store(file) as store, store.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    with pytest.raises(StoreTooNew) as refused:
        open_store(file)

    assert refused.value.details["revision"] == "9999"
    plain = sqlite3.connect(file)
    assert plain.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)
    plain.close()


@pytest.mark.fault("G9")
@pytest.mark.parametrize(
    "content", [b"this is no database at all, but long enough" * 100, b"SQLite format 3\x00" + b"\xff" * 4096]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.db"
    file.write_bytes(content)

    with pytest.raises(StoreDamaged):
        open_store(file)

    assert file.read_bytes() == content


@pytest.mark.fault("G9")
def test_a_truncated_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    open_store(file).close()
    os.truncate(file, file.stat().st_size // 2)

    with pytest.raises(StoreDamaged):
        open_store(file)


@pytest.mark.fault("G9")
def test_damage_inside_a_file_that_can_be_opened_is_found_and_told(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with open_store(file) as store:
        break_inside(file)
        report = check_store(store)
        with pytest.raises(StoreDamaged):
            back_up(store, tmp_path / "copy")

    assert report.problems == ("The file is damaged: NULL value in broken.a.",)
    with pytest.raises(StoreDamaged):
        open_store(file)
    with pytest.raises(StoreDamaged):
        restore(file, tmp_path / "b.db")
    assert {each.name for each in tmp_path.iterdir()} == {"a.db"}


@pytest.mark.fault("G7")
@pytest.mark.parametrize("way", ["BEGIN", "BEGIN EXCLUSIVE"])
def test_a_file_that_somebody_has_for_himself_is_told_as_busy(tmp_path: Path, way: str) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as plain:
        plain.execute("CREATE TABLE x (a)")
        plain.execute(way)
        plain.execute("SELECT * FROM x").fetchall()

        with pytest.raises(StoreBusy):
            open_store(tmp_path / "a.db", busy_seconds=0.05)


@pytest.mark.fault("G7")
def test_a_place_where_no_file_can_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder", encoding="utf-8")

    with pytest.raises(StoreUnavailable) as refused:
        open_store(tmp_path / "taken" / "a.db")

    assert "a.db" in refused.value.message


@pytest.mark.fault("G7")
def test_a_disk_that_is_full_is_told_and_nothing_is_half_written(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as store:
        with pytest.raises(StoreUnavailable, match="full"):
            _fill(store)

        with store.reading() as connection:
            assert connection.scalar(text("SELECT count(*) FROM blobs")) == 0


@pytest.mark.fault("G7")
def test_a_writer_that_never_ends_is_told_as_busy(tmp_path: Path) -> None:
    with (
        open_store(tmp_path / "a.db") as one,
        open_store(tmp_path / "a.db", busy_seconds=0.05) as other,
        one.writing(),
        pytest.raises(StoreBusy) as busy,
        other.writing(),
    ):
        pass

    assert busy.value.retryable


def test_what_an_exception_leaves_is_as_it_was(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as store:
        with pytest.raises(KeyError):
            _change_and_fail(store)

        with store.reading() as connection:
            assert connection.scalar(text("SELECT count(*) FROM blobs")) == 0


def test_a_failure_without_a_name_is_told_all_the_same(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as store, pytest.raises(StoreError) as failed, store.reading() as connection:
        connection.execute(text("SELECT * FROM nothing"))

    assert "a.db" in failed.value.message


def test_a_failure_of_the_layer_above_the_driver_is_told_too(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as store, pytest.raises(StoreError, match="NoSuchTableError"), store.reading():
        raise NoSuchTableError("x")


def break_inside(file: Path) -> None:
    """Make a row that its table does not allow, as a bit that fell over in the definition would."""
    with closing(sqlite3.connect(file)) as plain:
        plain.execute("CREATE TABLE broken (a)")
        plain.execute("INSERT INTO broken VALUES (NULL)")
        plain.execute("PRAGMA writable_schema=1")
        plain.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE broken (a NOT NULL)' WHERE name = 'broken'")
        plain.commit()


def _fill(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(text("PRAGMA max_page_count = 1"))
        connection.execute(text("INSERT INTO blobs VALUES (x'00', 0, 0)"))
        for number in range(1, 64):
            chunk = {"number": number, "content": b"x" * 100_000}
            connection.execute(text("INSERT INTO chunks VALUES (x'00', :number, :content, x'00')"), chunk)


def _change_and_fail(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(text("INSERT INTO blobs VALUES (x'00', 1, 1)"))
        raise KeyError("changed my mind")
