"""Opening a database: whatever lies there, nothing is lost and nothing is believed."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

import toolcrib_store.engine
from toolcrib_store import Store, StoreBusy, StoreDamaged, StoreError, StoreTooNew, StoreUnavailable, open_store
from toolcrib_store.migrating import REVISIONS
from toolcrib_store.tables import METADATA


def test_a_new_database_is_made_with_its_folder_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "state" / "toolcrib.db"

    open_store(file).close()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_the_steps_lead_to_the_tables_that_the_code_works_with(tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with open_store(tmp_path / "a.db") as store, store.reading() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), METADATA)

    assert differences == []


def test_every_step_is_known_in_order(tmp_path: Path) -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(toolcrib_store.engine.__file__).parent / "migrations"))

    steps = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]

    assert tuple(reversed(steps)) == REVISIONS


def test_every_step_can_be_taken_back(tmp_path: Path) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(toolcrib_store.engine.__file__).parent / "migrations"))
    with open_store(tmp_path / "a.db") as store:
        with store.writing() as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, "base")
        with store.reading() as connection:
            left = connection.scalars(text("SELECT name FROM sqlite_master WHERE type = 'table'")).all()

    assert left == ["alembic_version"]


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
def test_a_writer_that_never_ends_is_told_as_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolcrib_store.engine, "BUSY_SECONDS", 0.05)
    with open_store(tmp_path / "a.db") as store, store.writing(), pytest.raises(StoreBusy) as busy, store.writing():
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
