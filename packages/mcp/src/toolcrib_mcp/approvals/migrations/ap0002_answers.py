"""Short names of calls that wait, and answers that hold for a session."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "ap0002"
down_revision = "ap0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and the table."""
    with op.batch_alter_table("approval_questions") as table:
        table.add_column(sa.Column("name", sa.Text))
        table.create_unique_constraint("uq_approval_questions_name", ["name"])
    op.create_table(
        "approval_sessions",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("risk", sa.Text, nullable=False),
        sa.Column("answered_by", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
    op.create_index("ix_approval_sessions_expires_at", "approval_sessions", ["expires_at"])


def downgrade() -> None:
    """Take both away."""
    op.drop_table("approval_sessions")
    with op.batch_alter_table("approval_questions") as table:
        table.drop_constraint("uq_approval_questions_name", type_="unique")
        table.drop_column("name")
