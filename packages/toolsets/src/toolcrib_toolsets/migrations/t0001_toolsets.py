"""Instances, the switches of types, master keys that were used, and access tokens."""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables, and seed the built-in type switched off."""
    op.create_table(
        "toolsets",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("toolset_type", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("key_id", sa.Text),
        sa.Column("encrypted_api_key", sa.Text),
        sa.Column("salt", sa.Text),
        sa.Column("nonce", sa.Text),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("updated_at", sa.Float, nullable=False),
        sa.UniqueConstraint("user_id", "name", name="uq_toolsets_user_name"),
    )
    op.create_index("idx_toolsets_user_id", "toolsets", ["user_id"])
    op.create_index("idx_toolsets_toolset_type", "toolsets", ["toolset_type"])
    op.create_index("idx_toolsets_user_type", "toolsets", ["user_id", "toolset_type"])
    op.create_index("idx_toolsets_key_id", "toolsets", ["key_id"])
    configs = op.create_table(
        "app_toolset_configs",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("toolset_id", sa.Text, nullable=False, unique=True),
        sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("updated_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("updated_at", sa.Float, nullable=False),
    )
    op.create_index("idx_app_toolset_configs_toolset_id", "app_toolset_configs", ["toolset_id"])
    now = time.time()
    op.bulk_insert(
        configs,
        [
            {
                "toolset_id": "builtin-exa-web-search",
                "enabled": False,
                "updated_by": "system",
                "created_at": now,
                "updated_at": now,
            }
        ],
    )
    op.create_table(
        "toolset_master_keys",
        sa.Column("key_id", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_table(
        "access_tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("digest", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float),
        sa.Column("revoked_at", sa.Float),
    )


def downgrade() -> None:
    """Drop them, with all that is in them."""
    for table in ("access_tokens", "toolset_master_keys", "app_toolset_configs", "toolsets"):
        op.drop_table(table)
