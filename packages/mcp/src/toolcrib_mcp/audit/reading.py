"""Reading records: the newest of all segments, those of a time, and new ones as they come."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from toolcrib_mcp.audit.chain import Record, read_record
from toolcrib_mcp.audit.segment import segment_path, segments_in

_BLOCK: Final = 65_536


@dataclass(frozen=True, kw_only=True)
class RecordFilter:
    """Which records somebody wants to see, by patterns; what is not said does not matter."""

    server: str | None = None
    tool: str | None = None
    principal: str | None = None

    def admits(self, record: Record) -> bool:
        """Whether the record is one of them."""
        asked = (("server", self.server), ("tool", self.tool), ("principal", self.principal))
        return all(pattern is None or fnmatchcase(str(record.fields.get(name, "")), pattern) for name, pattern in asked)


EVERYTHING: Final = RecordFilter()


def newest_records(folder: Path, count: int, *, wanted: RecordFilter = EVERYTHING) -> list[Record]:
    """The last so many records of all segments together, the oldest of them first. They are not checked.

    Raises:
        OSError: A file cannot be read.
    """
    found: list[Record] = []
    latest_first = sorted(map(_modified, [segment_path(folder, each) for each in segments_in(folder)]), reverse=True)
    for modified, path in latest_first:
        if len(found) == count and found[0].time > modified:
            break
        for taken, record in enumerate(each for each in _backwards(path) if wanted.admits(each)):
            if taken == count or (len(found) == count and record.time <= found[0].time):
                break
            found.append(record)
            found = sorted(found, key=_order)[-count:]
    return found


class Follower:
    """Gives the records that were added since it was last asked."""

    def __init__(self, folder: Path, *, wanted: RecordFilter = EVERYTHING) -> None:
        self._folder = folder
        self._wanted = wanted
        self._read: dict[str, int] = {each: _size(segment_path(folder, each)) for each in segments_in(folder)}

    def new(self) -> list[Record]:
        """What has come, in the order of time.

        Raises:
            OSError: A file cannot be read.
        """
        found = []
        for segment in segments_in(self._folder):
            with segment_path(self._folder, segment).open("rb") as file:
                file.seek(self._read.get(segment, 0))
                data = file.read()
            # Half a line is read when it is whole.
            complete = data[: data.rfind(b"\n") + 1]
            self._read[segment] = self._read.get(segment, 0) + len(complete)
            records = map(read_record, complete.splitlines(keepends=True))
            found += [each for each in records if each is not None and self._wanted.admits(each)]
        return sorted(found, key=_order)


def _order(record: Record) -> tuple[str, int]:
    return record.time, record.link.seq


def _modified(path: Path) -> tuple[str, Path]:
    from toolcrib_mcp.audit.writing import moment

    return moment(path.stat().st_mtime), path


def _size(path: Path) -> int:
    """How far the whole lines of a file reach."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            last = file.read(end - start).rfind(b"\n")
            if last >= 0:
                return start + last + 1
            end = start
    return 0


def _backwards(path: Path) -> Iterator[Record]:
    """The records of a file, the last first; lines that are none are left out."""
    with path.open("rb") as file:
        start, rest = _size(path), b""
        while start:
            start, end = max(0, start - _BLOCK), start
            file.seek(start)
            lines = (file.read(end - start) + rest).splitlines(keepends=True)
            rest = lines.pop(0) if start else b""
            yield from (record for record in map(read_record, reversed(lines)) if record is not None)
