"""One answer: a line that says where it is, what is shown, and how to go on, together within a number of tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from toolcrib_core import JsonObject, count_tokens
from toolcrib_mcp.views.cursors import Position, write_cursor
from toolcrib_mcp.views.failing import wrong
from toolcrib_mcp.views.selectors import Selector

DEFAULT_BUDGET: Final = 1_500
MIN_BUDGET: Final = 200
"""Below this many tokens there would be hardly room for more than the first and the last line."""
MAX_BUDGET: Final = 8_000

# What the first and the last line usually take; where they take more, the page is drawn again with less room.
_FRAME_TOKENS = 44
_STEP = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """One answer to a selector.

    `text` is all that a model needs, the cursor included, and never has more tokens than its budget. `block` is the
    content block of an image, a sound or a file that was asked for as such.
    """

    text: str
    cursor: str | None = None
    """What leads to the rest; None when nothing is left."""
    facts: JsonObject = field(default_factory=dict)
    """What is shown of how much."""
    block: JsonObject | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What a drawing gives: `where` it is, in words, and where the next one begins."""

    where: str
    body: str = ""
    facts: JsonObject = field(default_factory=dict)
    following: Position | None = None


def ranged(first: int, last: int) -> str:
    """From one number to another, as words say it."""
    return f"{first:,}\u2013{last:,}"


def drawn(draw: Callable[[int], Page], *, selector: Selector, handle: str, budget: int) -> View:
    """The page that `draw` gives within the budget.

    `draw` is told how many tokens its body may take, and asked again with less where the whole is too long.
    """
    room = budget - _FRAME_TOKENS
    while True:
        view = _put_together(draw(room), selector=selector, handle=handle)
        tokens = count_tokens(view.text)
        if tokens <= budget:
            return view
        room -= tokens - budget + _STEP
        if room < 1:
            raise wrong(
                "What was asked for does not fit into one answer.",
                hint=f"Ask for less at once, or allow more than {budget:,} tokens.",
            )


def _put_together(page: Page, *, selector: Selector, handle: str) -> View:
    cursor = None if page.following is None else write_cursor(page.following, handle=handle, selector=selector)
    going_on = "" if cursor is None else f'\n[more: cursor "{cursor}"]'
    text = f"[{page.where}]" + (f"\n{page.body}" if page.body else "") + going_on
    return View(text=text, cursor=cursor, facts=page.facts)
