"""The tables, as the newest migration leaves them."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text, UniqueConstraint

METADATA = MetaData()

BLOBS = Table(
    "blobs",
    METADATA,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("size", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
)
"""Content, each once, by the SHA-256 of all of it."""

CHUNKS = Table(
    "chunks",
    METADATA,
    Column("digest", LargeBinary(32), ForeignKey("blobs.digest", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("sha256", LargeBinary(32), nullable=False),
)
"""The pieces of content, so that a part can be read without the rest, and is known to be what was written."""

ARTIFACTS = Table(
    "artifacts",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("handle", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("digest", LargeBinary(32), ForeignKey("blobs.digest"), nullable=False),
    Column("size", Integer, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    UniqueConstraint("owner", "handle", name="uq_artifacts_owner_handle"),
    Index("ix_artifacts_expires_at", "expires_at"),
    Index("ix_artifacts_digest", "digest"),
)
"""Who may read which content, under which handle and until when."""
