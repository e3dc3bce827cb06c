"""What a model is told in place of a large result, within a number of tokens for all that is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_core import ToolError, count_tokens, truncate_description
from toolcrib_core.wording import count
from toolcrib_mcp.firewall import SELECTOR_TOKENS, ContentKind, Summary, selectors_for, summarise
from toolcrib_mcp.gateway.parts import Part
from toolcrib_store import ArtifactInfo

MAX_NAMED: Final = 3
"""So many parts are told of each by itself; of more there is a list to look into."""

# What one part takes beside its summary, usually and at most: the line about selectors and its label. The list of all
# parts takes less.
_FRAME = 60
_MOST_FRAME = SELECTOR_TOKENS + 20
_LABEL = 12
_HEAD = 32
_LEAST_SUMMARY = 32
# Facts alone need no words.
_NO_WORDS = 24


@dataclass(frozen=True, kw_only=True)
class Digested:
    """The parts of a result with what is said about each, before they are kept."""

    parts: Sequence[Part]
    summaries: Sequence[Summary]
    named: int
    """So many of them, from the first on, are told of by themselves."""
    passing: int
    """So many blocks are sent as they are."""


def digest(parts: Sequence[Part], *, budget: int, passing: int) -> Digested:
    """Summarise the parts so that all that is told of them fits; those that are not named get facts alone."""
    named, room = _shares(len(parts), budget)
    summaries = [
        summarise(each.content, each.kind, media_type=each.media_type, budget=room if number < named else _NO_WORDS)
        for number, each in enumerate(parts)
    ]
    return Digested(parts=parts, summaries=summaries, named=named, passing=passing)


def tell_kept(digested: Digested, kept: Sequence[ArtifactInfo], *, index: ArtifactInfo | None, budget: int) -> str:
    """What is told of parts that were kept, the first of them by name and all of them by the index."""
    summaries = [each.text for each in digested.summaries[: digested.named]]
    text = _kept_text(digested, kept, index, summaries)
    excess = count_tokens(text) - budget
    while excess > 0 and any(summaries):
        # The longest gives way: it is the one that says most about the least of the whole.
        longest = max(range(len(summaries)), key=lambda number: count_tokens(summaries[number]))
        summaries[longest] = _shorter(digested.parts[longest], count_tokens(summaries[longest]) - excess)
        text = _kept_text(digested, kept, index, summaries)
        excess = count_tokens(text) - budget
    return text


def tell_lost(digested: Digested, *, problem: ToolError, retryable: bool, budget: int) -> str:
    """What is told of parts that could not be kept: as much as a result that is sent whole may have."""
    size = sum(len(each.content) for each in digested.parts)
    message = truncate_description(problem.message, _HEAD)
    head = (
        f"The tool answered, but its result of {size:,} bytes is too large to send and could not be stored: {message} "
        f"Only this summary is left. {'Call the tool again later, or ask' if retryable else 'Ask'} it for less."
    )
    room = budget - count_tokens(head) - 2
    part = digested.parts[0]
    words = summarise(part.content, part.kind, media_type=part.media_type, budget=max(room, _LEAST_SUMMARY)).text
    return f"{head}\n{words}"


def selectors_of(part: Part, facts: Mapping[str, Any], info: ArtifactInfo) -> str:
    """How to look into a part that was kept."""
    return selectors_for(part.kind, facts, info.handle)


def _shares(number: int, budget: int) -> tuple[int, int]:
    """How many parts are named, and how many tokens the summary of each may have."""
    for named in range(min(number, MAX_NAMED), 0, -1):
        framed = named + (number > named)
        room = (budget - _HEAD - framed * _FRAME) // named
        if room >= _LEAST_SUMMARY and _HEAD + framed * _MOST_FRAME <= budget:
            return named, room
    return 1, _LEAST_SUMMARY


def _kept_text(
    digested: Digested, kept: Sequence[ArtifactInfo], index: ArtifactInfo | None, summaries: Sequence[str]
) -> str:
    number = len(digested.parts)
    in_parts = f" in {number:,} parts" if number > 1 else ""
    but = f", but for {count(digested.passing, 'block')} below" if digested.passing else ""
    lines = [f"The result is too large to send and was kept{in_parts}{but}; read what you need of it with tool_view."]
    for place, words in enumerate(summaries):
        part, facts = digested.parts[place], digested.summaries[place].facts
        head = f"Part {place + 1}, {truncate_description(part.label, _LABEL)}: " if number > 1 else ""
        lines += [f"{head}{words}".rstrip(), selectors_of(part, facts, kept[place])]
    if index is not None:
        rest = count(number - len(summaries), "more part")
        lines += [f"And {rest}, all listed here:", selectors_for(ContentKind.RECORDS, index.facts, index.handle)]
    return "\n".join(filter(None, lines))


def _shorter(part: Part, budget: int) -> str:
    if budget < _LEAST_SUMMARY:
        return ""
    return summarise(part.content, part.kind, media_type=part.media_type, budget=budget).text
