"""Packs, their short history, and what processes share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "cp0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables of packs."""
    op.create_table(
        "packs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("claim", sa.Text),
        sa.Column("title", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("searched", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("updated_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("form", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("owner", "claim", name="uq_packs_owner_claim"),
    )
    op.create_index("ix_packs_name", "packs", ["name"])
    op.create_index("ix_packs_expires_at", "packs", ["expires_at"])
    op.create_index("ix_packs_newest", "packs", [sa.text("updated_at DESC"), sa.text("revision DESC"), "id"])
    op.create_index("ix_packs_owner", "packs", ["owner", sa.text("updated_at DESC"), sa.text("revision DESC"), "id"])
    op.create_table(
        "pack_history",
        sa.Column("pack_id", sa.Text, sa.ForeignKey("packs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("revision", sa.Integer, primary_key=True),
        sa.Column("sections", sa.Text, nullable=False),
    )
    op.create_table(
        "pack_settings", sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )


def downgrade() -> None:
    """Drop them, with all that is in them."""
    for table in ("pack_settings", "pack_history", "packs"):
        op.drop_table(table)
