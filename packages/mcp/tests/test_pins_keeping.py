"""Pins outlive processes, are nobody else's, are written together, and what cannot be read is not served."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pin_cases import READ, SERVER, WRITE, approve_all, book_in, catalogued, names, opened, reasons
from sqlalchemy import event

from toolcrib_mcp.catalog import Catalog
from toolcrib_mcp.errors import ConfigError, ToolChanged
from toolcrib_mcp.pins import PINS_LINE, PinDesk
from toolcrib_mcp.pins.tables import METADATA
from toolcrib_store import Store, migrate_to, open_store

pytestmark = pytest.mark.req("GW-8.1")

DRIFTED = {**READ, "description": "Reads and more."}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pins.db"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with opened(file) as store:
        yield store


def damage(file: Path, statement: str, *values: Any) -> None:
    """Change a row behind everybody's back, as a failing disk does."""
    with sqlite3.connect(file) as connection:
        assert connection.execute(statement, values).rowcount == 1
    connection.close()


def test_a_gateway_that_is_started_anew_knows_what_was_pinned(file: Path) -> None:
    with opened(file) as store:
        book_in(store).judge(SERVER, [READ, WRITE])

    with opened(file) as store:
        assert reasons(book_in(store).judge(SERVER, [DRIFTED, WRITE])) == {"read": "changed"}


def test_pins_are_kept_in_either_database_whatever_the_names(store_url: str) -> None:
    long, odd = {**READ, "name": "x" * 5_000}, {**READ, "name": "a\x00b", "description": "Odd."}
    with opened(store_url) as store:
        first = book_in(store).judge(SERVER, [READ, long, odd])
        again = book_in(store).judge(SERVER, [DRIFTED, long, odd])
        approved = approve_all(store)
        last = book_in(store).judge(SERVER, [DRIFTED, long, odd])

    assert [len(each.tools) for each in (first, again, last)] == [3, 2, 3]
    assert approved == 1


def test_the_tables_are_those_of_the_migration_and_the_way_back_drops_them(store_url: str) -> None:
    from sqlalchemy import inspect

    with opened(store_url) as store:
        with store.reading() as connection:
            found = {
                name: {each["name"]: each["nullable"] for each in inspect(connection).get_columns(name)}
                for name in METADATA.tables
            }
        with store.writing() as connection:
            migrate_to(connection, PINS_LINE, "base", name=store.name)
            left = set(inspect(connection).get_table_names()) & METADATA.tables.keys()

    assert found == {
        name: {column.name: column.nullable for column in table.columns} for name, table in METADATA.tables.items()
    }
    assert left == set()


def test_of_two_gateways_on_one_database_the_first_pins_and_the_other_sees_drift(file: Path) -> None:
    with opened(file) as one, opened(file) as other:
        first, second = book_in(one), book_in(other)
        first.judge(SERVER, [READ])

        assert reasons(second.judge(SERVER, [DRIFTED])) == {"read": "changed"}
        assert names(first.judge(SERVER, [READ])) == ["read"]


def test_many_gateways_that_list_at_once_pin_one_definition(file: Path) -> None:
    with opened(file) as store:
        books = [book_in(store) for _ in range(8)]
        listings = [{**READ, "description": f"Reads, says {number}."} for number in range(8)]
        with ThreadPoolExecutor(8) as threads:
            judged = list(threads.map(lambda pair: pair[0].judge(SERVER, [pair[1]]), zip(books, listings, strict=True)))

    assert sorted(len(each.tools) for each in judged) == [0] * 7 + [1]


def test_principals_with_servers_of_one_name_share_no_pins(store: Store) -> None:
    everybody = book_in(store)
    ada, bob = everybody.scoped("ada"), everybody.scoped("bob")
    everybody.judge("notes", [READ])
    ada.judge("exa", [READ])

    assert names(bob.judge("exa", [DRIFTED])) == ["read"]
    assert reasons(ada.judge("exa", [DRIFTED])) == {"read": "changed"}
    assert approve_all(store, scope="bob", server="exa") == 0
    assert approve_all(store, scope="ada", server="exa") == 1
    assert [each.server for each in PinDesk(store).servers()] == ["notes"]


def test_the_book_of_a_principal_checks_their_tools_and_those_of_everybody(store: Store) -> None:
    everybody = book_in(store)
    ada, bob = everybody.scoped("ada"), everybody.scoped("bob")
    catalog = Catalog()
    catalog.update("notes", everybody.judge("notes", [READ]).tools)
    catalog.update("exa", ada.judge("exa", [WRITE]).tools)
    read, write = (catalog.hydrate(each) for each in sorted(catalog.snapshot().ids, reverse=True))

    for tool in (read, write):
        ada.check(tool)
    bob.check(read)
    for other in (bob, everybody):
        with pytest.raises(ToolChanged):
            other.check(write)


