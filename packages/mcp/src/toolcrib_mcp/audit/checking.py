"""Checking the lines of one segment, from wherever they come."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from toolcrib_mcp.audit.chain import Link, Record, link_message, read_record
from toolcrib_mcp.audit.keys import PublicKeys
from toolcrib_mcp.audit.tracing_back import Anchor, Break, first_break

_STOP: Final = "stop"
_TRIES: Final = 3


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Lines that follow each other in one segment."""

    segment: str
    lines: Callable[[], Iterable[bytes]]
    """Reads them, as often as it is asked; each has its end."""
    first: int
    """The number of the first record."""
    before: str
    """The hash before it."""


@dataclass(kw_only=True)
class Walk:
    """What a walk along a chain has found."""

    records: int = 0
    signed_to: int = 0
    """The last record that somebody vouches for."""
    closed: bool = False
    found: dict[int, str] = field(default_factory=dict)
    """The hashes of the records that were asked about."""
    broken: Break | None = None

    @property
    def unsigned(self) -> int:
        """How many records at the end nobody vouches for."""
        return max(0, self.records - self.signed_to)


def walk(piece: Piece, anchors: Collection[Anchor], keys: PublicKeys, *, asked: Collection[int] = ()) -> Walk:
    """Go along the chain from the first record to the last.

    One signature vouches for all before it, so that of a chain that holds only the last is checked. Where it does not
    hold, everything is looked at again for the first record that is wrong.

    Raises:
        OSError: The lines cannot be read.
    """
    for _ in range(_TRIES):
        went = _went_along(piece, anchors, keys, {*asked, *(anchor.seq for anchor in anchors)})
        if went is not None:
            return went
        links = [_link(line) for line in piece.lines()]
        broken = first_break(piece.segment, links, first=piece.first, before=piece.before, anchors=anchors, keys=keys)
        if broken is not None:
            return Walk(records=broken.position, signed_to=broken.position, broken=broken)
        # By now it is as it should be: a process had to write something twice just when we read.
    return Walk(broken=Break(position=0, seq=piece.first, wrong="changed", message="is another one each time"))


def _went_along(piece: Piece, anchors: Collection[Anchor], keys: PublicKeys, asked: Collection[int]) -> Walk | None:
    """What was found, or `None` where the chain does not hold."""
    went = Walk()
    last, previous, latest = piece.first - 1, piece.before, None
    record: Record | None = None
    for line in piece.lines():
        record = read_record(line)
        if record is None or record.link.seq != last + 1 or record.link.prev != previous:
            return None
        last, previous = record.link.seq, record.link.hash
        if last in asked:
            went.found[last] = previous
        if record.link.prev_signature is not None:
            latest = record.link
    if any(went.found.get(anchor.seq) != anchor.hash for anchor in anchors):
        return None
    signed_to = max((anchor.seq for anchor in anchors), default=piece.first - 1)
    if latest is not None and latest.seq - 1 >= signed_to:
        if not keys.signed(link_message(piece.segment, latest.seq - 1, latest.prev), latest.prev_signature or ""):
            return None
        signed_to = latest.seq - 1
    went.records, went.signed_to = last - piece.first + 1, signed_to - piece.first + 1
    went.closed = record is not None and record.kind == _STOP
    return went


def _link(line: bytes) -> Link | None:
    record = read_record(line)
    return None if record is None else record.link
