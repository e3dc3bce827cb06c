"""Parts of a summary put together within a number of tokens: whole lines are left out, and it says how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolcrib_core import JsonObject, count_tokens
from toolcrib_mcp.firewall.shown import clipped

MAX_LINES: Final = 40
"""How many lines a section need hold at most: more would fit into no budget that is in use."""

_NAME_CHARS = 32
_REMARK_TOKENS = 10
_NAMES_TOKENS = 24
_NAMES_TRIED = (40, 24, 16, 10, 6, 3)


@dataclass(frozen=True)
class Section:
    """Lines under a title, the most telling first unless `from_end`.

    `total` is how many things the lines come from, `things` what they are called where some are left out, `names`
    what each of them is called (in the order of the lines), so that those left out can at least be named.
    """

    title: str
    lines: Sequence[str]
    total: int = 0
    things: str = ""
    names: Sequence[str] = ()
    share: float = 1.0
    from_end: bool = False

    def rendered(self, taken: int, named: int) -> list[str]:
        """The title, as many of the lines, and a remark about the others."""
        if not taken:
            return []
        shown = self.lines[len(self.lines) - taken :] if self.from_end else self.lines[:taken]
        return [*([self.title] if self.title else []), *shown, *self._remark(taken, named)]

    def left_out(self, taken: int) -> int:
        """How many things are not among so many lines; 0 where the headline tells their number anyway."""
        return max(self.total - taken, 0) if self.things else 0

    def _remark(self, taken: int, named: int) -> list[str]:
        missing = self.left_out(taken)
        if not missing:
            return []
        names = [clipped(name, _NAME_CHARS) for name in self.names[taken : taken + named]]
        if not names:
            return [f"… {missing:,} more {self.things}"]
        return [f"… {missing:,} more {self.things}: {', '.join(names)}{', …' if missing > len(names) else ''}"]


@dataclass(frozen=True)
class Outline:
    """A summary that is not yet fitted: the headline, the sections, and the facts."""

    head: str
    sections: Sequence[Section]
    facts: JsonObject


def fitted(head: str, sections: Sequence[Section], *, budget: int) -> str:
    """The head and as many lines of the sections as the budget of tokens allows.

    Every section may first use its share of the room, then the earlier ones take what is left. A head that alone
    is too long is cut.
    """
    filled = [each for each in sections if each.lines]
    taken = _allotted(filled, budget - count_tokens(head) - 1)
    text = _rendered(head, filled, taken, [0] * len(filled))
    while count_tokens(text) > budget:
        last = next((index for index in reversed(range(len(taken))) if taken[index]), None)
        if last is None:
            return cut_to(head, budget)
        taken[last] -= 1
        text = _rendered(head, filled, taken, [0] * len(filled))
    return _with_names(head, filled, taken, text=text, budget=budget)


def cut_to(text: str, budget: int) -> str:
    """The beginning of the text within a number of tokens, with `…` where it was cut."""
    if count_tokens(text) <= budget:
        return text
    # Fewer characters can be more tokens, so that this may stop early; what it stops at has been counted.
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(clipped(text, middle)) <= budget else (low, middle - 1)
    return clipped(text, low) if low else ""


def _allotted(sections: Sequence[Section], room: int) -> list[int]:
    taken = [0] * len(sections)
    spent = [0] * len(sections)
    for within_share in (True, False):
        for index, section in enumerate(sections):
            left = room - sum(spent)
            allowed = min(left, int(room * section.share) - spent[index]) if within_share else left
            taken[index], cost = _take(section, taken[index], allowed)
            spent[index] += cost
    return taken


def _take(section: Section, already: int, allowed: int) -> tuple[int, int]:
    """How many lines fit into `allowed` tokens beyond those already taken, and what they cost."""
    order = section.lines[::-1] if section.from_end else section.lines
    cost = 0 if already else count_tokens(section.title) + 1
    taken = already
    remark = _REMARK_TOKENS + (min(_NAMES_TOKENS, allowed // 4) if section.names else 0)
    for line in order[already:MAX_LINES]:
        more = count_tokens(line) + 1
        if cost + more + (remark if section.left_out(taken + 1) else 0) > allowed:
            break
        cost += more
        taken += 1
    if taken == already:
        return already, 0
    return taken, cost + (_REMARK_TOKENS if section.left_out(taken) and not already else 0)


def _with_names(head: str, sections: Sequence[Section], taken: list[int], *, text: str, budget: int) -> str:
    named = [0] * len(sections)
    for index, section in enumerate(sections):
        if not (section.names and taken[index] and section.left_out(taken[index])):
            continue
        for number in _NAMES_TRIED:
            candidate = _rendered(head, sections, taken, [*named[:index], number, *named[index + 1 :]])
            if count_tokens(candidate) <= budget:
                named[index], text = number, candidate
                break
    return text


def _rendered(head: str, sections: Sequence[Section], taken: Sequence[int], named: Sequence[int]) -> str:
    parts = (each.rendered(*amounts) for each, *amounts in zip(sections, taken, named, strict=True))
    return "\n".join([head, *(line for part in parts for line in part)])
