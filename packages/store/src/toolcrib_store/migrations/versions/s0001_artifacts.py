"""Artifacts and their content."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables of artifacts."""
    op.create_table(
        "blobs",
        sa.Column("digest", sa.LargeBinary(32), primary_key=True),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_table(
        "chunks",
        sa.Column("digest", sa.LargeBinary(32), sa.ForeignKey("blobs.digest", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("sha256", sa.LargeBinary(32), nullable=False),
    )
    op.create_table(
        "artifacts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("handle", sa.Text, nullable=False),
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("digest", sa.LargeBinary(32), sa.ForeignKey("blobs.digest"), nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("media_type", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.UniqueConstraint("owner", "handle", name="uq_artifacts_owner_handle"),
    )
    op.create_index("ix_artifacts_expires_at", "artifacts", ["expires_at"])
    op.create_index("ix_artifacts_digest", "artifacts", ["digest"])


def downgrade() -> None:
    """Drop them, with all that is in them."""
    for table in ("artifacts", "chunks", "blobs"):
        op.drop_table(table)