@pytest.mark.parametrize("column", ["digest", "definition", "how", "tool", "pinned_by"])
def test_a_pin_that_is_not_what_was_written_withholds_its_tool(file: Path, store: Store, column: str) -> None:
    book_in(store).judge(SERVER, [READ, WRITE])
    damage(file, f"UPDATE pins SET {column} = '\"x\"' WHERE tool = '\"read\"'")

    judged = book_in(store).judge(SERVER, [READ, WRITE])

    assert names(judged) == ["write"]
    assert reasons(judged) == {"read": "damaged"}
    assert "`toolcrib pins reset files read`" in judged.withheld[0].remedy


def test_a_pin_that_has_lost_its_place_is_not_taken_for_that_of_no_tool(file: Path, store: Store) -> None:
    book_in(store).judge(SERVER, [READ, WRITE])
    damage(file, "UPDATE pins SET place = 'elsewhere' WHERE tool = '\"read\"'")

    assert reasons(book_in(store).judge(SERVER, [DRIFTED, WRITE])) == {"read": "damaged"}


@pytest.mark.parametrize("column", ["scope", "server"])
def test_a_pin_that_has_lost_its_server_withholds_all_tools_of_it(file: Path, store: Store, column: str) -> None:
    book_in(store).judge(SERVER, [READ, WRITE])
    damage(file, f"UPDATE pins SET {column} = 'x' WHERE tool = '\"read\"'")

    judged = book_in(store).judge(SERVER, [DRIFTED, WRITE])

    assert names(judged) == []
    assert reasons(judged) == {"read": "unreadable", "write": "unreadable"}
    PinDesk(store).reset(SERVER, "read")
    assert names(book_in(store).judge(SERVER, [READ, WRITE])) == ["read", "write"]


def test_a_reset_makes_a_damaged_pin_usable_again(file: Path, store: Store) -> None:
    book_in(store).judge(SERVER, [READ, WRITE])
    damage(file, "UPDATE pins SET digest = 'x' WHERE tool = '\"read\"'")

    assert PinDesk(store).reset(SERVER, "read") == 1
    assert names(book_in(store).judge(SERVER, [READ, WRITE])) == ["read", "write"]


def test_without_a_database_that_can_be_read_nothing_is_served(file: Path, store: Store) -> None:
    book = book_in(store)
    before = catalogued(book.judge(SERVER, [READ]))
    tool = before.hydrate(before.snapshot().ids[0])
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE pins")
    connection.close()

    judged = book.judge(SERVER, [READ])

    assert names(judged) == []
    assert reasons(judged) == {"read": "unreadable"}
    with pytest.raises(ToolChanged, match="cannot be checked, since the pins of `files` cannot be read"):
        book.check(tool)
    with pytest.raises(ToolChanged, match="toolcrib store check"):
        catalogued(judged).hydrate(tool.tool_id)


def test_a_thousand_tools_are_pinned_in_one_transaction_and_read_by_one_query(tmp_path: Path) -> None:
    tools = [{**READ, "name": f"tool_{number}", "description": f"Does {number}."} for number in range(1_000)]
    with opened(tmp_path / "pins.db") as store:
        said: list[str] = []
        event.listen(store._readers.engine, "before_cursor_execute", lambda *given: said.append(given[2]))
        book_in(store).judge(SERVER, tools)
        pinning, said[:] = list(said), []

        again = book_in(store).judge(SERVER, list(reversed(tools)))

        assert len(again.tools) == 1_000
        assert [each.split()[0] for each in said if each.split()[0] in {"SELECT", "INSERT", "UPDATE"}] == ["SELECT"]
        assert [each.split()[0] for each in pinning].count("INSERT") == 1


def test_decisions_about_what_is_not_there_say_so(store: Store) -> None:
    book_in(store).judge(SERVER, [READ])
    desk = PinDesk(store)

    with pytest.raises(ConfigError, match=r"no pin of `raed` of `files`\. Did you mean `read`") as unknown:
        desk.find(SERVER, "raed")
    with pytest.raises(ConfigError, match="Nothing of `read`"):
        desk.approve(SERVER, "read", "0" * 64, by="ada")
    with pytest.raises(ConfigError, match="See `toolcrib pins list"):
        desk.find("nowhere", "read")
    assert unknown.value.outward == "CONFIG_INVALID"
    assert desk.reset("nowhere") == 0


def test_a_database_without_the_tables_of_pins_serves_nothing(tmp_path: Path) -> None:
    with open_store(tmp_path / "other.db") as store:
        assert names(book_in(store).judge(SERVER, [READ])) == []
