"""Connections that are kept from one transaction to the next: nothing of a transaction is left for the one after it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from toolcrib_store import Store, StoreBusy, StoreError, open_store

ADD = text("INSERT INTO marks VALUES (:name, 0)")
COUNT = text("SELECT count(*) FROM marks")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "a.db", busy_seconds=0.05) as opened:
        yield opened


def driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


def is_open(connection: sqlite3.Connection) -> bool:
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


def marks(store: Store) -> int:
    with store.reading() as connection:
        return connection.scalar(COUNT) or 0


def add(store: Store, name: str) -> Any:
    with store.writing() as connection:
        connection.execute(ADD, {"name": name})
        return driver(connection)


def test_a_writer_has_the_connection_of_the_one_before_it(store: Store) -> None:
    assert add(store, "a") is add(store, "b")


def test_a_writer_and_readers_at_once_have_a_connection_each(store: Store) -> None:
    with store.writing() as writer, store.reading() as reader, store.reading() as other:
        assert len({id(driver(each)) for each in (writer, reader, other)}) == 3


def test_any_number_may_read_at_once_and_few_connections_stay_open(store: Store) -> None:
    with ExitStack() as block:
        readers = [block.enter_context(store.reading()) for _ in range(30)]
        assert [each.scalar(COUNT) for each in readers] == [0] * 30
        drivers = [driver(each) for each in readers]

    assert sum(map(is_open, drivers)) == 5


def test_a_block_that_fails_leaves_the_connection_to_the_next_one(store: Store) -> None:
    before = add(store, "a")
    with pytest.raises(KeyError):
        _add_and_fail(store)

    assert add(store, "b") is before
    assert marks(store) == 2


def test_changes_that_are_refused_at_the_end_are_undone_and_the_next_writer_works(store: Store) -> None:
    with pytest.raises(StoreError, match="SQLITE_CONSTRAINT_FOREIGNKEY"):
        _add_what_is_refused_at_the_end(store)

    add(store, "a")

    assert marks(store) == 1


def test_a_writer_that_did_not_get_its_turn_gets_it_later(store: Store, tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as other, other.writing(), pytest.raises(StoreBusy), store.writing():
        pass

    add(store, "a")

    assert marks(store) == 1


def test_nothing_is_written_behind_an_end_that_somebody_made_inside(store: Store) -> None:
    with pytest.raises(StoreError):
        _commit_and_add(store)

    assert marks(store) == 0


def test_a_connection_that_was_closed_inside_is_not_lent_again(store: Store) -> None:
    with pytest.raises(StoreError):
        _close_and_add(store)

    add(store, "a")

    assert marks(store) == 1


def test_a_store_that_is_closed_inside_a_block_keeps_what_the_block_changes_and_nothing_open(
    store: Store, tmp_path: Path
) -> None:
    with store.writing() as connection:
        connection.execute(ADD, {"name": "a"})
        store.close()
        inside = driver(connection)

    assert not is_open(inside)
    with open_store(tmp_path / "a.db") as again:
        assert marks(again) == 1


def _add_and_fail(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(ADD, {"name": "undone"})
        raise KeyError("changed my mind")


def _add_what_is_refused_at_the_end(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(text("PRAGMA defer_foreign_keys=ON"))
        connection.execute(ADD, {"name": "undone"})
        connection.execute(text("INSERT INTO chunks VALUES (x'00', 0, x'', x'')"))


def _commit_and_add(store: Store) -> None:
    with store.writing() as connection:
        connection.commit()
        connection.execute(ADD, {"name": "behind"})


def _close_and_add(store: Store) -> None:
    with store.writing() as connection:
        driver(connection).close()
        connection.execute(ADD, {"name": "undone"})
