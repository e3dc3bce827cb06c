"""The tables of artifacts and ledgers, as the newest migration leaves them."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text, UniqueConstraint

from toolcrib_store.seals import SEAL_BYTES

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
    # What was written before there were seals has none.
    Column("seal", LargeBinary(SEAL_BYTES)),
    UniqueConstraint("owner", "handle", name="uq_artifacts_owner_handle"),
    Index("ix_artifacts_expires_at", "expires_at"),
    Index("ix_artifacts_digest", "digest"),
)
"""Who may read which content, under which handle and until when."""

CALLS = Table(
    "calls",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("holder", Text, nullable=False),
    Column("lease_until", Float, nullable=False),
    Column("record", LargeBinary),
    Column("expires_at", Float, nullable=False),
    Column("seal", LargeBinary(SEAL_BYTES), nullable=False),
    Index("ix_calls_state_expires_at", "state", "expires_at"),
)
"""Which calls were begun under an idempotency key, by whom, and how they ended."""

SPENT_APPROVALS = Table(
    "spent_approvals",
    METADATA,
    Column("approval_id", Text, primary_key=True),
    Column("expires_at", Float, nullable=False),
    Index("ix_spent_approvals_expires_at", "expires_at"),
)
"""Which approvals were used, until nobody would take them any more."""

MARKS = Table(
    "marks",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Float, nullable=False),
)
"""Numbers that only ever grow: how late it has been, and up to when things were forgotten."""

QUARANTINE = Table(
    "quarantine",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("source", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("moved_at", Float, nullable=False),
)
"""Rows that could not be read, as they were, and the table that they were in."""
