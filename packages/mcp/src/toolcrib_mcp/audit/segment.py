"""The file that one process writes its records into."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from toolcrib_mcp.audit.chain import MAX_LINE, is_segment

FOLDER: Final = "audit"
"""The folder of a state directory with the segments."""

SUFFIX: Final = ".jsonl"


class Segment:
    """A file that only grows, readable to its owner alone, and locked as long as it is open."""

    def __init__(self, folder: Path, *, began: float) -> None:
        """Make the file.

        Raises:
            OSError: It cannot be made.
        """
        moment = datetime.fromtimestamp(began, UTC)
        thousandths = moment.microsecond // 1000
        self.name: Final = f"{moment:%Y%m%dT%H%M%S}{thousandths:03}Z-{secrets.token_hex(8)}"
        self._path = folder / f"{self.name}{SUFFIX}"
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = 0
        self._untidy = False
        try:
            # Whoever reads sees by the lock that more may come; nobody else holds it for longer than a look.
            fcntl.flock(self._file, fcntl.LOCK_EX)
            _sync_folder(folder)
        except OSError:
            os.close(self._file)
            raise

    def append(self, data: bytes) -> None:
        """Add lines; when this returns they are on the disk, and when it raises none of them counts.

        Raises:
            OSError: The disk is full, or failed.
        """
        if self._untidy:
            # What was left of lines that could not be written whole.
            os.ftruncate(self._file, self._size)
        self._untidy = True
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        os.fsync(self._file)
        self._size += len(data)
        self._untidy = False

    def close(self) -> None:
        """Let go of the file."""
        if self._untidy:
            # If it fails: a reader takes half a line at the end for what it is.
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
        os.close(self._file)

    def discard(self) -> None:
        """Let go of a file that nothing could be written to, and remove it."""
        os.close(self._file)
        with suppress(OSError):
            self._path.unlink()


def segments_in(folder: Path) -> list[str]:
    """The segments of a folder, the first first; none where there is no folder."""
    return sorted(path.stem for path in folder.glob(f"*{SUFFIX}") if is_segment(path.stem))


def segment_path(folder: Path, segment: str) -> Path:
    """The file of a segment."""
    return folder / f"{segment}{SUFFIX}"


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file as it is now, each with its end, the last one perhaps without; a long one comes in pieces.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        # Not to the end, which somebody may be moving: half a line would be followed by its other half.
        rest = os.fstat(file.fileno()).st_size
        while line := file.readline(min(rest, MAX_LINE + 1)):
            rest -= len(line)
            yield line


def is_being_written(path: Path) -> bool:
    """Whether a process has the segment open for writing.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
