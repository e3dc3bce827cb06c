"""The end of a chain that grows: records are put behind it in batches, and every batch is signed by the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from toolcrib_mcp.audit.chain import Head, genesis, link_message, sealed
from toolcrib_mcp.audit.keys import AuditKey
from toolcrib_mcp.audit.segment import Segment

Fields: TypeAlias = Mapping[str, str | int]
"""What a record holds beside what links it to the others."""

OpenSegment: TypeAlias = Callable[[Path, float], Segment]
"""Makes the file of a new segment that begins at this time."""


class ChainWriter:
    """Writes the records of one segment; used by one thread."""

    def __init__(self, segment: Segment, *, key: AuditKey) -> None:
        self._segment = segment
        self._key = key
        self._seq = 0
        self._hash = genesis(segment.name)
        self._head: Head | None = None

    @property
    def head(self) -> Head | None:
        """The signed head of what has been written; `None` before the first record."""
        if self._head is None and self._seq:
            self._head = Head.signed(self._key, segment=self._segment.name, seq=self._seq, hash_=self._hash)
        return self._head

    def write(self, records: Sequence[tuple[float, Fields]]) -> None:
        """Put records behind the chain, each with the time it is from; they are on the disk when this returns.

        Raises:
            OSError: The disk is full, or failed; none of the records counts, and they may be written again.
        """
        lines, seq, hash_ = [], self._seq, self._hash
        signature = self._key.sign(link_message(self._segment.name, seq, hash_)) if seq else None
        for seconds, fields in records:
            seq += 1
            line, hash_ = sealed({**fields, "time": moment(seconds)}, seq=seq, prev=hash_, prev_signature=signature)
            signature = None
            lines.append(line)
        self._segment.append(b"".join(lines))
        self._seq, self._hash = seq, hash_
        self._head = None

    def close(self) -> None:
        """Let go of the file."""
        self._segment.close()

    def discard(self) -> None:
        """Let go of the file before there is a record in it."""
        self._segment.discard()


def open_segment(folder: Path, began: float) -> Segment:
    """Make the file of a new segment.

    Raises:
        OSError: It cannot be made.
    """
    return Segment(folder, began=began)


def moment(seconds: float) -> str:
    """A time since the epoch as records have it: in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
