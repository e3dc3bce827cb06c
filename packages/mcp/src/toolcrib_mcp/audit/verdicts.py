"""What was found when a record of calls was checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from toolcrib_mcp.audit.tracing_back import Wrong


@dataclass(frozen=True, kw_only=True)
class AuditFault:
    """What is not as it was written."""

    segment: str
    wrong: Wrong
    message: str
    """A sentence that names the record."""
    line: int | None = None
    """Where in the file; `None` where the whole segment is meant."""
    seq: int | None = None
    """The number of the record."""

    def told(self) -> dict[str, Any]:
        """The fault as JSON."""
        return {
            "segment": self.segment,
            "line": self.line,
            "seq": self.seq,
            "wrong": self.wrong,
            "message": self.message,
        }


@dataclass(frozen=True, kw_only=True)
class SegmentVerdict:
    """What was found in the records of one process."""

    segment: str
    records: int = 0
    """How many stand before the first that is wrong, or in all."""
    unsigned: int = 0
    """How many at the end no signature vouches for: what was written in the last second before a kill."""
    state: Literal["closed", "being-written", "cut-off", "pruned", "exported"] = "cut-off"
    """Whether it has its closing record; `cut-off` is one of a process that was killed."""
    fault: AuditFault | None = None

    def told(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {
            "segment": self.segment,
            "records": self.records,
            "unsigned": self.unsigned,
            "state": self.state,
            "fault": None if self.fault is None else self.fault.told(),
        }


@dataclass(frozen=True, kw_only=True)
class AuditVerdict:
    """What was found in all segments, in the order in which they were begun."""

    segments: tuple[SegmentVerdict, ...]
    others: tuple[AuditFault, ...] = ()
    """What is wrong with the whole, and not with one segment."""

    @property
    def faults(self) -> tuple[AuditFault, ...]:
        """The first fault of every segment that has one, and what is wrong with the whole."""
        return tuple(each.fault for each in self.segments if each.fault is not None) + self.others

    @property
    def first(self) -> AuditFault | None:
        """The first fault of all."""
        return next(iter(self.faults), None)

    @property
    def is_whole(self) -> bool:
        """Whether nothing was found."""
        return self.first is None

    @property
    def records(self) -> int:
        """How many records were found right."""
        return sum(each.records for each in self.segments)

    @property
    def unsigned(self) -> int:
        """How many of them no signature vouches for."""
        return sum(each.unsigned for each in self.segments)

    def told(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {
            "whole": self.is_whole,
            "records": self.records,
            "unsigned": self.unsigned,
            "first": None if self.first is None else self.first.told(),
            "others": [each.told() for each in self.others],
            "segments": [each.told() for each in self.segments],
        }
