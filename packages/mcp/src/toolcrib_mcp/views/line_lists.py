"""Pages of short lines that are made one by one, as of keys or of a shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolcrib_core import JsonObject, count_tokens
from toolcrib_mcp.views.cursors import Position, foreign_cursor
from toolcrib_mcp.views.pages import Page, ranged
from toolcrib_mcp.views.visible import fitting_length


def line_list_page(
    made: Sequence[Callable[[], str]], position: Position | None, *, thing: str, about: str = "", room: int
) -> Page:
    """The page of these lines that begins at the position.

    Raises:
        ViewFailed: The position lies behind the last line.
    """
    total = len(made)
    begin = 0 if position is None else position.at
    if position is not None and not 0 < begin < total:
        raise foreign_cursor()
    lines: list[str] = []
    left = room
    for number in range(begin, min(total, begin + room)):
        line = made[number]()
        left -= count_tokens(line) + 1
        if left < 0 and lines:
            break
        lines.append(line if left >= 0 else f"{line[: fitting_length(line, room // 2)]}…")
    end = begin + len(lines)
    facts: JsonObject = {"unit": thing, "first": begin, "last": max(end - 1, 0), "total": total}
    return Page(
        where=f"{thing} {ranged(begin, end - 1)} of {total:,}{about}" if total else f"no {thing}{about}",
        body="\n".join(lines),
        facts=facts,
        following=Position(end) if end < total else None,
    )
