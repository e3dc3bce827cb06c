"""Bringing a database to the newest form, once, whoever opens it first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from toolcrib_store.errors import StoreTooNew

REVISIONS: Final = ("0001",)
"""Every form that there has been, oldest first; the last is what this version works with."""

_HOME = Path(__file__).resolve().parent / "migrations"

Opening = Callable[[], AbstractContextManager[Connection]]


def migrate(reading: Opening, writing: Opening, *, name: str) -> None:
    """Take all the steps that are missing, in one transaction: all of them or none.

    Raises:
        StoreTooNew: The database has a form that is not known here.
    """
    with reading() as connection:
        if _revision(connection, name) == REVISIONS[-1]:
            return
    with writing() as connection:
        # Somebody else may have done it while we waited for our turn.
        if _revision(connection, name) != REVISIONS[-1]:
            _upgrade(connection)


def _revision(connection: Connection, name: str) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    if found is not None and found not in REVISIONS:
        raise StoreTooNew(
            f"The database `{name}` was written by a newer version of toolcrib.",
            hint="Install that version, or use another database.",
            details={"revision": found, "known": list(REVISIONS)},
        )
    return found


def _upgrade(connection: Connection) -> None:
    # Not at the top: it takes a third of a second to import, and nearly every database is new enough.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_HOME))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
