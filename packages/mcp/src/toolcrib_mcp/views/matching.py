"""Finding a text or a pattern in content, in time linear in its length, whatever the pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol

from toolcrib_core.schema.patterns import linear_matcher
from toolcrib_mcp.views.failing import wrong
from toolcrib_mcp.views.selectors import Search
from toolcrib_mcp.views.visible import character_end, decoded, encoded, replaced

LONG_LINE: Final = 400
"""A line of more bytes is shown around each match, a shorter one whole."""

MAX_ANCHORED: Final = 16 * 1024
"""Patterns that mean the beginning or end of a line or word are not looked for in lines of more bytes."""

MAX_MATCH: Final = 4_096
"""How long a match of a pattern may be in a line that is too long to be looked at whole."""

# Bytes of the compiled pattern. At this size the worst pattern was seen to take 40 µs for each byte of text.
_SIZE_LIMIT = 128 * 1024
_BLOCK = 2 * MAX_MATCH
_NEAR = 32
_ANCHOR = re.compile(r"[\^$]|\\[bBAzZ<>]")
_UNSURE = re.compile(r"\\[AzZ<>]|\(\?[a-zA-Z]*-")


@dataclass(frozen=True, slots=True)
class Match:
    """One match: its bytes, and those of its line without the line break."""

    start: int
    end: int
    line_start: int
    line_end: int

    @property
    def is_in_long_line(self) -> bool:
        """Whether the line is shown only around the match."""
        return self.line_end - self.line_start > LONG_LINE


class Finder(Protocol):
    """Finds matches in content; those in one short line count as one."""

    def matches(self, at: int, tick: Callable[[], bool]) -> Iterator[Match | int]:
        """The matches from a place on.

        When `tick` says that it is time to stop, the place up to which all was searched comes as a number; who asks on
        all the same gets the rest.
        """


def finder(content: bytes, selector: Search) -> Finder:
    """What finds the matches of the selector.

    Raises:
        ViewFailed: The pattern cannot be matched in linear time, or matches everything.
    """
    if selector.text is not None and not (selector.ignore_case and not selector.text.isascii()):
        return TextFinder(content, selector.text, ignore_case=selector.ignore_case)
    pattern = re.escape(selector.text) if selector.text is not None else selector.pattern or ""
    return PatternFinder(content, f"(?i){pattern}" if selector.ignore_case else pattern)


class TextFinder:
    """Finds a text, byte by byte."""

    def __init__(self, content: bytes, text: str, *, ignore_case: bool) -> None:
        self._content = content
        self._searched = content.lower() if ignore_case else content
        self._wanted = text.lower().encode() if ignore_case else text.encode()

    def occurrences(self) -> int:
        """How often the text occurs."""
        return self._searched.count(self._wanted)

    def matches(self, at: int, tick: Callable[[], bool]) -> Iterator[Match | int]:
        """The matches from a place on; this is fast enough never to stop."""
        del tick
        line = (0, -1)
        while (start := self._searched.find(self._wanted, at)) >= 0:
            if start > line[1]:
                line = _line(self._content, start)
            match = Match(start, start + len(self._wanted), *line)
            yield match
            at = match.end if match.is_in_long_line else match.line_end + 1


class PatternFinder:
    """Finds a pattern, line by line, with an engine that never goes back."""

    def __init__(self, content: bytes, pattern: str) -> None:
        self._content = content
        self._accepts = _matcher(pattern)
        self._is_anchored = _ANCHOR.search(pattern.replace("[^", "[")) is not None
        # A block of lines matches whenever one of them does, so that most blocks can be passed over; anchors must then
        # be those of lines. None where that is not sure.
        self._accepts_block = None if _UNSURE.search(pattern) else _matcher(f"(?m){pattern}")
        if not self._is_anchored and self._accepts(""):
            raise wrong("The pattern matches even nothing, so that it would find everything.", type_="search")

    def matches(self, at: int, tick: Callable[[], bool]) -> Iterator[Match | int]:
        """The matches from a place on."""
        while at < len(self._content):
            line_end = _line_end(self._content, at)
            if line_end - at <= _BLOCK:
                at, block = self._block_end(at), at
                yield from self._in_block(block, at)
            elif self._is_anchored:
                if line_end - at <= MAX_ANCHORED:
                    yield from self._in_line(at, line_end)
                at = line_end + 1
            else:
                yield from self._in_long_line(at, line_end, tick)
                at = line_end + 1
            # Behind a step, never before it, so that every page gets on.
            if at < len(self._content) and tick():
                yield at

    def _block_end(self, at: int) -> int:
        """The end of the last whole line in the block that begins here, or of the content."""
        if len(self._content) - at <= _BLOCK:
            return len(self._content)
        return self._content.rfind(b"\n", at, at + _BLOCK + 1) + 1

    def _in_block(self, at: int, end: int) -> Iterator[Match]:
        block = replaced(decoded(self._content[at:end])).replace("\r\n", "\n")
        if self._accepts_block is not None and not self._accepts_block(block):
            return
        while at < end:
            line_end = _line_end(self._content, at)
            yield from self._in_line(at, line_end)
            at = line_end + 1

    def _in_line(self, at: int, end: int) -> Iterator[Match]:
        if not self._accepts(replaced(decoded(self._content[at:end])).removesuffix("\r")):
            return
        match = Match(at, at, *_line(self._content, at))
        if match.is_in_long_line and not self._is_anchored:
            yield from (each for each in self._in_long_line(at, end, lambda: False) if isinstance(each, Match))
        else:
            yield match

    def _in_long_line(self, at: int, end: int, tick: Callable[[], bool]) -> Iterator[Match | int]:
        line = _line(self._content, at)
        while True:
            stop = character_end(self._content, min(end, at + _BLOCK))
            text, place = decoded(self._content[at:stop]), 0
            clean = replaced(text)
            while (found := self._first_in(clean[place:])) is not None:
                start = at + len(encoded(text[place : place + found[0]]))
                at = start + len(encoded(text[place + found[0] : place + found[1]]))
                place += found[1]
                yield Match(start, at, *line)
            if stop == end:
                return
            # A match may lie across the border.
            at = max(at, character_end(self._content, stop - MAX_MATCH))
            if tick():
                yield at

    def _first_in(self, text: str) -> tuple[int, int] | None:
        """The match that ends first: the shortest beginning that matches, and of that the shortest ending."""
        if not self._accepts(text):
            return None
        near = _NEAR
        while near < len(text) and not self._accepts(text[:near]):
            near *= _NEAR
        end = _least(min(near, len(text)), lambda length: self._accepts(text[:length]))
        behind = _least(end, lambda length: self._accepts(text[end - length : end]))
        return end - behind, end


@lru_cache(maxsize=32)
def _matcher(pattern: str) -> Callable[[str], bool]:
    found = linear_matcher(pattern, size_limit=_SIZE_LIMIT)
    if found is None:
        raise wrong(
            "The pattern cannot be matched in linear time, or is not a pattern.",
            hint="Leave out look-around and backreferences, keep repetitions such as `{1,50}` small, check the syntax; "
            "or search for a plain `text`.",
            type_="search",
        )
    return found


def _least(most: int, holds: Callable[[int], bool]) -> int:
    """The least number up to `most` that holds, where all greater ones do."""
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _line(content: bytes, at: int) -> tuple[int, int]:
    """Where the line with this place begins and ends."""
    return content.rfind(b"\n", 0, at) + 1, _line_end(content, at)


def _line_end(content: bytes, at: int) -> int:
    end = content.find(b"\n", at)
    return len(content) if end < 0 else end
