"""The table of what was spent, as the newest migration leaves it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import BigInteger, Column, Float, Index, MetaData, Table, Text

from toolcrib_store import MigrationLine

USAGE_LINE: Final = MigrationLine(
    name="usage", folder=Path(__file__).resolve().parent / "migrations", revisions=("us0001",)
)
"""What `open_store` takes so that the table is there."""

METADATA = MetaData()

SPENT_CALLS = Table(
    "spent_calls",
    METADATA,
    Column("budget", Text, primary_key=True),
    Column("holder", Text, primary_key=True),
    Column("period", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
    Column("ends_at", Float, nullable=False),
    Index("ix_spent_calls_ends_at", "ends_at"),
)
"""For each budget and whose it is: the number of the period since the epoch, and the calls that were made in it."""
