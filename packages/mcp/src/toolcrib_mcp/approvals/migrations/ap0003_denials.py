"""Denials, which end every question about a call that was asked until then."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "ap0003"
down_revision = "ap0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "approval_denials",
        sa.Column("subject", sa.Text, primary_key=True),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
    op.create_index("ix_approval_denials_expires_at", "approval_denials", ["expires_at"])


def downgrade() -> None:
    """Drop it: an older question about a call that was denied can be answered again."""
    op.drop_table("approval_denials")
