"""Cutting a stream of bytes into lines: in linear time, and with a cap on what is kept of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HEAD_BYTES: Final = 4096
"""How much is kept of the beginning of a line that is too long."""

TAIL_BYTES: Final = 256
"""How much is kept of its end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LongLine:
    """A line over the cap: its head as soon as that is known, and once more, with its tail, when it has ended."""

    head: bytes
    tail: bytes | None = None
    length: int


class LineSplitter:
    """Gives lines without their newlines; of one that is too long, two `LongLine`s and nothing else."""

    def __init__(self, max_line: int) -> None:
        self._max_line = max_line
        # One array that grows: a list of parts would cost 40 bytes for each byte of a server that writes bytewise.
        self._partial = bytearray()
        self._skipped: int | None = None
        self._head = b""

    @property
    def skipped_bytes(self) -> int:
        """How much was dropped so far of a line that is too long and has not ended."""
        return self._skipped or 0

    def feed(self, chunk: bytes) -> list[bytes | LongLine]:
        """The lines that end in this chunk, and the head of one that has become too long in it."""
        lines: list[bytes | LongLine] = []
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._add(piece, lines)
            self._end_line(lines)
        self._add(rest, lines)
        return lines

    def end(self) -> list[bytes | LongLine]:
        """What stands after the last newline when the stream has ended."""
        lines: list[bytes | LongLine] = []
        if self._partial or self._skipped is not None:
            self._end_line(lines)
        return lines

    def _add(self, piece: bytes, lines: list[bytes | LongLine]) -> None:
        self._partial += piece
        if self._skipped is None:
            if len(self._partial) <= self._max_line:
                return
            self._skipped = 0
            self._head = bytes(self._partial[:HEAD_BYTES])
            lines.append(LongLine(head=self._head, length=len(self._partial)))
        surplus = max(0, len(self._partial) - TAIL_BYTES)
        self._skipped += surplus
        del self._partial[:surplus]

    def _end_line(self, lines: list[bytes | LongLine]) -> None:
        line = bytes(self._partial)
        self._partial.clear()
        if self._skipped is None:
            lines.append(line)
            return
        lines.append(LongLine(head=self._head, tail=line, length=self._skipped + len(line)))
        self._skipped, self._head = None, b""
