"""One part of one artifact's content, within a number of tokens: the way from a selector to its answer."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.views import selectors as known
from toolcrib_mcp.views.blocks import raw_view
from toolcrib_mcp.views.byte_pages import byte_page, byte_span
from toolcrib_mcp.views.cursors import Position, foreign_cursor, read_cursor
from toolcrib_mcp.views.failing import fitting_types, unfit, wrong
from toolcrib_mcp.views.json_pages import found_page, value_page
from toolcrib_mcp.views.json_pointers import follow
from toolcrib_mcp.views.json_values import json_value
from toolcrib_mcp.views.line_lists import line_list_page
from toolcrib_mcp.views.outlines import MAX_VISITED, column_lines, key_lines, shape_lines
from toolcrib_mcp.views.pages import DEFAULT_BUDGET, MAX_BUDGET, MIN_BUDGET, Page, View, drawn
from toolcrib_mcp.views.row_pages import row_view
from toolcrib_mcp.views.row_sources import row_source
from toolcrib_mcp.views.searching import Searching
from toolcrib_mcp.views.selectors import Selector, type_of
from toolcrib_mcp.views.text_pages import text_page, text_span
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.errors import JsonPathError
from toolcrib_runtime.json_paths import find_values, parse_json_path


def view(
    content: bytes,
    kind: ContentKind,
    selector: Selector,
    *,
    media_type: str | None = None,
    handle: str,
    cursor: str | None = None,
    budget: int = DEFAULT_BUDGET,
    clock: Clock = SYSTEM_CLOCK,
) -> View:
    """The part of the content that the selector means, or of that the page to which a cursor leads.

    The answer never has more than `budget` cl100k_base tokens, and a cursor when something is left. Following cursors
    shows everything that the selector means once, whatever the budgets. `clock` only decides when a slow search is
    broken off and left to the next page. Reading 64 MB takes seconds: call it in a thread.

    Raises:
        ViewFailed: The selector does not fit this content, or the cursor does not fit the selector.
    """
    if not MIN_BUDGET <= budget <= MAX_BUDGET:
        raise wrong(f"An answer may have from {MIN_BUDGET:,} to {MAX_BUDGET:,} tokens.")
    if type_of(selector) not in fitting_types(kind):
        raise unfit(type_of(selector), kind)
    position = None if cursor is None else read_cursor(cursor, handle=handle, selector=selector)
    if isinstance(selector, known.Raw):
        if position is not None:
            raise foreign_cursor()
        return raw_view(content, kind, media_type=media_type, handle=handle)
    draw = _drawing(content, kind, selector, position, budget=budget, clock=clock)
    return drawn(draw, selector=selector, handle=handle, budget=budget)


def _drawing(
    content: bytes, kind: ContentKind, selector: Selector, position: Position | None, *, budget: int, clock: Clock
) -> Callable[[int], Page]:
    """What draws the page within a number of tokens; all that does not depend on the number is done before."""
    match selector:
        case known.Head() | known.Tail() | known.Lines() | known.All():
            span = text_span(content, selector)
            # Where the text begins inside of a line, nobody knows whether that is inside of a string.
            is_json = kind.is_json and not (isinstance(selector, known.Tail) and selector.chars is not None)
            return lambda room: text_page(content, span, position, room=room, is_json=is_json)
        case known.Bytes():
            wanted = byte_span(content, selector)
            return lambda room: byte_page(content, wanted, position, room=room)
        case known.Search():
            searching = Searching(content, selector, position, budget=budget, now=clock.monotonic)
            return lambda room: searching.page(room=room)
        case known.Rows():
            rows = row_view(row_source(content, kind, selector.pointer), selector, position, budget=budget)
            return lambda room: rows.page(position, room=room)
        case known.Keys() | known.Shape() if kind is ContentKind.TABLE:
            columns, about = column_lines(row_source(content, kind, selector.pointer))
            return lambda room: line_list_page(columns, position, thing="columns", about=about, room=room)
    return _json_drawing(content, selector, position)


def _json_drawing(content: bytes, selector: Selector, position: Position | None) -> Callable[[int], Page]:
    match selector:
        case known.Pointer(pointer=pointer):
            value = follow(json_value(content), pointer, type_="pointer")
            return lambda room: value_page(value, pointer, position, room=room)
        case known.Path(path=path):
            try:
                found = find_values(json_value(content), parse_json_path(path))
            except JsonPathError as error:
                raise wrong(error.message, hint=f"{error.hint} Or use `rows` or `search`.", type_="path") from None
            return lambda room: found_page(found, position, room=room)
        case known.Keys(pointer=pointer):
            keys = key_lines(follow(json_value(content), pointer, type_="keys"))
            return lambda room: line_list_page(keys, position, thing="keys", room=room)
        case known.Shape(pointer=pointer):
            shape, is_all = shape_lines(follow(json_value(content), pointer, type_="shape"))
            about = "" if is_all else f", of the first {MAX_VISITED:,} values only"
            return lambda room: line_list_page(shape, position, thing="places", about=about, room=room)
    raise AssertionError(selector)  # pragma: no cover  # every selector is named above
