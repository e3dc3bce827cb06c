"""What one replica writes down for the others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "sh0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "shared_notes",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.Float),
    )
    op.create_index("ix_shared_notes_expires_at", "shared_notes", ["expires_at"])


def downgrade() -> None:
    """Drop it, with all that is in it."""
    op.drop_table("shared_notes")
