"""What the tests of the audit share: a place for a journal, and journals that are written in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib_mcp.audit import (
    AUDIT_LINE,
    FOLDER,
    PUBLIC_FILE,
    AuditEvent,
    AuditJournal,
    AuditVerdict,
    PublicKeys,
    SqlHeads,
    open_journal,
    open_key,
    read_public_keys,
    verify,
)
from toolcrib_mcp.audit.chain import Record, read_record
from toolcrib_mcp.audit.events import EventWriter
from toolcrib_mcp.audit.segment import Segment
from toolcrib_mcp.audit.writing import ChainWriter
from toolcrib_runtime.guards.secrets import Scrubber
from toolcrib_store import Store, open_store


@dataclass
class Place:
    """A state directory with its store."""

    directory: Path
    store: Store

    @property
    def folder(self) -> Path:
        return self.directory / FOLDER

    @property
    def heads(self) -> SqlHeads:
        key = open_key(self.directory)
        return SqlHeads(self.store, key=key, keys=self.keys)

    @property
    def keys(self) -> PublicKeys:
        return read_public_keys(self.directory / PUBLIC_FILE)

    def journal(self, **options: Any) -> AuditJournal:
        return open_journal(self.directory, store=self.store, **options)

    def write(self, *events: AuditEvent, **options: Any) -> Path:
        """A journal with these events, closed; gives its file."""
        before = set(self.files())
        journal = self.journal(**options)
        journal.start()
        for event in events:
            journal.note(event)
        journal.close()
        (made,) = set(self.files()) - before
        return made

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*.jsonl")) if self.folder.exists() else []

    def verify(self) -> AuditVerdict:
        return verify(self.folder, self.heads, self.keys)


@contextmanager
def place_in(directory: Path) -> Iterator[Place]:
    """A state directory that is open."""
    directory.mkdir(parents=True, exist_ok=True)
    with open_store(directory / "artifacts.db", lines=[AUDIT_LINE]) as store:
        yield Place(directory, store)


def call(number: int = 1, **fields: Any) -> AuditEvent:
    """A call that went well."""
    known: dict[str, Any] = {
        "kind": "call",
        "principal": "ada",
        "server": "files",
        "tool": f"files:read-{number}#0a1b2c3d",
        "outcome": "ok",
        "decision": "allow",
        "duration_ms": 12.4,
    }
    return AuditEvent(**known | fields)


def batches_in(place: Place, batches: Iterable[int], *, keeps_head: bool = True) -> Path:
    """A segment whose calls were written in batches of these sizes, and that was closed."""
    place.folder.mkdir(exist_ok=True)
    key = open_key(place.directory)
    segment = Segment(place.folder, began=1_000_000.0)
    chain = ChainWriter(segment, key=key)
    writer = EventWriter(key, scrubber=Scrubber(), arguments=False)
    chain.write([(1_000_000.0, {"kind": "start"})])
    number = 0
    for size in batches:
        numbers = range(number, number + size)
        chain.write([(1_000_000.0 + each, writer.fields(call(each))) for each in numbers])
        number += size
    chain.write([(1_000_001.0 + number, {"kind": "stop"})])
    if keeps_head:
        assert chain.head is not None
        place.heads.keep(chain.head)
    chain.close()
    return place.folder / f"{segment.name}.jsonl"


def records_of(file: Path) -> list[Record]:
    """The records of a file, every line of which is one."""
    found = [read_record(line) for line in file.read_bytes().splitlines(keepends=True)]
    assert None not in found
    return [each for each in found if each is not None]
