"""Copies of a store: whole, checked, and put back without losing what was there."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from toolcrib_store import (
    Artifacts,
    Owner,
    StoreBusy,
    StoreDamaged,
    StoreRefused,
    StoreTooNew,
    StoreUnavailable,
    back_up,
    check_store,
    open_store,
    restore,
)

ANNA = Owner(principal="anna")


def filled(file: Path, *contents: bytes) -> Path:
    with open_store(file) as store:
        for content in contents:
            Artifacts(store).put(content, owner=ANNA, media_type="t", kind="k", source="s")
    return file


def contents_of(file: Path) -> set[bytes]:
    with open_store(file) as store:
        kept = Artifacts(store)
        return {kept.read(each.handle, owner=ANNA) for each in kept.list(owner=ANNA)}


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_a_copy_is_made_while_others_write_and_is_one_file_for_its_owner_alone(tmp_path: Path) -> None:
    copy = tmp_path / "copies" / "a.copy"
    with open_store(filled(tmp_path / "a.db", b"one")) as store:
        with store.writing():
            size = back_up(store, copy)
        Artifacts(store).put(b"later", owner=ANNA, media_type="t", kind="k", source="s")

    assert names_in(copy.parent) == {"a.copy"}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert size == copy.stat().st_size
    assert contents_of(copy) == {b"one"}


def test_a_file_that_is_there_is_replaced_only_on_request_and_never_the_store_itself(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_text("mine", encoding="utf-8")
    file = filled(tmp_path / "a.db", b"one")
    with open_store(file) as store:
        with pytest.raises(StoreRefused):
            back_up(store, copy)
        with pytest.raises(StoreRefused):
            back_up(store, file, replace=True)
        assert copy.read_text(encoding="utf-8") == "mine"

        back_up(store, copy, replace=True)

    assert contents_of(copy) == {b"one"}


@pytest.mark.fault("G7")
def test_a_copy_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    with open_store(filled(tmp_path / "a.db")) as store, pytest.raises(StoreUnavailable):
        back_up(store, tmp_path / "taken" / "copy")


def test_postgresql_makes_its_own_copies(postgresql_url: str, tmp_path: Path) -> None:
    with open_store(postgresql_url) as store, pytest.raises(StoreRefused) as refused:
        back_up(store, tmp_path / "copy")

    assert "pg_dump" in (refused.value.hint or "")
    assert names_in(tmp_path) == set()


def test_a_copy_is_put_back_and_the_old_file_is_kept_beside(tmp_path: Path) -> None:
    file, copy = filled(tmp_path / "a.db", b"one"), tmp_path / "copy"
    with open_store(file) as store:
        back_up(store, copy)
    filled(file, b"two")

    old = restore(copy, file)
    again = restore(copy, file)

    assert contents_of(file) == {b"one"}
    assert old is not None
    assert again is not None
    assert contents_of(old) == {b"one", b"two"}
    assert contents_of(again) == {b"one"}
    assert old != again
    with open_store(file) as store:
        assert check_store(store).ok


def test_what_a_link_points_to_is_replaced_and_not_the_link(tmp_path: Path) -> None:
    copy, file = filled(tmp_path / "copy", b"one"), filled(tmp_path / "far" / "a.db", b"two")
    (tmp_path / "link.db").symlink_to(file)

    kept = restore(copy, tmp_path / "link.db")

    assert (tmp_path / "link.db").is_symlink()
    assert contents_of(file) == {b"one"}
    assert kept is not None
    assert kept.parent == file.parent


@pytest.mark.fault("G7")
def test_a_folder_is_no_place_for_a_store(tmp_path: Path) -> None:
    copy = filled(tmp_path / "copy", b"one")
    (tmp_path / "folder").mkdir()

    with pytest.raises(StoreUnavailable):
        restore(copy, tmp_path / "folder")

    assert names_in(tmp_path) == {"copy", "folder"}


def test_a_copy_is_put_where_nothing_was(tmp_path: Path) -> None:
    copy = filled(tmp_path / "copy", b"one")

    assert restore(copy, tmp_path / "new" / "a.db") is None

    assert contents_of(tmp_path / "new" / "a.db") == {b"one"}
    assert names_in(tmp_path / "new") == {"a.db"}


def test_what_a_copy_still_has_in_its_log_is_put_back_too(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with open_store(copy) as store:
        Artifacts(store).put(b"in the log", owner=ANNA, media_type="t", kind="k", source="s")
        assert (tmp_path / "copy-wal").stat().st_size > 0

        restore(copy, tmp_path / "a.db")

    assert contents_of(tmp_path / "a.db") == {b"in the log"}


@pytest.mark.fault("G9")
def test_a_copy_that_is_no_store_or_damaged_or_too_new_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    file = filled(tmp_path / "a.db", b"one")
    text, other, torn, newer = (tmp_path / name for name in ("text", "other", "torn", "newer"))
    text.write_text("no database, but long enough" * 100, encoding="utf-8")
    with closing(sqlite3.connect(other)) as plain:
        plain.execute("CREATE TABLE something (a)")
    filled(torn, b"x" * 100_000)
    os.truncate(torn, torn.stat().st_size // 2)
    filled(newer)
    with closing(sqlite3.connect(newer)) as plain:
        plain.execute("UPDATE alembic_version SET version_num = '9999'")
        plain.commit()
    before = names_in(tmp_path)

    for copy, refusal in (
        (text, StoreDamaged),
        (other, StoreRefused),
        (torn, StoreDamaged),
        (newer, StoreTooNew),
        (tmp_path / "nothing", StoreUnavailable),
    ):
        with pytest.raises(refusal):
            restore(copy, file)

    assert names_in(tmp_path) == before
    assert contents_of(file) == {b"one"}


def test_a_store_that_somebody_uses_is_not_replaced(tmp_path: Path) -> None:
    copy = filled(tmp_path / "copy", b"one")
    with open_store(filled(tmp_path / "a.db", b"two")), pytest.raises(StoreBusy) as refused:
        restore(copy, tmp_path / "a.db")

    assert "Stop" in (refused.value.hint or "")
    assert contents_of(tmp_path / "a.db") == {b"two"}
    assert not [name for name in names_in(tmp_path) if name.endswith(".new")]


@pytest.mark.fault("G9")
def test_a_damaged_store_is_replaced_and_kept(tmp_path: Path) -> None:
    copy, file = filled(tmp_path / "copy", b"one"), tmp_path / "a.db"
    file.write_text("this is no database at all, but long enough" * 100, encoding="utf-8")
    (tmp_path / "a.db-wal").write_text("nor is this a log", encoding="utf-8")

    old = restore(copy, file)

    assert contents_of(file) == {b"one"}
    assert old is not None
    assert old.read_text(encoding="utf-8").startswith("this is no database")
    assert Path(f"{old}-wal").read_text(encoding="utf-8") == "nor is this a log"


@pytest.mark.parametrize("name", ["a b.db", "a?b#c%41.db", "ä.db"])
def test_names_that_mean_something_in_an_address_are_names(tmp_path: Path, name: str) -> None:
    file = filled(tmp_path / name, b"one")
    with open_store(file) as store:
        back_up(store, tmp_path / f"copy of {name}")

    restore(tmp_path / f"copy of {name}", file)

    assert contents_of(file) == {b"one"}
