"""The demo's example database: what a workshop's tool crib has, and who has borrowed what. It is made in memory."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from datetime import date, timedelta
from importlib.resources import files
from typing import Final

LOANS: Final = 400
"""How many loans there are; as a whole they are more than a model should be sent."""

_FIRST_DAY: Final = date(2026, 1, 5)
_SCHEMA: Final = """
CREATE TABLE tools (id INTEGER PRIMARY KEY, name TEXT, category TEXT, drawer TEXT, price REAL);
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, team TEXT);
CREATE TABLE loans (
    id INTEGER PRIMARY KEY,
    tool_id INTEGER REFERENCES tools (id),
    person_id INTEGER REFERENCES people (id),
    taken_on TEXT,
    returned_on TEXT
);
"""
# What a reader may do; everything else is refused by SQLite itself, however the statement is written.
_ALLOWED: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_MAX_VALUE_BYTES: Final = 1_000_000


def open_crib() -> sqlite3.Connection:
    """The database, filled and from then on read-only; the caller closes it, and uses it from one thread at a time."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(_SCHEMA)
    tools, people = list(_rows("tools.csv")), list(_rows("people.csv"))
    connection.executemany("INSERT INTO tools (name, category, drawer, price) VALUES (?, ?, ?, ?)", tools)
    connection.executemany("INSERT INTO people (name, team) VALUES (?, ?)", people)
    connection.executemany("INSERT INTO loans VALUES (?, ?, ?, ?, ?)", _loans(len(tools), len(people)))
    connection.commit()
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.set_authorizer(_authorize)
    return connection


def _authorize(action: int, *_: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _rows(name: str) -> Iterator[list[str]]:
    text = files(__package__).joinpath("data", name).read_text("utf-8")
    reader = csv.reader(text.splitlines())
    next(reader)
    yield from reader


def _loans(tools: int, people: int) -> Iterator[tuple[int, int, int, str, str | None]]:
    """The same loans every time: steps that share no factor with the counts visit every tool and everybody."""
    for number in range(LOANS):
        taken = _FIRST_DAY + timedelta(days=number * 3 // 8)
        returned = taken + timedelta(days=1 + number * 7 % 12)
        is_out = number > LOANS - 30 and number % 3 == 0
        yield (
            number + 1,
            number * 17 % tools + 1,
            number * 5 % people + 1,
            f"{taken}",
            None if is_out else f"{returned}",
        )
