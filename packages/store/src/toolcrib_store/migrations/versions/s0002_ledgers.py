"""Ledgers of calls and approvals, marks that only grow, the quarantine, and seals on rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables, and room for the seals."""
    op.add_column("artifacts", sa.Column("seal", sa.LargeBinary(16)))
    op.create_table(
        "calls",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("lease_until", sa.Float, nullable=False),
        sa.Column("record", sa.LargeBinary),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("seal", sa.LargeBinary(16), nullable=False),
    )
    op.create_index("ix_calls_state_expires_at", "calls", ["state", "expires_at"])
    op.create_table(
        "spent_approvals",
        sa.Column("approval_id", sa.Text, primary_key=True),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
    op.create_index("ix_spent_approvals_expires_at", "spent_approvals", ["expires_at"])
    op.create_table(
        "marks",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Float, nullable=False),
    )
    op.create_table(
        "quarantine",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("moved_at", sa.Float, nullable=False),
    )


def downgrade() -> None:
    """Drop them, with all that is in them."""
    for table in ("quarantine", "marks", "spent_approvals", "calls"):
        op.drop_table(table)
    op.drop_column("artifacts", "seal")
