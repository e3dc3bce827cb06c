"""`toolcrib audit export`: records in one file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, Self

from toolcrib_cli.asking import Choice
from toolcrib_cli.audit.opening import OpenedAudit, opened_audit
from toolcrib_cli.audit.times import read_time
from toolcrib_cli.screen import print_json, say, screen
from toolcrib_core.wording import count, quoted
from toolcrib_mcp.audit import AuditVerdict, Exported, Record, export, open_key, read_record
from toolcrib_mcp.audit.segment import lines_of, segment_path
from toolcrib_mcp.errors import AuditUnusable

_COLUMNS: Final = (
    "time kind principal client server tool decision rule approval approvedBy outcome durationMs argumentCount "
    "argumentBytes resultBytes redactions artifacts trace segment seq hash".split()
)
# What a spreadsheet would take for the beginning of a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, kw_only=True)
class Times:
    """From when to when, as records have it."""

    since: str | None = None
    until: str | None = None

    @classmethod
    def read(cls, since: str | None, until: str | None) -> Self:
        """The times as somebody typed them.

        Raises:
            ConfigError: One of them is no time.
        """
        return cls(
            since=None if since is None else read_time(since, "--since"),
            until=None if until is None else read_time(until, "--until", end_of_day=True),
        )

    def admit(self, record: Record) -> bool:
        """Whether the record is from between them."""
        return (self.since is None or record.time >= self.since) and (self.until is None or record.time <= self.until)


def write_export(choice: Choice, file: Path, times: Times, *, as_csv: bool, force: bool, as_json: bool) -> None:
    """Check everything, then write the file; nothing is left of one that could not be written whole.

    Raises:
        ConfigError: The configuration cannot be used.
        AuditUnusable: Nothing was written down, the record is not whole, or the file is there or cannot be written.
        StoreError: The database cannot be used.
    """
    if file.exists() and not force:
        raise AuditUnusable(f"{quoted(file.name)} is there already.", hint="Name another file, or add `--force`.")
    with opened_audit(choice) as audit:
        if audit is None:
            raise AuditUnusable("Nothing has been written down yet.", hint="Name a configuration with `--config`.")
        told = _written(audit, file, times, as_csv=as_csv)
    if as_json:
        print_json({"file": str(file), "segments": told.segments, "records": told.records})
        return
    console = screen()
    say(console, f"{count(told.records, 'record')} of {count(told.segments, 'segment')} written to {file}.")
    if not as_csv:
        say(console, f"Check it with: toolcrib audit verify {file} --public-key audit.pub")


def _written(audit: OpenedAudit, file: Path, times: Times, *, as_csv: bool) -> Exported:
    verdict = audit.verdict()
    draft = file.with_name(f".{file.name}.part")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as target:
                if as_csv:
                    told = _csv(audit.folder, verdict, target, times)
                else:
                    key = open_key(audit.directory)
                    told = export(audit.folder, verdict, target, key=key, since=times.since, until=times.until)
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as failure:
        raise AuditUnusable(
            f"{quoted(file.name)} cannot be written: {failure.strerror}.", hint="Name another file."
        ) from None
    return told


def _csv(folder: Path, verdict: AuditVerdict, target: BinaryIO, times: Times) -> Exported:
    if verdict.first is not None:
        raise AuditUnusable(
            f"The record is not whole, and so is not exported: {verdict.first.message}",
            hint="`toolcrib audit verify` tells all that is wrong.",
        )
    text = io.TextIOWrapper(target, encoding="utf-8", newline="", write_through=True)
    rows = csv.writer(text)
    rows.writerow(_COLUMNS)
    segments, records = set(), 0
    for segment, record in _records(folder, verdict):
        if times.admit(record):
            rows.writerow([_cell(({**record.fields, "segment": segment}).get(name, "")) for name in _COLUMNS])
            segments.add(segment)
            records += 1
    text.detach()
    return Exported(segments=len(segments), records=records)


def _records(folder: Path, verdict: AuditVerdict) -> Iterator[tuple[str, Record]]:
    for each in verdict.segments:
        if each.state != "pruned":
            lines = islice(lines_of(segment_path(folder, each.segment)), each.records)
            yield from ((each.segment, record) for record in map(read_record, lines) if record is not None)


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
