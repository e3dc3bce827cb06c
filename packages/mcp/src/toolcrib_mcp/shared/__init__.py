"""What replicas of one gateway have in common, in the database that they share."""

from __future__ import annotations

from toolcrib_mcp.shared.database import SharedDatabase
from toolcrib_mcp.shared.keys import shared_key
from toolcrib_mcp.shared.notes import Note, Notes, forget_notes
from toolcrib_mcp.shared.tables import SHARED_LINE

__all__ = ["SHARED_LINE", "Note", "Notes", "SharedDatabase", "forget_notes", "shared_key"]
