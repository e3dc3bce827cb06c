"""Checking all segments of a folder against the heads that are kept outside of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolcrib_core.wording import count
from toolcrib_mcp.audit.anchoring import KeptAnchor
from toolcrib_mcp.audit.chain import genesis, read_record
from toolcrib_mcp.audit.checking import Piece, walk
from toolcrib_mcp.audit.heads import Heads, KeptHead
from toolcrib_mcp.audit.keys import PublicKeys
from toolcrib_mcp.audit.segment import is_being_written, lines_of, segment_path, segments_in
from toolcrib_mcp.audit.tracing_back import Anchor, Break, Wrong
from toolcrib_mcp.audit.verdicts import AuditFault, AuditVerdict, SegmentVerdict


def verify(folder: Path, heads: Heads, keys: PublicKeys, *, anchor: KeptAnchor | None = None) -> AuditVerdict:
    """Check every segment; a process that writes meanwhile is no fault.

    The first record that was changed, removed, put in, moved or cut off is named, for every segment that has one. What
    cannot be noticed here is that the files and the database were taken back together to an earlier state: that shows
    only against an `anchor`, which was made later than that state and kept in another place.

    Raises:
        StoreError: The heads cannot be read.
    """
    # Heads first: what they vouch for was on the disk before they were kept.
    kept = dict(heads.every())
    present = segments_in(folder)
    if any(each not in kept for each in present):
        kept = {**heads.every(), **kept}
    claims = _claims(folder, present)
    outside = anchor.heads if anchor is not None and anchor.holds(keys) else {}
    looks = {each: _looked(folder, each, kept.get(each), claims, keys, outside=outside.get(each)) for each in present}
    found = {segment: look.verdict for segment, look in looks.items()}
    believed = _believed(claims, found)
    # Once more: what was removed since has its tombstone by now.
    late = heads.every()
    for segment in sorted({*kept, *believed, *outside, *present}):
        if segment in looks and not looks[segment].is_gone:
            found[segment] = _contradicted(looks[segment], believed.get(segment, []))
        else:
            found[segment] = _absent(segment, late.get(segment), believed.get(segment, []), keys, outside.get(segment))
    others = _registered(heads, keys, found)
    if anchor is not None:
        others += _anchored(anchor, heads, late, keys, found)
    return AuditVerdict(segments=tuple(found[segment] for segment in sorted(found)), others=tuple(others))


def _registered(heads: Heads, keys: PublicKeys, found: dict[str, SegmentVerdict]) -> list[AuditFault]:
    """What the registry of segments says against the heads; that of one segment is put to what was found of it."""
    missing = heads.missing(keys)
    if missing is None:
        return []
    segment, message = missing
    if not segment and any(each.fault is not None for each in found.values()):
        return []  # which segment it is about was found already
    if not segment:
        return [AuditFault(segment="", wrong="bad-head", message=message)]
    if segment not in found or found[segment].fault is None:
        found[segment] = _whole(segment, "segment-missing", message)
    return []


def _anchored(
    anchor: KeptAnchor,
    heads: Heads,
    kept: Mapping[str, KeptHead],
    keys: PublicKeys,
    found: dict[str, SegmentVerdict],
) -> list[AuditFault]:
    """What an anchor says against the database, which may be older than it."""
    if not anchor.holds(keys):
        message = "The anchor is not signed by a key of this audit: the keys were replaced, or it is not its anchor."
        return [AuditFault(segment="", wrong="bad-signature", message=message)]
    for segment, each in anchor.heads.items():
        if segment in kept and kept[segment].head.seq < each.seq and found[segment].fault is None:
            found[segment] = _whole(segment, "rolled-back", "has a head in the database that is older than the anchor")
    number = heads.number()
    if number >= anchor.number:
        return []
    message = (
        f"The database is older than the anchor of {anchor.time}: it knows {count(number, 'segment')}, and the anchor "
        f"{anchor.number}."
    )
    return [AuditFault(segment="", wrong="rolled-back", message=message)]


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """What the first record of a segment says about one before it."""

    by: str
    about: str
    anchor: Anchor


@dataclass(frozen=True, kw_only=True)
class _Look:
    """What one segment alone has shown."""

    verdict: SegmentVerdict
    found: Mapping[int, str] = field(default_factory=dict)
    is_gone: bool = False


def _looked(
    folder: Path,
    segment: str,
    kept: KeptHead | None,
    claims: Sequence[_Claim],
    keys: PublicKeys,
    *,
    outside: Anchor | None,
) -> _Look:
    anchors = [] if outside is None else [outside]
    if kept is not None:
        if not kept.head.holds(keys):
            return _Look(verdict=_whole(segment, "bad-head", "has a head in the database that the key has not signed"))
        anchors.append(Anchor(seq=kept.head.seq, hash=kept.head.hash))
    path = segment_path(folder, segment)
    try:
        live = is_being_written(path)
        asked = {each.anchor.seq for each in claims if each.about == segment}
        went = walk(_piece(path, segment), anchors, keys, asked=asked)
    except FileNotFoundError:
        return _Look(verdict=SegmentVerdict(segment=segment), is_gone=True)
    except OSError as failure:
        return _Look(verdict=_whole(segment, "unreadable", f"cannot be read: {failure.strerror}"))
    verdict = SegmentVerdict(
        segment=segment,
        records=went.records,
        unsigned=went.unsigned,
        state="closed" if went.closed else "being-written" if live else "cut-off",
        fault=None if went.broken is None else broken(segment, went.broken, line=went.broken.position + 1),
    )
    if verdict.fault is None and kept is None and not live and went.records > 1:
        missing = _whole(segment, "no-head", "has no head in the database, so that nobody knows where it ended")
        verdict = replace(verdict, fault=missing.fault)
    return _Look(verdict=verdict, found=went.found)


def broken(segment: str, found: Break, *, line: int) -> AuditFault:
    """The fault for a record that is not what was written."""
    message = f"Record {found.seq} of {segment} {found.message}."
    return AuditFault(segment=segment, wrong=found.wrong, message=message, line=line, seq=found.seq)


def _believed(claims: Sequence[_Claim], found: Mapping[str, SegmentVerdict]) -> Mapping[str, list[Anchor]]:
    """What is said in first records that somebody has signed."""
    believed: dict[str, list[Anchor]] = {}
    for claim in claims:
        by = found[claim.by]
        if by.fault is None and by.records > by.unsigned:
            believed.setdefault(claim.about, []).append(claim.anchor)
    return believed


def _contradicted(look: _Look, claims: Sequence[Anchor]) -> SegmentVerdict:
    verdict = look.verdict
    for claim in claims:
        if verdict.fault is None and look.found.get(claim.seq) != claim.hash:
            message = "is not the one that a later segment names"
            found = Break(position=claim.seq - 1, seq=claim.seq, wrong="rewritten", message=message)
            return replace(verdict, fault=broken(verdict.segment, found, line=claim.seq))
    return verdict


def _absent(
    segment: str, kept: KeptHead | None, claims: Sequence[Anchor], keys: PublicKeys, outside: Anchor | None
) -> SegmentVerdict:
    if kept is None:
        by = "a later segment" if claims else "the anchor"
        return _whole(segment, "segment-missing", f"is gone, with its head: {by} names it")
    if kept.tombstone is None:
        return _whole(segment, "segment-missing", f"is gone: it had {kept.head.seq} records")
    if not kept.tombstone.holds(kept.head, keys):
        return _whole(segment, "bad-head", "is gone, and the key has not signed that it was removed")
    if any(claim.seq > kept.head.seq for claim in claims):
        return _whole(segment, "bad-head", "was longer than what was removed: a later segment names more of it")
    if outside is not None and outside.seq > kept.head.seq:
        return _whole(segment, "rolled-back", "was longer than what was removed: the anchor names more of it")
    return SegmentVerdict(segment=segment, state="pruned")


def _claims(folder: Path, present: Sequence[str]) -> list[_Claim]:
    claims = []
    for segment in present:
        try:
            first = read_record(next(iter(lines_of(segment_path(folder, segment))), b""))
        except OSError:
            continue  # that it cannot be read is found when it is looked at
        if first is None:
            continue
        about, seq, hash_ = (first.fields.get(name) for name in ("after", "afterSeq", "afterHash"))
        if isinstance(about, str) and isinstance(seq, int) and isinstance(hash_, str):
            claims.append(_Claim(by=segment, about=about, anchor=Anchor(seq=seq, hash=hash_)))
    return claims


def _piece(path: Path, segment: str) -> Piece:
    return Piece(segment=segment, lines=lambda: _finished(path), first=1, before=genesis(segment))


def _finished(path: Path) -> Iterator[bytes]:
    """The lines of a file, without half a line at its end, which a kill leaves or somebody is writing."""
    held: bytes | None = None
    for line in lines_of(path):
        if held is not None:
            yield held
        held = line
    if held is not None and held.endswith(b"\n"):
        yield held


def _whole(segment: str, wrong: Wrong, message: str) -> SegmentVerdict:
    fault = AuditFault(segment=segment, wrong=wrong, message=f"Segment {segment} {message}.")
    return SegmentVerdict(segment=segment, fault=fault)
