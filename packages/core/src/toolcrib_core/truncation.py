"""Cutting text to a number of tokens: at the end of a sentence where one fits, else with an ellipsis."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from toolcrib_core.errors import CardOverBudget
from toolcrib_core.tokens import count_tokens, split_tokens
from toolcrib_core.tokens.vocabulary import LONGEST_TOKEN

ELLIPSIS = "…"

_SENTENCE_ENDS = frozenset(".!?")
# A prefix can have fewer tokens than its own beginning, because it is merged anew. Prefixes that reach this many tokens
# past the budget are still tried; the most that was seen to be saved, over 9 million hostile prefixes, is 2.
_MERGE_SLACK = 4
_ZERO_WIDTH_JOINER = "\u200d"
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
# Of one visible character, such as a family of emoji; a longer pile of marks is cut like any other text.
_MAX_CHARACTER_PARTS = 16


def truncate_description(text: str, budget: int) -> str:
    """The text itself when it has at most `budget` tokens, else a beginning of it that has.

    That is the longest prefix that ends in `.`, `!` or `?` and fits; where there is none, a cut at `budget - 1` tokens
    and `…`. The result is never empty unless the text is, never ends inside a character, and depends on nothing but
    the arguments. Only a beginning that could fit is split into tokens, however long the text is.

    Lone surrogates are not characters and are dropped.

    Raises:
        CardOverBudget: The budget is below one token.
    """
    if budget < 1:
        raise CardOverBudget(f"A text cannot be cut to {budget} tokens.", hint="Give it a budget of at least 1.")
    text = _valid_text(text)
    if len(text) <= LONGEST_TOKEN * budget and count_tokens(text) <= budget:
        return text
    window = text[: LONGEST_TOKEN * (budget + _MERGE_SLACK)]
    tokens = split_tokens(window)
    for sentences in _sentence_prefixes(_join(tokens[: budget + _MERGE_SLACK])):
        if count_tokens(sentences) <= budget:
            return sentences
    return _hard_cut(window, tokens, budget)


def _valid_text(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")


def _join(tokens: list[bytes]) -> str:
    # The text is valid UTF-8, so only the bytes of a last, cut character can be ignored here.
    return b"".join(tokens).decode("utf-8", "ignore")


def _sentence_prefixes(text: str) -> Iterator[str]:
    for end in range(len(text), 0, -1):
        if text[end - 1] in _SENTENCE_ENDS:
            yield text[:end]


def _hard_cut(text: str, tokens: list[bytes], budget: int) -> str:
    for kept in range(budget - 1, 0, -1):
        cut = _whole_characters(text, len(_join(tokens[:kept]))) + ELLIPSIS
        # The ellipsis can undo a merge before it, or a cut character leave more tokens than it had.
        if count_tokens(cut) <= budget:
            return cut
    return ELLIPSIS


def _whole_characters(text: str, end: int) -> str:
    """The text up to the last place at or before `end` where no visible character is cut, if there is one near."""
    for place in range(end, max(0, end - _MAX_CHARACTER_PARTS), -1):
        if text[place - 1] != _ZERO_WIDTH_JOINER and not _continues_character(text[place]):
            return text[:place]
    return text[:end].rstrip(_ZERO_WIDTH_JOINER)


def _continues_character(char: str) -> bool:
    return char == _ZERO_WIDTH_JOINER or char in _SKIN_TONES or unicodedata.category(char) in {"Mn", "Me"}
