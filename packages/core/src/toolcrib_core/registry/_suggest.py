"""Did you mean: the few names closest to one that is not there, in bounded time."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable

MAX_SUGGESTIONS = 3

_MAX_COMPARED = 200
_MAX_LENGTH = 128
_SIMILAR = 0.7


def close_names(wanted: str, names: Iterable[str]) -> tuple[str, ...]:
    """Up to three of these `namespace:name` texts that look like the one wanted, the closest first."""
    wanted = wanted[:_MAX_LENGTH].lower()
    plausible = _plausible(wanted, names)
    tails: dict[str, list[str]] = {}
    for lowered in plausible:
        tails.setdefault(_tail(lowered), []).append(lowered)
    same_tail = tails.get(_tail(wanted), [])
    close = difflib.get_close_matches(wanted, plausible, MAX_SUGGESTIONS, _SIMILAR)
    close_tails = difflib.get_close_matches(_tail(wanted), tails, MAX_SUGGESTIONS, _SIMILAR)
    found = dict.fromkeys((*close[:1], *same_tail, *close, *(each for tail in close_tails for each in tails[tail])))
    return tuple(plausible[lowered] for lowered in found)[:MAX_SUGGESTIONS]


def _plausible(wanted: str, names: Iterable[str]) -> dict[str, str]:
    """The names worth comparing, by their lower-case text: all of them while they are few.

    One slip leaves at least one third of a long name whole, so a name that shares none of the three is not worth a
    comparison; looking for them takes a hundredth of the time that comparing would.
    """
    lowered = [(name.lower(), name) for name in names if len(name) <= _MAX_LENGTH]
    if len(lowered) > _MAX_COMPARED:
        first, second, third = _thirds(_tail(wanted))
        lowered = [pair for pair in lowered if first in pair[0] or second in pair[0] or third in pair[0]]
    nearest = heapq.nsmallest(_MAX_COMPARED, lowered, key=lambda pair: (abs(len(pair[0]) - len(wanted)), pair))
    return dict(reversed(nearest))


def _thirds(text: str) -> tuple[str, str, str]:
    third = -(-len(text) // 3)
    return text[:third], text[third : 2 * third] or text, text[2 * third :] or text


def _tail(name: str) -> str:
    return name.rpartition(":")[2]
