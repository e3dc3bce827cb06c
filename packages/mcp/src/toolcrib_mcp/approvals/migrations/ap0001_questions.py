"""Calls that wait for somebody to allow them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "ap0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "approval_questions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("subject", sa.Text, nullable=False, unique=True),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("tool_id", sa.Text, nullable=False),
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("client", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("decided_by", sa.Text),
        sa.Column("token", sa.Text),
        sa.Column("sealed", sa.LargeBinary),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
    op.create_index("ix_approval_questions_principal", "approval_questions", ["principal", "state"])
    op.create_index("ix_approval_questions_expires_at", "approval_questions", ["expires_at"])


def downgrade() -> None:
    """Drop it, with all that is in it."""
    op.drop_table("approval_questions")
