"""The table of signed heads, as the newest migration leaves it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import BigInteger, Column, Float, Integer, MetaData, Table, Text

from toolcrib_store import MigrationLine

AUDIT_LINE: Final = MigrationLine(
    name="audit", folder=Path(__file__).resolve().parent / "migrations", revisions=("0001", "0002")
)
"""What `open_store` takes so that the table is there."""

METADATA = MetaData()

HEADS = Table(
    "audit_heads",
    METADATA,
    Column("segment", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
    Column("signature", Text, nullable=False),
    Column("kept_at", Float, nullable=False),
    Column("pruned_at", BigInteger),
    Column("pruned_signature", Text),
    # The how manieth segment it is.
    Column("number", BigInteger),
)
"""How far every segment had come when it was last signed: outside its file, so that a shorter file is noticed."""

REGISTRY = Table(
    "audit_registry",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("newest", Text, nullable=False),
    Column("signature", Text, nullable=False),
)
"""How many segments there were, in one row that is signed: outside their heads, so that a head less is noticed."""
