"""Records in one file that proves by itself, with the public key alone, that nothing in it was changed.

The first line says what follows and is signed; then, for every segment, a line with its name and its records as they
were written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from toolcrib_core.wording import quoted
from toolcrib_mcp.audit.chain import MAX_LINE, Record, read_record
from toolcrib_mcp.audit.checking import Piece, walk
from toolcrib_mcp.audit.keys import AuditKey, PublicKeys
from toolcrib_mcp.audit.segment import lines_of, segment_path
from toolcrib_mcp.audit.tracing_back import Anchor, Break
from toolcrib_mcp.audit.verdicts import AuditFault, AuditVerdict, SegmentVerdict
from toolcrib_mcp.audit.verifying import broken
from toolcrib_mcp.errors import AuditUnusable

_FORM: Final = "toolcrib-audit-export-1"
_MAX_MANIFEST: Final = 64 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What went into an export."""

    segments: int
    records: int


def export(
    folder: Path,
    verdict: AuditVerdict,
    target: BinaryIO,
    *,
    key: AuditKey,
    since: str | None = None,
    until: str | None = None,
) -> Exported:
    """Write the records from one time to another, as RFC 3339 in UTC, into a file.

    Only what was found whole is signed: `verdict` is that of `verify` for this folder.

    Raises:
        AuditUnusable: Something in the record is not what was written.
        OSError: A file cannot be read or written.
    """
    if verdict.first is not None:
        raise AuditUnusable(
            f"The record is not whole, and so is not exported: {verdict.first.message}",
            hint="`toolcrib audit verify` tells all that is wrong; the files themselves can be copied as they are.",
        )
    spans = []
    for each in verdict.segments:
        span = None if each.state == "pruned" else _span(folder, each, since, until)
        if span is not None:
            spans.append(span)
    manifest = {"export": _FORM, "since": since, "until": until, "segments": [span.told() for span in spans]}
    target.write(_line({**manifest, "sig": key.sign(_message(manifest))}))
    for span in spans:
        target.write(_line({"segment": span.segment}))
        target.writelines(islice(lines_of(segment_path(folder, span.segment)), span.first - 1, span.last))
    return Exported(segments=len(spans), records=sum(span.last - span.first + 1 for span in spans))


def verify_export(file: Path, keys: PublicKeys) -> AuditVerdict:
    """Check an export; lines are counted from the beginning of the file.

    Raises:
        AuditUnusable: The file is no export, or cannot be read.
    """
    try:
        with file.open("rb") as opened:
            first = opened.readline(_MAX_MANIFEST)
        manifest = _manifest(first, file)
        signature = str(manifest.pop("sig", ""))
        if not keys.signed(_message(manifest), signature) or _line({**manifest, "sig": signature}) != first:
            fault = AuditFault(
                segment="", wrong="bad-signature", message="The first line is not what the key has signed.", line=1
            )
            return AuditVerdict(segments=(SegmentVerdict(segment="", state="exported", fault=fault),))
        sections = _sections(file)
        spans = [_Span(**each) for each in manifest["segments"]]
    except OSError as failure:
        raise AuditUnusable(
            f"{quoted(file.name)} cannot be read: {failure.strerror}.", hint="Check the path."
        ) from None
    found = [_checked(file, span, section, keys) for span, section in zip(spans, sections, strict=False)]
    found += [_missing(span) for span in spans[len(sections) :]]
    if len(sections) > len(spans):
        extra = sections[len(spans)]
        message = f"Segment {extra.segment} was put in."
        fault = AuditFault(segment=extra.segment, wrong="out-of-place", message=message, line=extra.line)
        found.append(SegmentVerdict(segment=extra.segment, state="exported", fault=fault))
    return AuditVerdict(segments=tuple(found))


@dataclass(frozen=True, kw_only=True)
class _Span:
    segment: str
    first: int
    last: int
    before: str
    """The hash before the first record."""
    hash: str
    """That of the last."""
    unsigned: int

    def told(self) -> dict[str, Any]:
        return {
            "segment": self.segment,
            "first": self.first,
            "last": self.last,
            "before": self.before,
            "hash": self.hash,
            "unsigned": self.unsigned,
        }


