"""The tables of calls that wait for an approval, and of answers for a session, as the newest migration leaves them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Column, Float, Index, LargeBinary, MetaData, Table, Text

from toolcrib_store import MigrationLine

APPROVALS_LINE: Final = MigrationLine(
    name="approvals", folder=Path(__file__).resolve().parent / "migrations", revisions=("ap0001", "ap0002", "ap0003")
)
"""What `open_store` takes so that the table is there."""

METADATA = MetaData()

QUESTIONS = Table(
    "approval_questions",
    METADATA,
    Column("id", Text, primary_key=True),
    # What people call it: short, and not taken by another one that waits.
    Column("name", Text, unique=True),
    Column("subject", Text, nullable=False, unique=True),
    Column("principal", Text, nullable=False),
    Column("tool_id", Text, nullable=False),
    Column("server", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("client", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("decided_by", Text),
    Column("token", Text),
    # What would run. It is gone once somebody has decided.
    Column("sealed", LargeBinary),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Index("ix_approval_questions_principal", "principal", "state"),
    Index("ix_approval_questions_expires_at", "expires_at"),
)
"""Calls that wait, or were decided and not made yet; one for each subject, which is the digest of an exact call."""

SESSION_ANSWERS = Table(
    "approval_sessions",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("risk", Text, nullable=False),
    Column("answered_by", Text, nullable=False),
    Column("expires_at", Float, nullable=False),
    Index("ix_approval_sessions_expires_at", "expires_at"),
)
"""Tools that may run for the rest of a session: by the digest of session, principal and tool, up to which risk."""

DENIALS = Table(
    "approval_denials",
    METADATA,
    Column("subject", Text, primary_key=True),
    # A question about the call that expires later was asked after the denial.
    Column("expires_at", Float, nullable=False),
    Index("ix_approval_denials_expires_at", "expires_at"),
)
"""Calls that were denied: every question about one of them that was asked until then is answered."""
