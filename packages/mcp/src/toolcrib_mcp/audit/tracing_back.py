"""Which record of a broken chain is the first that is not what was written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolcrib_mcp.audit.chain import Link, link_message
from toolcrib_mcp.audit.keys import PublicKeys

Wrong: TypeAlias = Literal[
    "changed",
    "missing",
    "out-of-place",
    "rewritten",
    "bad-signature",
    "bad-head",
    "no-head",
    "segment-missing",
    "rolled-back",
    "unreadable",
]
"""What is wrong with a record, or with a whole segment."""


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """The hash that one record must have, as somebody says who can be believed."""

    seq: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class Break:
    """The first record that is not what was written."""

    position: int
    """How many lines stand before it."""
    seq: int
    """The number that it has, or should have."""
    wrong: Wrong
    message: str


def first_break(
    segment: str, links: Sequence[Link | None], *, first: int, before: str, anchors: Iterable[Anchor], keys: PublicKeys
) -> Break | None:
    """The first record that is wrong; `None` if none is.

    `links` has `None` for a line that is no record. What is right is found from the anchors and from every signature in
    the records: each vouches for the record that it is about, that one by its `prev` for the one before it, and so on
    down. So a record that was put in, and fits what stands before it, is told from the one that it displaced.
    """
    signed = [_signed(segment, link, keys) for link in links]
    vouched = [*anchors, *(each for each in signed if isinstance(each, Anchor))]
    right = _right_hashes(links, first, vouched)
    previous, vouched_to = before, first - 1
    for position, link in enumerate(links):
        seq = first + position
        if link is None:
            return Break(position=position, seq=seq, wrong="changed", message="has been changed")
        wrong = _misplaced(link, position, seq) or _unlinked(link, position, seq, right.get(seq), previous)
        if wrong is None and signed[position] is False and link.prev == previous:
            wrong = _falsely_signed(position, seq, vouched_to)
        if wrong is None and right.get(seq, link.hash) != link.hash:
            wrong = _rewritten(position, seq, vouched_to)
        if wrong is not None:
            return wrong
        previous = link.hash
        vouched_to = seq if seq in right else vouched_to
    return _cut(len(links), first, vouched)


def _signed(segment: str, link: Link | None, keys: PublicKeys) -> Anchor | bool:
    """What the signature in a record vouches for; False if it is false, True if there is none."""
    if link is None or link.prev_signature is None:
        return True
    if not keys.signed(link_message(segment, link.seq - 1, link.prev), link.prev_signature):
        return False
    return Anchor(seq=link.seq - 1, hash=link.prev)


def _right_hashes(links: Sequence[Link | None], first: int, anchors: Iterable[Anchor]) -> dict[int, str]:
    by_hash = {link.hash: link for link in links if link is not None}
    right: dict[int, str] = {}
    for anchor in sorted(anchors, key=lambda each: each.seq, reverse=True):
        seq, hash_ = anchor.seq, anchor.hash
        while seq >= first and seq not in right:
            right[seq] = hash_
            link = by_hash.get(hash_)
            if link is None or link.seq != seq:
                break
            seq, hash_ = seq - 1, link.prev
    return right


def _misplaced(link: Link, position: int, seq: int) -> Break | None:
    if link.seq > seq:
        message = f"is missing: record {link.seq} stands in its place"
        return Break(position=position, seq=seq, wrong="missing", message=message)
    if link.seq < seq:
        message = f"is not here: record {link.seq} stands in its place once more"
        return Break(position=position, seq=seq, wrong="out-of-place", message=message)
    return None


def _unlinked(link: Link, position: int, seq: int, right: str | None, previous: str) -> Break | None:
    if right is not None or link.prev == previous:
        return None
    message = "does not follow the record before it"
    return Break(position=position, seq=seq, wrong="out-of-place", message=message)


def _falsely_signed(position: int, seq: int, vouched_to: int) -> Break:
    # The signature is about the record before: where nobody else vouches for that one, it is not the one it was.
    if vouched_to < seq - 1 and position:
        return _rewritten(position - 1, seq - 1, vouched_to)
    return Break(position=position, seq=seq, wrong="bad-signature", message="has a signature that is false")


def _rewritten(position: int, seq: int, vouched_to: int) -> Break:
    message = "is not the one that was signed"
    if vouched_to < seq - 1:
        message += f"; it or one since record {vouched_to + 1} has been rewritten"
    return Break(position=position, seq=seq, wrong="rewritten", message=message)


def _cut(count: int, first: int, vouched: Iterable[Anchor]) -> Break | None:
    ends, end = first + count - 1, max((each.seq for each in vouched), default=0)
    if end <= ends:
        return None
    more = "is missing" if end == ends + 1 else f"is missing, as are all up to record {end}"
    return Break(position=count, seq=ends + 1, wrong="missing", message=f"{more}: the file was cut short")
