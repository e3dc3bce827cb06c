"""Summaries of logs: how much of which level, when, what repeats, and where the first error stands."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import dataclass, field

from toolcrib_core import JsonObject
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.fitting import Outline, Section
from toolcrib_mcp.firewall.lines import first_lines, last_lines
from toolcrib_mcp.firewall.log_lines import BEGINNING, LEVELS, LineReader
from toolcrib_mcp.firewall.shown import clipped_bytes

_MESSAGE_BYTES = 160
_MAX_MESSAGES = 50_000
_SHOWN = 8
_EDGE_CHARS = 120
_JSON_MESSAGE = re.compile(rb'"(?:msg|message|event)": ?"([^"\\]{1,160})')
_VARIABLE = re.compile(rb"\b(?=[0-9a-fA-F-]{0,40}\d)[0-9a-fA-F][0-9a-fA-F-]{0,80}\b|\d+")
_ALIKE = bytes(ord("0") if chr(code) in "0123456789" else code for code in range(256))
_BAD = frozenset(LEVELS[: LEVELS.index("ERROR") + 1])


def summarised_log(content: bytes, *, size: int) -> Outline:
    """The outline of a log of `size` bytes."""
    read = _Pass()
    read.over(content)
    levels = {name: read.levels[name] for name in LEVELS if name in read.levels}
    statuses = dict(sorted(read.statuses.items()))
    span = f", {read.first_time} to {read.last_time}" if read.first_time else ""
    head = f"Log of {count(read.lines, 'line')}, {size:,} bytes{span}."
    counted = [
        f"{title}: {', '.join(f'{name} {number:,}' for name, number in counts.items())}."
        for title, counts in (("Levels", levels), ("Statuses", statuses))
        if counts
    ]
    facts: JsonObject = {
        "lines": read.lines,
        **({"levels": {**levels}} if levels else {}),
        **({"statuses": {**statuses}} if statuses else {}),
        **({"from": read.first_time, "to": read.last_time} if read.first_time else {}),
        **({"firstError": read.first_bad[0]} if read.bad else {}),
        "bytes": size,
    }
    return Outline(head, [Section("", counted), *_sections(content, read)], facts)


def _sections(content: bytes, read: _Pass) -> list[Section]:
    edges = [read.first_bad, read.last_bad] if read.bad > 1 else [read.first_bad] if read.bad else []
    first = first_lines(content, _SHOWN, limit=_EDGE_CHARS)
    last = [each for each in last_lines(content, _SHOWN, limit=_EDGE_CHARS) if each.number > len(first)]
    return [
        Section(
            "First and last error:" if read.bad > 1 else "The error:",
            [f"{number} {clipped_bytes(line)}" for number, line in edges],
            share=0.3,
        ),
        _repeated(read.messages),
        Section("First lines:", list(map(str, first)), share=0.2),
        Section("Last lines:", list(map(str, last)), share=0.2, from_end=True),
    ]


@dataclass
class _Pass:
    """One pass over the lines."""

    lines: int = 0
    bad: int = 0
    levels: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    messages: dict[bytes, list[int]] = field(default_factory=dict)
    first_time: str = ""
    last_time: str = ""
    first_bad: tuple[int, bytes] = (0, b"")
    last_bad: tuple[int, bytes] = (0, b"")

    def over(self, content: bytes) -> None:
        reader = LineReader(content)
        for number, line in enumerate(io.BytesIO(content), 1):
            self.lines = number
            self._line(reader, number, line[:BEGINNING])

    def _line(self, reader: LineReader, number: int, line: bytes) -> None:
        marks = reader.marks(line)
        if marks.time is not None:
            self.last_time = marks.time.decode()
            self.first_time = self.first_time or self.last_time
        if marks.level is not None:
            self.levels[marks.level] += 1
        elif marks.status is not None:
            self.statuses[marks.status] += 1
        if marks.level in _BAD:
            self.bad += 1
            self.last_bad = (number, line)
            self.first_bad = self.first_bad if self.first_bad[0] else self.last_bad
        self._message(number, line, marks.end)

    def _message(self, number: int, line: bytes, end: int) -> None:
        said = _JSON_MESSAGE.search(line) if line.startswith(b"{") else None
        message = said[1] if said is not None else line[end:_MESSAGE_BYTES]
        # Digits made alike first: this alone folds most lines, and what is left is few enough for a pattern.
        key = message.translate(_ALIKE)
        seen = self.messages.get(key)
        if seen is not None:
            seen[0] += 1
        elif len(self.messages) < _MAX_MESSAGES:
            self.messages[key] = [1, number]


def _repeated(messages: dict[bytes, list[int]]) -> Section:
    """The messages that come more than once, numbers and ids in them taken as equal."""
    folded: dict[bytes, list[int]] = {}
    for key, (times, first) in messages.items():
        template = _VARIABLE.sub(b"#", key).strip(b" \t\r\n-:|]")
        folded.setdefault(template, [0, first])[0] += times
    common = [(times, first, text) for text, (times, first) in folded.items() if times > 1 and text]
    common.sort(key=lambda each: (-each[0], each[1]))
    lines = [f"{times:,}x {clipped_bytes(text, 100)} (first: {first})" for times, first, text in common[:_SHOWN]]
    return Section("Repeated:", lines, total=len(common), things="repeated messages", share=0.35)
