"""The database that replicas share: where it is, and what its key is sealed with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib_mcp.approvals import StateKey


@dataclass(frozen=True, kw_only=True)
class SharedDatabase:
    """A database for all replicas of one configuration."""

    target: str = field(repr=False)
    """An address of PostgreSQL, which may have a password in it; or on one machine, the path of a file of SQLite."""
    sealed_with: tuple[StateKey, ...]
    """What every replica was given to open the key in the database with; the first one also seals it."""
