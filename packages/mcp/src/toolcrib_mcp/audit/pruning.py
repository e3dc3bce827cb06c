"""Removing old segments in a way that can be told from somebody else's removing them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolcrib_mcp.audit.chain import Head, Record, read_record
from toolcrib_mcp.audit.heads import Heads, Tombstone
from toolcrib_mcp.audit.keys import AuditKey
from toolcrib_mcp.audit.segment import is_being_written, lines_of, segment_path
from toolcrib_mcp.audit.verdicts import AuditVerdict


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """What was removed, and what was not."""

    segments: tuple[str, ...]
    records: int
    kept_as_evidence: tuple[str, ...]
    """Old ones in which something is not what was written."""


def prune(folder: Path, verdict: AuditVerdict, heads: Heads, *, key: AuditKey, before: str, at: float) -> Pruned:
    """Remove the segments whose last record is older than a time, as RFC 3339 in UTC; `at` is now.

    `verdict` is that of `verify` for this folder. A segment that somebody writes to stays, and so does one with a
    fault. Of what is removed a signed note remains, so that `verify` knows.

    Raises:
        StoreError: The note cannot be kept; that segment stays.
        OSError: A file cannot be read or removed.
    """
    gone, evidence, records = [], [], 0
    kept = heads.every()
    for each in verdict.segments:
        path = segment_path(folder, each.segment)
        if each.state == "pruned" or not path.exists():
            continue
        if each.fault is not None:
            evidence.append(each.segment)
            continue
        last = _last(path, each.records)
        if is_being_written(path) or last is None or last.time >= before:
            continue
        # One that was killed before it had a head is in no registry, and leaves no gap there.
        if each.segment in kept:
            head = Head.signed(key, segment=each.segment, seq=last.link.seq, hash_=last.link.hash)
            heads.bury(head, Tombstone.signed(key, head, at=int(at)))
        path.unlink()
        gone.append(each.segment)
        records += each.records
    return Pruned(segments=tuple(gone), records=records, kept_as_evidence=tuple(evidence))


def _last(path: Path, count: int) -> Record | None:
    last = None
    for number, line in enumerate(lines_of(path), 1):
        if number == count:
            last = read_record(line)
    return last
