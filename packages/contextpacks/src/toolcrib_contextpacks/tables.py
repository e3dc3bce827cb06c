"""The tables, as the newest migration leaves them, and the line of migrations that makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text, UniqueConstraint

from toolcrib_store import MigrationLine

PACKS_LINE: Final = MigrationLine(
    name="contextpacks", folder=Path(__file__).resolve().parent / "migrations", revisions=("cp0001",)
)
"""What `open_store` is given, so that a database has the tables of packs."""

METADATA = MetaData()

PACKS = Table(
    "packs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text),
    Column("owner", Text, nullable=False),
    Column("claim", Text),
    Column("title", Text),
    Column("status", Text, nullable=False),
    Column("searched", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("form", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("seal", LargeBinary, nullable=False),
    UniqueConstraint("owner", "claim", name="uq_packs_owner_claim"),
    Index("ix_packs_name", "name"),
    Index("ix_packs_expires_at", "expires_at"),
)
"""Every pack. `claim` makes a name unique for its owner: a pack that has not expired claims its name, a twin that was
imported with `--share-name` does not, and an expired pack loses its claim to the next one that wants the name."""

Index("ix_packs_newest", PACKS.c.updated_at.desc(), PACKS.c.revision.desc(), PACKS.c.id)

Index("ix_packs_owner", PACKS.c.owner, PACKS.c.updated_at.desc(), PACKS.c.revision.desc(), PACKS.c.id)

HISTORY = Table(
    "pack_history",
    METADATA,
    Column("pack_id", Text, ForeignKey("packs.id", ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("sections", Text, nullable=False),
)
"""What the sections of the last revisions were known by, so that a conflict can say which have changed."""

SETTINGS = Table(
    "pack_settings", METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False)
)
"""What all processes on one database share, as the key that page tokens are signed with."""
