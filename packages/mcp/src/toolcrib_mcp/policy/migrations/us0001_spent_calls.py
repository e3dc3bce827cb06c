"""Calls that were made, by budget and whose it is."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "us0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "spent_calls",
        sa.Column("budget", sa.Text, primary_key=True),
        sa.Column("holder", sa.Text, primary_key=True),
        sa.Column("period", sa.BigInteger, nullable=False),
        sa.Column("spent", sa.BigInteger, nullable=False),
        sa.Column("ends_at", sa.Float, nullable=False),
    )
    op.create_index("ix_spent_calls_ends_at", "spent_calls", ["ends_at"])


def downgrade() -> None:
    """Drop it, with all that is in it."""
    op.drop_table("spent_calls")