@dataclass(kw_only=True)
class _Section:
    segment: str
    line: int
    """That of the segment's name."""
    offset: int
    """Where the first record begins, in bytes."""
    count: int = 0


def _span(folder: Path, verdict: SegmentVerdict, since: str | None, until: str | None) -> _Span | None:
    """The records of a segment between two times; times hardly ever go back, and one that did is taken along."""
    first: Record | None = None
    last: Record | None = None
    lines = islice(lines_of(segment_path(folder, verdict.segment)), verdict.records)
    for record in map(read_record, lines):
        if record is None or (since is not None and record.time < since) or (until is not None and record.time > until):
            continue
        first, last = first or record, record
    if first is None or last is None:
        return None
    signed_to = verdict.records - verdict.unsigned
    return _Span(
        segment=verdict.segment,
        first=first.link.seq,
        last=last.link.seq,
        before=first.link.prev,
        hash=last.link.hash,
        unsigned=max(0, last.link.seq - max(signed_to, first.link.seq - 1)),
    )


def _checked(file: Path, span: _Span, section: _Section, keys: PublicKeys) -> SegmentVerdict:
    if section.segment != span.segment:
        message = f"Segment {section.segment} stands in the place of {span.segment}."
        fault = AuditFault(segment=span.segment, wrong="out-of-place", message=message, line=section.line)
        return SegmentVerdict(segment=span.segment, state="exported", fault=fault)
    piece = Piece(
        segment=span.segment,
        lines=lambda: islice(_lines_from(file, section.offset), section.count),
        first=span.first,
        before=span.before,
    )
    went = walk(piece, [Anchor(seq=span.last, hash=span.hash)], keys)
    found = went.broken
    if found is None and went.records > span.last - span.first + 1:
        seq = span.last + 1
        found = Break(position=seq - span.first, seq=seq, wrong="out-of-place", message="was put in")
    return SegmentVerdict(
        segment=span.segment,
        records=went.records,
        unsigned=span.unsigned,
        state="exported",
        fault=None if found is None else broken(span.segment, found, line=section.line + found.position + 1),
    )


def _missing(span: _Span) -> SegmentVerdict:
    fault = AuditFault(segment=span.segment, wrong="segment-missing", message=f"Segment {span.segment} is gone.")
    return SegmentVerdict(segment=span.segment, state="exported", fault=fault)


def _sections(file: Path) -> Sequence[_Section]:
    """Where the records of every segment are."""
    sections: list[_Section] = []
    with file.open("rb") as opened:
        offset = len(opened.readline(_MAX_MANIFEST))
    for number, line in enumerate(_lines_from(file, offset), 2):
        offset += len(line)
        name = _segment_named(line)
        if name is not None or not sections:
            sections.append(_Section(segment=name or "", line=number, offset=offset))
        else:
            sections[-1].count += 1
    return sections


def _lines_from(file: Path, offset: int) -> Iterator[bytes]:
    with file.open("rb") as opened:
        opened.seek(offset)
        while line := opened.readline(MAX_LINE + 1):
            yield line


def _segment_named(line: bytes) -> str | None:
    if not line.startswith(b'{"segment":'):
        return None
    try:
        named = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    name = named.get("segment")
    return name if isinstance(name, str) and _line({"segment": name}) == line else None


def _manifest(line: bytes, file: Path) -> dict[str, Any]:
    try:
        manifest = orjson.loads(line)
    except orjson.JSONDecodeError:
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("export") != _FORM:
        raise AuditUnusable(
            f"{quoted(file.name)} is no export of the audit.", hint="Make one with `toolcrib audit export -o FILE`."
        )
    return manifest


def _message(manifest: Mapping[str, Any]) -> bytes:
    return _FORM.encode() + b"\n" + orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS)


def _line(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS) + b"\n"
