"""Bringing a database to the newest form, once, whoever opens it first; each package on the store has its own line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, inspect, text

from toolcrib_core.wording import listed, quoted
from toolcrib_store.errors import StoreTooNew, UnknownRevision

if TYPE_CHECKING:
    from alembic.config import Config

_HOME = Path(__file__).resolve().parent / "migrations"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")

Opening = Callable[[], AbstractContextManager[Connection]]


@dataclass(frozen=True, kw_only=True)
class MigrationLine:
    """The steps by which the tables of one package came to be.

    A step is a module of alembic in `folder`. Every line has its own table of where it stands, so that packages bring
    their tables into one database and know nothing of each other.
    """

    name: str
    folder: Path
    revisions: tuple[str, ...]
    """Every form that there has been, oldest first; the last is what the package works with."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or not self.revisions:
            raise ValueError("a line has a name of lower-case letters, and at least one step")

    @property
    def version_table(self) -> str:
        """The table that says where the line stands in a database."""
        return "alembic_version" if self.name == "store" else f"{self.name}_version"

    @property
    def newest(self) -> str:
        """The form that the package works with."""
        return self.revisions[-1]


STORE_LINE: Final = MigrationLine(name="store", folder=_HOME / "versions", revisions=("0001", "0002"))
"""The tables of this package."""

BASE: Final = "base"
"""The form before the first step: no tables."""


def migrate(reading: Opening, writing: Opening, lines: Sequence[MigrationLine], *, name: str) -> None:
    """Take all the steps that are missing in any line, in one transaction: all of them or none.

    Raises:
        StoreTooNew: A line has a form that is not known here.
    """
    with reading() as connection:
        if not _behind(connection, lines, name):
            return
    with writing() as connection:
        # Somebody else may have done it while we waited for our turn.
        for line in _behind(connection, lines, name):
            with _alembic(connection, line) as config:
                _upgrade(config, "head")


def migrate_to(connection: Connection, line: MigrationLine, revision: str, *, name: str) -> None:
    """Take one line to a form, up or down; a step down drops what the form before did not have.

    Raises:
        UnknownRevision: The line has no such form.
        StoreTooNew: The line has a form that is not known here.
    """
    if revision != BASE and revision not in line.revisions:
        raise UnknownRevision(
            f"The line {quoted(line.name)} has no form {quoted(revision)}.",
            hint=f"It has {listed([BASE, *line.revisions])}.",
        )
    order = [None, *line.revisions]
    stands = order.index(revision_of(connection, line, name=name))
    wanted = order.index(None if revision == BASE else revision)
    if stands == wanted:
        return
    with _alembic(connection, line) as config:
        if wanted > stands:
            _upgrade(config, revision)
        else:
            from alembic import command

            command.downgrade(config, revision)


def revisions_of(connection: Connection, lines: Sequence[MigrationLine], *, name: str) -> Mapping[str, str | None]:
    """Where every line stands; None is before its first step.

    Raises:
        StoreTooNew: A line has a form that is not known here.
    """
    return {line.name: revision_of(connection, line, name=name) for line in lines}


def revision_of(connection: Connection, line: MigrationLine, *, name: str) -> str | None:
    """Where one line stands; None is before its first step.

    Raises:
        StoreTooNew: It has a form that is not known here.
    """
    if not inspect(connection).has_table(line.version_table):
        return None
    found: str | None = connection.scalar(text(f"SELECT version_num FROM {line.version_table}"))  # noqa: S608  # the name is checked, see MigrationLine
    if found is not None and found not in line.revisions:
        raise StoreTooNew(
            f"The database {quoted(name)} was written by a newer version of toolcrib.",
            hint="Install that version, or use another database.",
            details={"line": line.name, "revision": found, "known": list(line.revisions)},
        )
    return found


def _behind(connection: Connection, lines: Sequence[MigrationLine], name: str) -> list[MigrationLine]:
    stands = revisions_of(connection, lines, name=name)
    return [line for line in lines if stands[line.name] != line.newest]


@contextmanager
def _alembic(connection: Connection, line: MigrationLine) -> Iterator[Config]:
    # Not at the top: it takes a third of a second to import, and nearly every database is new enough.
    from alembic.config import Config

    config = Config()
    for option, value in (
        ("script_location", _HOME),
        ("path_separator", "newline"),
        ("version_locations", line.folder),
    ):
        config.set_main_option(option, str(value).replace("%", "%%"))
    config.attributes.update(connection=connection, version_table=line.version_table)
    yield config


def _upgrade(config: Config, revision: str) -> None:
    from alembic import command

    command.upgrade(config, revision)
