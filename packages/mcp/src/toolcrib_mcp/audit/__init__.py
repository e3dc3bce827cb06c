"""What was called, by whom, and how it ended: content-free, hash-chained, with signed heads."""

from __future__ import annotations

from toolcrib_mcp.audit.anchoring import KeptAnchor
from toolcrib_mcp.audit.chain import Head, Record, read_record
from toolcrib_mcp.audit.events import AuditEvent, AuditKind, call_event
from toolcrib_mcp.audit.exporting import Exported, export, verify_export
from toolcrib_mcp.audit.heads import Heads, MemoryHeads, SqlHeads
from toolcrib_mcp.audit.journal import AuditJournal
from toolcrib_mcp.audit.keys import KEY_FILE, PUBLIC_FILE, AuditKey, PublicKeys, open_key, read_public_keys
from toolcrib_mcp.audit.opening import open_journal
from toolcrib_mcp.audit.pruning import Pruned, prune
from toolcrib_mcp.audit.reading import Follower, RecordFilter, newest_records
from toolcrib_mcp.audit.segment import FOLDER
from toolcrib_mcp.audit.tables import AUDIT_LINE
from toolcrib_mcp.audit.verdicts import AuditFault, AuditVerdict, SegmentVerdict
from toolcrib_mcp.audit.verifying import verify

__all__ = [
    "AUDIT_LINE",
    "FOLDER",
    "KEY_FILE",
    "PUBLIC_FILE",
    "AuditEvent",
    "AuditFault",
    "AuditJournal",
    "AuditKey",
    "AuditKind",
    "AuditVerdict",
    "Exported",
    "Follower",
    "Head",
    "Heads",
    "KeptAnchor",
    "MemoryHeads",
    "Pruned",
    "PublicKeys",
    "Record",
    "RecordFilter",
    "SegmentVerdict",
    "SqlHeads",
    "call_event",
    "export",
    "newest_records",
    "open_journal",
    "open_key",
    "prune",
    "read_public_keys",
    "read_record",
    "verify",
    "verify_export",
]
