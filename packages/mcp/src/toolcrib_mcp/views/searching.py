"""Pages of matches, each with its line number and the lines around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from toolcrib_core import JsonObject, count_tokens
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.lines import line_count
from toolcrib_mcp.views.cursors import Position, foreign_cursor
from toolcrib_mcp.views.match_lines import AROUND, LineNumbers, match_lines, shown_until
from toolcrib_mcp.views.matching import Match, TextFinder, finder
from toolcrib_mcp.views.pages import Page, ranged
from toolcrib_mcp.views.selectors import Search

PATIENCE: Final = 2.0
"""Seconds that one page may search; what is left then is searched for the next."""

# A match that fits no page is shown with less and less around it.
_NARROWER = (AROUND - 1, 40, 10, 0)


@dataclass(frozen=True, slots=True)
class _Hits:
    """The matches that one page may show, and the place behind them where something is left."""

    matches: tuple[Match, ...]
    following: int | None


class Searching:
    """One search, from one position on.

    Raises:
        ViewFailed: The pattern cannot be used, or the position lies outside the content.
    """

    def __init__(
        self,
        content: bytes,
        selector: Search,
        position: Position | None,
        *,
        budget: int,
        now: Callable[[], float],
    ) -> None:
        if position is not None and not 0 < position.at < len(content):
            raise foreign_cursor()
        self._content = content
        self._selector = selector
        self._finder = finder(content, selector)
        self._occurrences = self._finder.occurrences() if isinstance(self._finder, TextFinder) else None
        self._lines = line_count(content)
        self._begin = position or Position(0)
        self._now = now
        self._until = now() + PATIENCE
        # The shortest match takes four tokens: a number, a colon, a letter and a line break.
        most = budget // 4
        self._hits = self._found(most if selector.max is None else min(most, selector.max))

    def page(self, *, room: int) -> Page:
        """The page of as many of the matches as fit."""
        numbers = LineNumbers(self._content)
        lines: list[str] = []
        shown, left, after = 0, room, -1
        matches, following = self._hits.matches, self._hits.following
        for match in matches:
            block, ended = self._block(shown, AROUND, self._selector.context, after, numbers)
            cost = count_tokens("\n".join(block)) + 1
            if cost > left and shown:
                following = match.start
                break
            if cost > left:
                block, following = self._narrowed(numbers, room)
            lines, left, after, shown = lines + block, left - cost, ended, shown + 1
            if left < 0:
                break
        return self._page(lines, shown, following, numbers)

    def _found(self, most: int) -> _Hits:
        matches: list[Match] = []
        seen_until = -1
        for each in self._finder.matches(self._begin.at, self._is_late):
            if isinstance(each, int):
                return _Hits(tuple(matches), each)
            if each.end <= seen_until:
                # It stands in what is shown around the match before it.
                continue
            if len(matches) == most:
                return _Hits(tuple(matches), each.start)
            matches.append(each)
            seen_until = shown_until(self._content, each) if each.is_in_long_line else -1
        return _Hits(tuple(matches), None)

    def _is_late(self) -> bool:
        return self._now() > self._until

    def _block(self, number: int, around: int, context: int, after: int, numbers: LineNumbers) -> tuple[list[str], int]:
        matches = self._hits.matches
        until = matches[number + 1].line_start if number + 1 < len(matches) else len(self._content)
        return match_lines(
            self._content, matches[number], context=context, around=around, after=after, until=until, numbers=numbers
        )

    def _narrowed(self, numbers: LineNumbers, room: int) -> tuple[list[str], int | None]:
        """The first match without context, with as much around it as fits; and where the search goes on."""
        blocks = (self._block(0, around, 0, -1, numbers)[0] for around in _NARROWER)
        block = next((each for each in blocks if count_tokens(each[0]) < room), [])
        first = self._hits.matches[0]
        has_place = first.is_in_long_line and first.end > first.start
        behind = first.end if has_place else first.line_end + 1
        # Less is shown around it than was thought when the matches near it were passed over.
        following = next(self._finder.matches(behind, self._is_late), None)
        return block, following.start if isinstance(following, Match) else following

    def _page(self, lines: list[str], shown: int, following: int | None, numbers: LineNumbers) -> Page:
        before = self._begin.also
        facts: JsonObject = {"unit": "matches", "first": before, "last": max(before, before + shown - 1)}
        if self._occurrences is not None:
            facts["occurrences"] = self._occurrences
        return Page(
            where=self._where(shown, following, numbers),
            body="\n".join(lines),
            facts=facts | {"shown": shown, "lines": self._lines},
            following=None if following is None else Position(following, before + shown),
        )

    def _where(self, shown: int, following: int | None, numbers: LineNumbers) -> str:
        lines = count(self._lines, "line")
        before = self._begin.also
        if not shown and following is None:
            return f"no {'further ' if before else ''}match in {lines}"
        if not shown:
            return f"no match up to line {numbers.at(following or 0):,} of {lines}; the search has not ended"
        total = "" if self._occurrences is None else f"; {count(self._occurrences, 'occurrence')}"
        matches = f"matches {ranged(before + 1, before + shown)}" if shown > 1 else f"match {before + 1:,}"
        return f"{matches} in {lines}{total}"
