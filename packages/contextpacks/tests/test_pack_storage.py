"""Corners of the storage that only a race or another version leads to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pack_cases import Bench, document
from sqlalchemy import inspect, text

from toolcrib_contextpacks import PACKS_LINE, PackStoreFailed, PackUnreadable
from toolcrib_contextpacks.store import make_page_key, set_aside
from toolcrib_store.migrating import BASE, migrate_to

pytestmark = pytest.mark.req("CP-17")


def test_a_change_of_a_revision_that_is_not_there_any_more_is_not_made(packs: Bench) -> None:
    pack = packs.packs.write(document()).pack

    with pytest.raises(PackStoreFailed), packs.store.writing() as connection:
        packs.packs._change(connection, replace(pack, revision=8), before=replace(pack, revision=7))

    assert packs.packs.get(pack_id=pack.id) == pack


def test_what_somebody_has_written_anew_is_not_set_aside(packs: Bench) -> None:
    pack = packs.packs.write(document()).pack
    seen = PackUnreadable("It was.", details={"id": pack.id, "reason": "it was"})

    with packs.store.writing() as connection:
        assert not set_aside(connection, pack.id, seen, now=0)


def test_the_first_key_of_page_tokens_is_everybodys(packs: Bench) -> None:
    with packs.store.writing() as connection:
        first = make_page_key(connection)
        second = make_page_key(connection)

    assert first == second
    assert len(first) == 32


def test_a_pack_of_a_newer_version_that_is_past_its_time_is_forgotten(packs: Bench) -> None:
    packs.packs.write(document(ttl_minutes=1))
    with packs.store.writing() as connection:
        connection.execute(text("UPDATE packs SET form = 2"))
    packs.clock.turn(3600)

    assert packs.packs.sweep() == 1


def test_the_tables_can_be_taken_down_and_made_again(packs_anywhere: Bench) -> None:
    packs_anywhere.packs.write(document())

    with packs_anywhere.store.writing() as connection:
        migrate_to(connection, PACKS_LINE, BASE, name="packs")
        gone = inspect(connection).get_table_names()
        migrate_to(connection, PACKS_LINE, PACKS_LINE.newest, name="packs")

    assert "packs" not in gone
    assert packs_anywhere.input("list")["count"] == 0
