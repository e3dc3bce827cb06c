"""PostgreSQL: the same promises as a file, and nothing of a password anywhere."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert, select, text, update

from tests.postgresql import PostgresqlServer
from toolcrib_store import (
    Artifacts,
    Owner,
    Store,
    StoreBusy,
    StoreError,
    StoreOutcomeUnknown,
    StoreTooNew,
    StoreUnavailable,
    check_store,
    open_store,
    upsert,
)

ANNA = Owner(principal="anna")
COUNTERS = Table("counters", MetaData(), Column("id", Integer, primary_key=True), Column("value", Integer))


def put(store: Store, content: bytes) -> str:
    return Artifacts(store).put(content, owner=ANNA, media_type="t", kind="k", source="s").handle


def test_writers_take_turns_and_what_one_has_read_is_true_until_its_end(store_url: str) -> None:
    with open_store(store_url) as one, open_store(store_url) as other:
        with one.writing() as connection:
            COUNTERS.create(connection)
            connection.execute(insert(COUNTERS).values(id=1, value=0))

        def count_up(store: Store) -> None:
            for _ in range(10):
                with store.writing() as connection:
                    value = connection.scalar(select(COUNTERS.c.value)) or 0
                    connection.execute(update(COUNTERS).values(value=value + 1))

        with ThreadPoolExecutor(8) as threads:
            for done in [threads.submit(count_up, store) for store in (one, other) * 4]:
                done.result()

        with one.reading() as connection:
            assert connection.scalar(select(COUNTERS.c.value)) == 80


def test_a_reader_sees_one_moment_and_writes_nothing(store_url: str) -> None:
    with open_store(store_url) as one, open_store(store_url) as other:
        put(one, b"before")
        with one.reading() as connection:
            before = connection.scalar(text("SELECT count(*) FROM artifacts"))
            put(other, b"meanwhile")
            after = connection.scalar(text("SELECT count(*) FROM artifacts"))

        assert (before, after) == (1, 1)


def test_a_reader_on_postgresql_cannot_write(postgresql_url: str) -> None:
    with open_store(postgresql_url) as store, pytest.raises(StoreUnavailable), store.reading() as connection:
        connection.execute(text("DELETE FROM artifacts"))


def test_a_writer_on_a_host_that_is_gone_is_given_up_after_a_minute(postgresql_url: str) -> None:
    with open_store(postgresql_url) as store, store.writing() as connection:
        assert connection.scalar(text("SHOW idle_in_transaction_session_timeout")) == "1min"


def test_a_row_is_added_or_changed_by_its_key(store_url: str) -> None:
    with open_store(store_url) as store:
        with store.writing() as connection:
            COUNTERS.create(connection)
            for value in (1, 2):
                upsert(connection, COUNTERS, {"id": 7, "value": value}, key=["id"])
            upsert(connection, COUNTERS, {"id": 7}, key=["id"])
        with store.reading() as connection:
            assert connection.execute(select(COUNTERS)).all() == [(7, 2)]


@pytest.mark.fault("G7")
def test_a_writer_that_never_ends_is_told_as_busy_by_processes_and_threads(store_url: str) -> None:
    with open_store(store_url) as one, open_store(store_url, busy_seconds=0.05) as other:
        for holder in (one, other):
            with holder.writing(), pytest.raises(StoreBusy) as busy, other.writing():
                pass
            assert busy.value.retryable

        put(other, b"and then it works")


@pytest.mark.fault("G7")
def test_more_readers_than_there_are_connections_are_told_as_busy(postgresql_url: str) -> None:
    with open_store(postgresql_url) as store:
        store._readers.engine.pool._timeout = 0.01  # a QueuePool, with half a minute otherwise
        held = [store.reading() for _ in range(15)]
        for each in held:
            each.__enter__()
        with pytest.raises(StoreBusy), store.reading():
            pass
        for each in held:
            each.__exit__(None, None, None)


@pytest.mark.fault("G7")
def test_a_newer_form_is_refused_here_too(postgresql_url: str) -> None:
    with open_store(postgresql_url) as store, store.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    with pytest.raises(StoreTooNew):
        open_store(postgresql_url)


@pytest.mark.fault("G7")
def test_what_the_server_refuses_is_told_in_our_words(shared_postgresql_server: PostgresqlServer) -> None:
    server = shared_postgresql_server
    server.run("CREATE ROLE locked LOGIN PASSWORD 'the right one'")
    told = []
    for address in (
        server.address("nowhere"),
        server.address("postgres", user="nobody"),
        server.address("postgres", user="locked", password="hunter2-is-wrong"),
        "postgresql://locked:hunter2@127.0.0.1:1/nowhere",
        "postgresql:///nowhere?host=/nowhere&password=hunter2",
    ):
        with pytest.raises(StoreUnavailable) as refused:
            open_store(address)
        said = "".join(traceback.format_exception(refused.value)) + repr(refused.value.to_dict())
        assert "hunter2" not in said
        told.append(refused.value.message.partition("cannot be used: ")[2])
    server.run("DROP ROLE locked")

    assert set(told[:3]) == {"the server does not let this user into this database."}
    assert set(told[3:]) == {"the server cannot be reached."}


def test_the_password_of_an_address_is_in_no_name(shared_postgresql_server: PostgresqlServer) -> None:
    with shared_postgresql_server.database() as address:
        with_password = address.replace("postgres@", "postgres:hunter2@")
        with open_store(with_password) as store:
            assert "hunter2" not in f"{store!r} {store.name} {store._readers.engine!r} {check_store(store)}"


@pytest.mark.parametrize("address", ["postgresql://u:hunter2@host:port/x", "mysql://u:hunter2@h/x"])
def test_an_address_that_cannot_be_read_is_refused_without_being_repeated(address: str) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        open_store(address)

    assert "hunter2" not in str(refused.value)
    assert "postgresql://" in (refused.value.hint or "")


def test_a_driver_that_is_missing_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(StoreUnavailable) as refused:
        open_store("postgresql://localhost/x")

    assert "pip install 'toolcrib-store[postgresql]'" in (refused.value.hint or "")


@pytest.mark.fault("G8")
@pytest.mark.slow
def test_a_server_that_is_killed_loses_nothing_and_the_store_works_when_it_is_back(
    postgresql_server: PostgresqlServer,
) -> None:
    with postgresql_server.database() as address, open_store(address) as store:
        acknowledged = [put(store, b"%d" % number) for number in range(20)]
        with pytest.raises(StoreError):
            _write_while_the_server_dies(store, postgresql_server)
        with pytest.raises(StoreUnavailable):
            put(store, b"nobody is there")
        postgresql_server.start()

        acknowledged.append(put(store, b"back again"))

        assert {each.handle for each in Artifacts(store).list(owner=ANNA)} == set(acknowledged)
        assert check_store(store).ok


def test_a_connection_that_is_lost_while_changes_are_made_leaves_the_outcome_open(postgresql_url: str) -> None:
    with open_store(postgresql_url) as store:
        with pytest.raises(StoreOutcomeUnknown):
            _lose_the_connection_before_the_end(store, postgresql_url)

        put(store, b"and then it works")


def test_a_writer_that_dies_does_not_keep_the_others_waiting(postgresql_url: str) -> None:
    with open_store(postgresql_url) as store, open_store(postgresql_url) as other:
        with pytest.raises(StoreError):
            _lose_the_connection_before_the_end(store, postgresql_url, then=lambda: put(other, b"my turn"))

        assert len(Artifacts(other).list(owner=ANNA)) == 1


def _lose_the_connection_before_the_end(
    store: Store, address: str, *, then: Callable[[], object] = lambda: None
) -> None:
    with store.writing() as connection:
        backend = connection.scalar(text("SELECT pg_backend_pid()"))
        with psycopg.connect(address, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (backend,))
        then()


def _write_while_the_server_dies(store: Store, server: PostgresqlServer) -> None:
    with store.writing() as connection:
        connection.execute(text("DELETE FROM artifacts"))
        server.kill()
        connection.execute(text("SELECT 1"))
