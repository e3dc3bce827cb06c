"""The table of what replicas share, as the newest migration leaves it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import BigInteger, Column, Float, Index, LargeBinary, MetaData, Table, Text

from toolcrib_store import MigrationLine

SHARED_LINE: Final = MigrationLine(
    name="shared", folder=Path(__file__).resolve().parent / "migrations", revisions=("sh0001",)
)
"""What `open_store` takes so that the table is there."""

METADATA = MetaData()

NOTES = Table(
    "shared_notes",
    METADATA,
    Column("kind", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("version", BigInteger, nullable=False),
    # Without a time it stays.
    Column("expires_at", Float),
    Index("ix_shared_notes_expires_at", "expires_at"),
)
"""By what it is for, whose it is and what it is called: the content, and how often it was changed."""
