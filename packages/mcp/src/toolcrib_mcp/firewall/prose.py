"""Summaries of plain text: paragraphs by their first sentences, or just lines."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field

from toolcrib_core import JsonObject
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.fitting import MAX_LINES, Outline, Section
from toolcrib_mcp.firewall.lines import NumberedLine, ending, first_lines, last_lines, line_count, word_count
from toolcrib_mcp.firewall.shown import clipped, clipped_bytes

_SENTENCE = re.compile(r".{1,160}?[.!?。！？](?=\s|$)")  # noqa: RUF001  # sentences end so in Chinese and Japanese
_SENTENCE_CHARS = 120
_HEADING_CHARS = 70
_MIN_HEADINGS = 3
_LINES_IN_PARAGRAPH = 12
_EDGE_LINES = 12
_LONG_LINE = 2_000
_END_CHARS = 100


@dataclass
class _Paragraphs:
    """How many paragraphs there are, how the first ones begin, and those that look like headings."""

    total: int = 0
    starts: list[NumberedLine] = field(default_factory=list)
    headings: list[NumberedLine] = field(default_factory=list)
    heading_total: int = 0


def summarised_prose(content: bytes, *, size: int) -> Outline:
    """The outline of a plain text of `size` bytes."""
    lines, words = line_count(content), word_count(content)
    if not words:
        return Outline(f"{'Blank' if content else 'Empty'} content, {count(size, 'byte')}.", [], {"bytes": size})
    read = _paragraphs(content)
    facts: JsonObject = {"lines": lines, "words": words, "paragraphs": read.total, "bytes": size}
    amounts = f"{count(lines, 'line')}, {count(words, 'word')}, {size:,} bytes"
    if lines > _LINES_IN_PARAGRAPH * read.total:
        return Outline(f"Text of {amounts}.", edge_sections(content), facts)
    return Outline(f"Text of {count(read.total, 'paragraph')}, {amounts}.", _outline(content, read), facts)


def edge_sections(content: bytes) -> list[Section]:
    """The first and the last lines; of one long line its end."""
    first = first_lines(content, _EDGE_LINES)
    last = [each for each in last_lines(content, _EDGE_LINES) if not first or each.number > first[-1].number]
    sections = [Section("First lines:", list(map(str, first)), share=0.6)]
    if last:
        return [*sections, Section("Last lines:", list(map(str, last)), share=0.4, from_end=True)]
    return [*sections, *_end_section(content)]


def _outline(content: bytes, read: _Paragraphs) -> list[Section]:
    if read.heading_total < _MIN_HEADINGS:
        begin = Section("Paragraphs begin:", list(map(str, read.starts)), read.total, "paragraphs")
        return [begin, *(_end_section(content) if read.total == 1 else [])]
    numbers = {each.number for each in read.headings}
    texts = [str(each) for each in read.starts if each.number not in numbers]
    lines = list(map(str, read.headings))
    return [
        Section("Headings, it seems:", lines, read.heading_total, "headings", share=0.6),
        Section("Paragraphs begin:", texts, read.total - read.heading_total, "paragraphs"),
    ]


def _end_section(content: bytes) -> list[Section]:
    last = content[content.rstrip().rfind(b"\n") + 1 :]
    return [Section("It ends:", [f"…{ending(last.rstrip(), _END_CHARS)}"])] if len(last) > _LONG_LINE else []


def _paragraphs(content: bytes) -> _Paragraphs:
    read = _Paragraphs()
    after_blank = True
    alone: NumberedLine | None = None
    for number, line in enumerate(io.BytesIO(content), 1):
        if line.isspace():
            if alone is not None:
                read.heading_total += 1
                read.headings.extend([alone] if len(read.headings) < MAX_LINES else [])
            after_blank, alone = True, None
            continue
        alone = _as_heading(number, line) if after_blank else None
        if after_blank:
            read.total += 1
            if len(read.starts) < MAX_LINES:
                read.starts.append(NumberedLine(number, _first_sentence(line)))
        after_blank = False
    return read


def _as_heading(number: int, line: bytes) -> NumberedLine | None:
    if len(line) > _HEADING_CHARS or line.rstrip()[-1:] in b".,;:!?":
        return None
    return NumberedLine(number, clipped_bytes(line, _HEADING_CHARS))


def _first_sentence(line: bytes) -> str:
    text = line[: 4 * _SENTENCE_CHARS + 4].decode("utf-8", "replace").strip()
    sentence = _SENTENCE.match(text)
    return clipped(sentence[0] if sentence is not None else text, _SENTENCE_CHARS)
