"""Bringing a database to the newest form: every line on its own, all together, up and down, from every earlier form."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from sqlalchemy import inspect, text

from toolcrib_store import Artifacts, MigrationLine, Owner, Store, StoreTooNew, UnknownRevision, open_store
from toolcrib_store.migrating import STORE_LINE, migrate_to, revisions_of
from toolcrib_store.migrations import versions
from toolcrib_store.tables import METADATA

ANNA = Owner(principal="anna")

_STEP = """
from __future__ import annotations
from alembic import op
import sqlalchemy as sa
revision, down_revision = {revision!r}, {before!r}
branch_labels = depends_on = None
def upgrade() -> None:
    {up}
def downgrade() -> None:
    op.drop_table({table!r})
"""


def written_line(folder: Path, name: str, *, steps: int, broken: bool = False) -> MigrationLine:
    """A line of a package: each step makes a table."""
    folder.mkdir(exist_ok=True)
    revisions = [f"{number:04}" for number in range(1, steps + 1)]
    for number, revision in enumerate(revisions):
        table = f"{name}_{revision}"
        up = f"op.create_table({table!r}, sa.Column('id', sa.Integer, primary_key=True))"
        if broken and number == steps - 1:
            up += "; raise LookupError(revision)"
        before = revisions[number - 1] if number else None
        step = _STEP.format(revision=revision, before=before, up=up, table=table)
        (folder / f"s{revision}.py").write_text(step, encoding="utf-8")
    return MigrationLine(name=name, folder=folder, revisions=tuple(revisions))


def tables_of(store: Store) -> set[str]:
    with store.reading() as connection:
        return set(inspect(connection).get_table_names())


def tables_at(store: Store, revision: str) -> set[str]:
    """The tables that a database has which was brought up to a form and no further."""
    with store.writing() as connection:
        migrate_to(connection, STORE_LINE, "base", name=store.name)
        migrate_to(connection, STORE_LINE, revision, name=store.name)
    return tables_of(store)


def test_the_steps_lead_to_the_tables_that_the_code_works_with(store_url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with open_store(store_url) as store, store.reading() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), METADATA)

    assert differences == []


def test_every_step_is_known_in_order() -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(STORE_LINE.folder.parent))

    steps = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]

    assert tuple(reversed(steps)) == STORE_LINE.revisions


def test_packages_bring_their_tables_into_one_database_each_at_its_own_pace(store_url: str, tmp_path: Path) -> None:
    one = written_line(tmp_path / "one", "one", steps=1)
    two = written_line(tmp_path / "two", "two", steps=2)
    open_store(store_url, lines=[one]).close()

    with open_store(store_url, lines=[one, two]) as store, store.reading() as connection:
        stands = revisions_of(connection, store.lines, name=store.name)
        tables = set(inspect(connection).get_table_names())

    assert stands == {"store": STORE_LINE.newest, "one": "0001", "two": "0002"}
    assert {"one_0001", "two_0001", "two_0002", "artifacts", "alembic_version", "one_version", "two_version"} <= tables


def test_who_does_not_bring_a_line_leaves_it_alone(store_url: str, tmp_path: Path) -> None:
    one = written_line(tmp_path / "one", "one", steps=1)
    open_store(store_url, lines=[one]).close()

    with open_store(store_url) as store:
        assert "one_0001" in tables_of(store)


def test_when_one_step_fails_none_was_taken(store_url: str, tmp_path: Path) -> None:
    one = written_line(tmp_path / "one", "one", steps=2)
    two = written_line(tmp_path / "two", "two", steps=2, broken=True)

    with pytest.raises(LookupError):
        open_store(store_url, lines=[one, two])

    with open_store(store_url) as store:
        assert not {"one_0001", "two_0001", "one_version", "two_version"} & tables_of(store)


@pytest.mark.fault("G7")
def test_a_newer_form_of_any_line_is_refused(store_url: str, tmp_path: Path) -> None:
    newer = written_line(tmp_path / "one", "one", steps=2)
    open_store(store_url, lines=[newer]).close()
    older = MigrationLine(name="one", folder=newer.folder, revisions=newer.revisions[:1])

    with pytest.raises(StoreTooNew) as refused:
        open_store(store_url, lines=[older])

    assert refused.value.details == {"line": "one", "revision": "0002", "known": ["0001"]}


def test_a_line_goes_down_and_up_again(store_url: str, tmp_path: Path) -> None:
    one = written_line(tmp_path / "one", "one", steps=2)
    with open_store(store_url, lines=[one]) as store:
        for revision, tables in (("0001", {"one_0001"}), ("base", set()), ("0002", {"one_0001", "one_0002"})):
            with store.writing() as connection:
                migrate_to(connection, one, revision, name=store.name)
            assert {each for each in tables_of(store) if each.startswith("one_0")} == tables


def test_a_form_that_never_was_is_refused(store_url: str, tmp_path: Path) -> None:
    with (
        open_store(store_url) as store,
        pytest.raises(UnknownRevision, match="0099"),
        store.writing() as connection,
    ):
        migrate_to(connection, STORE_LINE, "0099", name=store.name)


@pytest.mark.parametrize("name", ["", "Store", "a-b", "a;drop"])
def test_a_line_has_a_plain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        MigrationLine(name=name, folder=tmp_path, revisions=("0001",))


def test_every_step_can_be_taken_back(store_url: str) -> None:
    with open_store(store_url) as store:
        with store.writing() as connection:
            migrate_to(connection, STORE_LINE, "base", name=store.name)
            connection.execute(text("SELECT 1"))

        assert tables_of(store) == {"alembic_version"}


@pytest.mark.parametrize("start", ["base", *STORE_LINE.revisions[:-1]])
def test_every_earlier_form_is_brought_up_with_all_that_is_in_it(store_url: str, start: str) -> None:
    with open_store(store_url) as store:
        handle = Artifacts(store).put(b"kept", owner=ANNA, media_type="t", kind="k", source="s").handle
        with store.writing() as connection:
            migrate_to(connection, STORE_LINE, start, name=store.name)

    with open_store(store_url) as store:
        with store.reading() as connection:
            assert revisions_of(connection, store.lines, name=store.name) == {"store": STORE_LINE.newest}
        assert set(METADATA.tables) <= tables_of(store)
        assert [each.handle for each in Artifacts(store).list(owner=ANNA)] == ([] if start == "base" else [handle])


@pytest.mark.parametrize("end", [*STORE_LINE.revisions[:-1], "base"])
def test_the_newest_form_goes_down_to_every_earlier_one(store_url: str, end: str) -> None:
    with open_store(store_url) as store:
        fresh = tables_at(store, end)

        with store.writing() as connection:
            migrate_to(connection, STORE_LINE, STORE_LINE.newest, name=store.name)
            migrate_to(connection, STORE_LINE, end, name=store.name)

        assert tables_of(store) == fresh


def test_of_many_that_open_an_old_database_at_once_all_find_the_newest_form(store_url: str) -> None:
    with open_store(store_url) as store, store.writing() as connection:
        migrate_to(connection, STORE_LINE, "base", name=store.name)

    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(open_store, [store_url] * 8))

    with opened[0].reading() as connection:
        assert revisions_of(connection, [STORE_LINE], name="") == {"store": STORE_LINE.newest}
    for each in opened:
        each.close()


def test_every_step_alone_goes_up_and_down_again(store_url: str) -> None:
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    steps = [import_module(f"{versions.__name__}.{found.name}") for found in iter_modules(versions.__path__)]
    import_module("toolcrib_store.migrations.env")  # does nothing where alembic does not run it

    with open_store(store_url) as store:
        empty = tables_at(store, "base")
        with store.writing() as connection, Operations.context(MigrationContext.configure(connection)):
            reached = [set(inspect(connection).get_table_names())]
            for step in steps:
                step.upgrade()
                reached.append(set(inspect(connection).get_table_names()))
            back = []
            for step in reversed(steps):
                back.append(set(inspect(connection).get_table_names()))
                step.downgrade()

        assert [step.revision for step in steps] == list(STORE_LINE.revisions)
        assert reached[1:] == back[::-1]
        assert tables_of(store) == empty == reached[0]
