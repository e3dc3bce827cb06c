"""How a match is shown: its line behind its number, or what stands around it in a long line, between other lines."""

from __future__ import annotations

from typing import Final

from toolcrib_mcp.views.matching import Match
from toolcrib_mcp.views.visible import character_end, decoded, visible

AROUND: Final = 120
"""Bytes shown on both sides of a match in a long line."""

_CONTEXT_BYTES = 200
_LEAST_BYTES = 12


class LineNumbers:
    """Numbers of the lines in which places lie; near places are counted from each other."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place, self._number = 0, 1

    def at(self, place: int) -> int:
        """The number of the line in which this place lies."""
        low, high = sorted((place, self._place))
        passed = self._content.count(b"\n", low, high)
        self._number += passed if place > self._place else -passed
        self._place = place
        return self._number


def shown_until(content: bytes, match: Match) -> int:
    """Up to where content is shown with this match, when there is room."""
    return _span(content, match, AROUND)[1]


def match_lines(
    content: bytes, match: Match, *, context: int, around: int, after: int, until: int, numbers: LineNumbers
) -> tuple[list[str], int]:
    """The lines for one match, and the end of the last of them.

    Lines around it are taken only behind `after`, where the last match has ended, and before `until`, where the line
    of the next one begins.
    """
    before = _lines_before(content, match.line_start, context, after)
    behind = _lines_behind(content, match.line_end, context, until)
    lines = ["--"] if context and after >= 0 and (before[0][0] if before else match.line_start) > after + 1 else []
    lines += [_context_line(content, *each, numbers) for each in before]
    lines.append(_match_line(content, match, around, numbers))
    lines += [_context_line(content, *each, numbers) for each in behind]
    return lines, behind[-1][1] if behind else match.line_end


def _lines_before(content: bytes, at: int, number: int, after: int) -> list[tuple[int, int]]:
    lines: list[tuple[int, int]] = []
    while len(lines) < number and at > max(after + 1, 0):
        start = content.rfind(b"\n", 0, at - 1) + 1
        lines.append((start, at - 1))
        at = start
    return lines[::-1]


def _lines_behind(content: bytes, at: int, number: int, until: int) -> list[tuple[int, int]]:
    lines: list[tuple[int, int]] = []
    while len(lines) < number and at + 1 < until:
        start, end = at + 1, content.find(b"\n", at + 1)
        at = len(content) if end < 0 else end
        lines.append((start, at))
    return lines


def _context_line(content: bytes, start: int, end: int, numbers: LineNumbers) -> str:
    cut = character_end(content, min(end, start + _CONTEXT_BYTES))
    return f"{numbers.at(start)}- {_text(content, start, cut)}{'…' if cut < end else ''}"


def _match_line(content: bytes, match: Match, around: int, numbers: LineNumbers) -> str:
    number = numbers.at(match.line_start)
    if not match.is_in_long_line and around >= AROUND:
        return f"{number}: {_text(content, match.line_start, match.line_end)}"
    start, end = _span(content, match, around)
    before, behind = "…" if start > match.line_start else "", "…" if end < match.line_end else ""
    return f"{number} (byte {match.start}): {before}{_text(content, start, end)}{behind}"


def _span(content: bytes, match: Match, around: int) -> tuple[int, int]:
    start = character_end(content, max(match.line_start, match.start - around))
    # Where there is little room, there is little for the match itself, too.
    longest = match.end if around >= AROUND else match.start + 2 * around + _LEAST_BYTES
    return start, character_end(content, min(match.line_end, min(match.end, longest) + around))


def _text(content: bytes, start: int, end: int) -> str:
    return visible(decoded(content[start:end]).removesuffix("\r"))
