"""The registry of segments: how many there were, signed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table, and number the heads."""
    op.add_column("audit_heads", sa.Column("number", sa.BigInteger))
    op.create_table(
        "audit_registry",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("newest", sa.Text, nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Drop it: the newest segment and its head can be removed unnoticed from then on."""
    op.drop_table("audit_registry")
    with op.batch_alter_table("audit_heads") as table:
        table.drop_column("number")
