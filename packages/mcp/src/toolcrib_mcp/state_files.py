"""What lies in the directory in which the state of one configuration is kept."""

from __future__ import annotations

from typing import Final

ARTIFACTS: Final = "artifacts.db"
"""The database: results that were too large to send, pins, approvals, ledgers, and the heads of the audit."""

MANIFEST: Final = "catalog.json"
"""The tools that the servers are known to have."""
