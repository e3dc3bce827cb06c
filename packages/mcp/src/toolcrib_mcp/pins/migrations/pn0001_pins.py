"""Pinned definitions, and how often somebody has decided about those of a server."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "pn0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "pins",
        sa.Column("place", sa.Text, primary_key=True),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("digest", sa.Text),
        sa.Column("definition", sa.LargeBinary),
        sa.Column("how", sa.Text),
        sa.Column("pinned_by", sa.Text, nullable=False),
        sa.Column("pinned_at", sa.Float),
        sa.Column("waiting_digest", sa.Text),
        sa.Column("waiting_definition", sa.LargeBinary),
        sa.Column("waiting_since", sa.Float),
        sa.Column("was", sa.Text),
        sa.Column("seal", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_pins_server", "pins", ["scope", "server"])
    op.create_table(
        "pin_changes",
        sa.Column("scope", sa.Text, primary_key=True),
        sa.Column("server", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, nullable=False),
    )


def downgrade() -> None:
    """Drop them, with all that is in them."""
    for table in ("pin_changes", "pins"):
        op.drop_table(table)
