"""The last signed head of every segment, and the tombstones of those that were removed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "audit_heads",
        sa.Column("segment", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
        sa.Column("kept_at", sa.Float, nullable=False),
        sa.Column("pruned_at", sa.BigInteger),
        sa.Column("pruned_signature", sa.Text),
    )


def downgrade() -> None:
    """Drop it: what is deleted from the files from then on is no longer noticed."""
    op.drop_table("audit_heads")
