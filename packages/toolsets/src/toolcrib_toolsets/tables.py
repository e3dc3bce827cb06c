"""The tables of toolsets and access tokens, as the newest migration leaves them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from toolcrib_store import MigrationLine

TOOLSETS_LINE: Final = MigrationLine(
    name="toolsets", folder=Path(__file__).resolve().parent / "migrations", revisions=("0001",)
)
"""What `open_store` takes so that the tables are there."""

CURRENT: Final = "current"
RETIRED: Final = "retired"
"""The states of a master key; nothing is sealed under one that is retired."""

METADATA = MetaData()

TOOLSETS = Table(
    "toolsets",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("toolset_type", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("settings", Text, nullable=False),
    Column("enabled", Boolean, nullable=False, server_default=false()),
    Column("key_id", Text),
    Column("encrypted_api_key", Text),
    Column("salt", Text),
    Column("nonce", Text),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    UniqueConstraint("user_id", "name", name="uq_toolsets_user_name"),
    Index("idx_toolsets_user_id", "user_id"),
    Index("idx_toolsets_toolset_type", "toolset_type"),
    Index("idx_toolsets_user_type", "user_id", "toolset_type"),
    Index("idx_toolsets_key_id", "key_id"),
)
"""Instances; the database itself keeps the names of a user apart, and their case counts."""

APP_CONFIGS = Table(
    "app_toolset_configs",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("toolset_id", Text, nullable=False, unique=True),
    Column("enabled", Boolean, nullable=False, server_default=false()),
    Column("updated_by", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Index("idx_app_toolset_configs_toolset_id", "toolset_id"),
)
"""The switches of types; a type without a row is off."""

MASTER_KEYS = Table(
    "toolset_master_keys",
    METADATA,
    Column("key_id", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("created_at", Float, nullable=False),
)
"""The ids of the master keys that rows are or were sealed under: `current` or `retired`."""

ACCESS_TOKENS = Table(
    "access_tokens",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("digest", LargeBinary(32), nullable=False, unique=True),
    Column("principal", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("revoked_at", Float),
)
"""Access tokens by the SHA-256 of their text, which is nowhere kept."""
