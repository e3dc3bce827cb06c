"""Pages of bytes, exactly as they are: as text where all of it can be seen, else as base64."""

from __future__ import annotations

from base64 import b64encode

from toolcrib_core import JsonObject, count_tokens
from toolcrib_core.wording import count
from toolcrib_mcp.views.cursors import Position, foreign_cursor
from toolcrib_mcp.views.failing import wrong
from toolcrib_mcp.views.pages import Page, ranged
from toolcrib_mcp.views.selectors import Bytes
from toolcrib_mcp.views.text_pages import BYTES_PER_TOKEN, Span
from toolcrib_mcp.views.visible import character_end, decoded, encoded, fitting_length, is_visible

_GROUP = 3


def byte_span(content: bytes, selector: Bytes) -> Span:
    """The bytes that the selector means.

    Raises:
        ViewFailed: It begins behind the last of them.
    """
    if selector.start > max(len(content) - 1, 0):
        raise wrong(f"There is no byte {selector.start:,}: {_sized(content)}.", type_="bytes")
    return Span(selector.start, len(content) if selector.end is None else min(selector.end, len(content)))


def byte_page(content: bytes, span: Span, position: Position | None, *, room: int) -> Page:
    """The page of these bytes that begins at the position.

    Raises:
        ViewFailed: The position lies outside them.
    """
    begin = span.start if position is None else position.at
    if position is not None and not span.start < begin < span.end:
        raise foreign_cursor()
    body, end, encoding = _shown(content, begin, span.end, room)
    facts: JsonObject = {
        "unit": "bytes",
        "first": begin,
        "last": max(begin, end - 1),
        "total": len(content),
        "bytes": [begin, end],
        "encoding": encoding,
    }
    return Page(
        where=f"bytes {ranged(begin, max(begin, end - 1))} of {len(content):,} as {encoding}"
        if body
        else _sized(content),
        body=body,
        facts=facts,
        following=Position(end) if end < span.end else None,
    )


def _shown(content: bytes, start: int, end: int, room: int) -> tuple[str, int, str]:
    window = min(end, start + room * BYTES_PER_TOKEN)
    text = decoded(content[start : character_end(content, window) if window < end else window])
    if text and is_visible(text):
        text = text[: fitting_length(text, room)]
        return text, start + len(encoded(text)), "text"
    raw = content[start:window]
    low, high = 1, -(-len(raw) // _GROUP)
    while low < high:
        middle = (low + high + 1) // 2
        fits = count_tokens(b64encode(raw[: middle * _GROUP]).decode()) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    taken = raw[: low * _GROUP]
    return b64encode(taken).decode(), start + len(taken), "base64"


def _sized(content: bytes) -> str:
    return f"the content has {count(len(content), 'byte')}"
