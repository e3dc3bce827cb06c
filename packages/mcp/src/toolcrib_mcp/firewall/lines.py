"""Text as bytes, by lines: nothing here decodes more than is shown. Lines end with LF and are counted from 1."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from toolcrib_mcp.firewall.shown import LINE_CHARS, clipped_bytes, visible

PREFIX_BYTES: Final = 64 * 1024
"""How much is looked at to tell what a text is, and to find its first and last lines."""

_BOM = codecs.BOM_UTF8
_CHUNK = 1 << 20


@dataclass(frozen=True)
class NumberedLine:
    """One line of the content, as it is shown, and its number."""

    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.number} {self.text}"


def without_bom(content: bytes) -> bytes:
    """The content without the mark of UTF-8 that some programs put before it."""
    return content.removeprefix(_BOM)


def line_count(content: bytes) -> int:
    """How many lines there are; a last one needs no line feed."""
    return content.count(b"\n") + bool(content and not content.endswith(b"\n"))


def word_count(content: bytes) -> int:
    """How many words there are, without ever holding all of them."""
    words = 0
    inside = False
    for start in range(0, len(content), PREFIX_BYTES):
        chunk = content[start : start + PREFIX_BYTES]
        words += len(chunk.split()) - (inside and not chunk[:1].isspace())
        inside = not chunk[-1:].isspace()
    return words


def invalid_count(content: bytes) -> int:
    """How often the content is not UTF-8: each place is shown as one replacement character."""
    pieces = (content[start : start + _CHUNK] for start in range(0, len(content), _CHUNK))
    replaced = sum(text.count("\ufffd") for text in codecs.iterdecode(pieces, "utf-8", "replace"))
    return replaced - content.count("\ufffd".encode())


def first_lines(content: bytes, number: int, *, limit: int = LINE_CHARS) -> list[NumberedLine]:
    """The first lines that are not blank, as far as they begin in the first 64 KiB."""
    lines = content[:PREFIX_BYTES].split(b"\n")
    found = ((index, line) for index, line in enumerate(lines, 1) if line and not line.isspace())
    return [NumberedLine(index, clipped_bytes(line, limit)) for index, line in _up_to(number, found)]


def last_lines(content: bytes, number: int, *, limit: int = LINE_CHARS) -> list[NumberedLine]:
    """The last lines that are not blank, in their order, as far as they lie wholly in the last 64 KiB."""
    total = line_count(content)
    lines = content[-PREFIX_BYTES:].removesuffix(b"\n").split(b"\n")
    whole = lines if len(content) <= PREFIX_BYTES else lines[1:]
    counted = zip(range(total, 0, -1), reversed(whole), strict=False)
    found = [(index, line) for index, line in counted if line and not line.isspace()][:number]
    return [NumberedLine(index, clipped_bytes(line, limit)) for index, line in reversed(found)]


def ending(content: bytes, limit: int) -> str:
    """The last characters of the content, on one line: at most `limit`, and fewer of those beyond ASCII."""
    tail = content[-4 * limit :]
    begun = len(tail) - len(tail.lstrip(bytes(range(0x80, 0xC0))))
    text = tail[min(begun, 3) :].decode("utf-8", "replace")[-limit:]
    return visible(text if text.isascii() else text[-limit // 3 :])


class LineNumbers:
    """Numbers of lines for positions that only go forward, in one pass over the content."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0
        self._number = 1

    def at(self, position: int) -> int:
        """The number of the line that holds this position."""
        self._number += self._content.count(b"\n", self._position, position)
        self._position = position
        return self._number


def _up_to(number: int, found: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    for _, each in zip(range(number), found, strict=False):
        yield each
