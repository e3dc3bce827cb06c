"""Pages of text: whole lines as long as they fit; a line that fits no page comes in parts.

Everything works on bytes and decodes only what is shown, so that a page costs the same wherever it lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from toolcrib_core import JsonObject, count_tokens
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.lines import line_count
from toolcrib_mcp.views.cursors import Position, foreign_cursor
from toolcrib_mcp.views.failing import wrong
from toolcrib_mcp.views.json_cuts import json_cut
from toolcrib_mcp.views.pages import Page, ranged
from toolcrib_mcp.views.selectors import All, Head, Lines, Tail
from toolcrib_mcp.views.visible import character_end, decoded, encoded, fitting_length, visible

BYTES_PER_TOKEN = 16
"""How much of a line is looked at for each token of room; text that has more in a token is shown in smaller parts."""

_STRETCH = 64 * 1024


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes that a selector means."""

    start: int
    end: int


def text_span(content: bytes, selector: Head | Tail | Lines | All) -> Span:
    """The bytes that the selector means.

    Raises:
        ViewFailed: It means lines that do not exist.
    """
    match selector:
        case Head(chars=int(chars)):
            return Span(0, _characters_from_start(content, chars))
        case Head(lines=int(lines)):
            return Span(0, line_start(content, lines))
        case Tail(chars=int(chars)):
            return Span(_characters_from_end(content, chars), len(content))
        case Tail(lines=int(lines)):
            return Span(line_start(content, max(0, line_count(content) - lines)), len(content))
        case Lines(start=start, end=end):
            total = line_count(content)
            if start > max(total, 1):
                raise wrong(f"There is no line {start:,}: the content has {count(total, 'line')}.", type_="lines")
            return Span(line_start(content, start - 1), len(content) if end is None else line_start(content, end))
    return Span(0, len(content))


def line_start(content: bytes, number: int) -> int:
    """Where the line behind so many lines begins, or the end of the content."""
    at, left = _skipped(content, max(number, 0))
    for _ in range(left):
        at = content.find(b"\n", at) + 1
        if not at:
            return len(content)
    return min(at, len(content))


def text_page(content: bytes, span: Span, position: Position | None, *, room: int, is_json: bool) -> Page:
    """The page of this span that begins at the position; its second number is 1 inside a JSON string.

    Raises:
        ViewFailed: The position lies outside the span.
    """
    if span.start >= span.end:
        return Page(where=f"nothing: {count(len(content), 'byte')}", facts=_facts(content, span.start, span.start))
    begin = Position(span.start) if position is None else position
    if position is not None and not span.start < position.at < span.end:
        raise foreign_cursor()
    end, in_string = _end_of_page(content, begin, span.end, room=room, is_json=is_json)
    body = "".join(visible(text) for text in _shown_lines(content, begin.at, end))
    return Page(
        where=_where(content, begin.at, end),
        body=body.removesuffix("\n"),
        facts=_facts(content, begin.at, end),
        following=Position(end, int(in_string)) if end < span.end else None,
    )


def _end_of_page(content: bytes, begin: Position, end: int, *, room: int, is_json: bool) -> tuple[int, bool]:
    at, spent = begin.at, 0
    while at < end:
        window = min(end, at + room * BYTES_PER_TOKEN)
        line_end = content.find(b"\n", at, window) + 1 or window
        is_whole = line_end == end or content[line_end - 1] == 0x0A  # noqa: PLR2004  # a line feed
        spent += count_tokens(visible(_line(content, at, line_end))) if is_whole else room + 1
        if spent <= room:
            at = line_end
        elif at > begin.at:
            # A line that is too long begins a page of its own.
            return at, False
        else:
            return _part_of_line(content, begin, line_end, room=room, is_json=is_json)
    return end, False


def _part_of_line(content: bytes, begin: Position, end: int, *, room: int, is_json: bool) -> tuple[int, bool]:
    text = decoded(content[begin.at : max(character_end(content, end), begin.at + 1)])
    length, in_string = fitting_length(text, room), False
    if is_json:
        length, in_string = json_cut(text, length, in_string=bool(begin.also))
    return begin.at + len(encoded(text[:length])), in_string


def _shown_lines(content: bytes, at: int, end: int) -> Iterator[str]:
    while at < end:
        line_end = content.find(b"\n", at, end) + 1 or end
        yield _line(content, at, line_end)
        at = line_end


def _line(content: bytes, at: int, end: int) -> str:
    text = decoded(content[at:end])
    return f"{text[:-2]}\n" if text.endswith("\r\n") else text


def _where(content: bytes, start: int, end: int) -> str:
    first, last = _line_numbers(content, start, end)
    total = line_count(content)
    begins = start == 0 or content[start - 1] == 0x0A  # noqa: PLR2004  # a line feed
    ends = end == len(content) or content[end - 1] == 0x0A  # noqa: PLR2004  # a line feed
    lines = f"lines {ranged(first, last)} of {total:,}" if last > first else f"line {first:,} of {total:,}"
    if begins and ends:
        return lines
    parts = f", bytes {ranged(start, end - 1)} of {len(content):,}"
    return f"{lines}{parts}{'' if ends else '; the line goes on'}"


def _facts(content: bytes, start: int, end: int) -> JsonObject:
    first, last = _line_numbers(content, start, end)
    return {
        "unit": "lines",
        "first": first,
        "last": last,
        "total": line_count(content),
        "bytes": [start, end],
        "size": len(content),
    }


def _line_numbers(content: bytes, start: int, end: int) -> tuple[int, int]:
    first = content.count(b"\n", 0, start) + 1
    return first, first + content.count(b"\n", start, max(start, end - 1))


def _skipped(content: bytes, lines: int) -> tuple[int, int]:
    """A place from which fewer lines are left to pass: counting is a hundred times as fast as finding one by one."""
    at = 0
    while at < len(content):
        inside = content.count(b"\n", at, at + _STRETCH)
        if inside >= lines:
            break
        at, lines = at + _STRETCH, lines - inside
    return at, lines


def _characters_from_start(content: bytes, chars: int) -> int:
    at = 0
    while chars > 0 and at < len(content):
        wanted = min(chars, _STRETCH)
        text = decoded(content[at : character_end(content, min(len(content), at + 4 * wanted))])[:wanted]
        at += len(encoded(text))
        chars -= len(text)
    return at


def _characters_from_end(content: bytes, chars: int) -> int:
    at = len(content)
    while chars > 0 and at > 0:
        start = character_end(content, max(0, at - min(chars, _STRETCH)))
        chars -= len(decoded(content[start:at]))
        at = start
    return at
