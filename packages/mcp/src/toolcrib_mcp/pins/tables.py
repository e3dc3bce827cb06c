"""The tables of pins, as the newest migration leaves them, and the line of migrations that makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Column, Float, Index, Integer, LargeBinary, MetaData, Table, Text

from toolcrib_store import MigrationLine

PINS_LINE: Final = MigrationLine(
    name="pins", folder=Path(__file__).resolve().parent / "migrations", revisions=("pn0001",)
)
"""What `open_store` takes so that the tables are there."""

METADATA = MetaData()

PINS = Table(
    "pins",
    METADATA,
    # A digest of the next three, since a server may give a tool a name that no index takes.
    Column("place", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("server", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("digest", Text),
    Column("definition", LargeBinary),
    Column("how", Text),
    Column("pinned_by", Text, nullable=False),
    Column("pinned_at", Float),
    Column("waiting_digest", Text),
    Column("waiting_definition", LargeBinary),
    Column("waiting_since", Float),
    Column("was", Text),
    Column("seal", LargeBinary, nullable=False),
    Index("ix_pins_server", "scope", "server"),
)
"""One row for each tool of each server; `tool` and `was` are names as JSON."""

PIN_CHANGES = Table(
    "pin_changes",
    METADATA,
    Column("scope", Text, primary_key=True),
    Column("server", Text, primary_key=True),
    Column("number", Integer, nullable=False),
)
"""How often somebody has approved or reset pins of a server: how those who serve it notice."""
