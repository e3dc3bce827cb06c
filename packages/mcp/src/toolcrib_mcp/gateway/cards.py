"""What a page of cards says: tools with the parameters they need, and places that list more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_core import (
    CARD_MAX_TOKENS,
    CARD_TARGET_TOKENS,
    ChoiceCard,
    JsonObject,
    TreeNode,
    count_tokens,
    render_card,
    truncate_description,
)
from toolcrib_core.wording import count

MAX_NEEDED: Final = 8
"""Of a tool that needs more parameters, so many are named."""

_MAX_NAME = 64
_MAX_PARAMETER = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class PageCard:
    """A card and its line on a page, which never has more than 80 tokens with its line break."""

    card: ChoiceCard
    line: str

    def to_json(self) -> dict[str, Any]:
        """The card as JSON, without what it does not have."""
        return self.card.model_dump(mode="json", exclude_none=True)


def tool_card(card: ChoiceCard, input_schema: JsonObject) -> PageCard:
    """The line of a tool: its card, and the parameters it needs where the budget allows."""
    line = render_card(card)
    for names in _shorter(_needed(input_schema)):
        with_needed = f"{line} (needs {names})"
        if count_tokens(f"{with_needed}\n") <= CARD_MAX_TOKENS:
            return PageCard(card=card, line=with_needed)
    return PageCard(card=card, line=line)


def node_card(node: TreeNode) -> PageCard | None:
    """The line of a place: its path, how many tools are below it, and a few of their names.

    One whose path alone is over the budget of a card has none: it is on no page, and its tools are found by search.
    """
    said = f"{count(node.count, 'tool')}: {', '.join(node.examples)}" if node.examples else count(node.count, "tool")
    bare = ChoiceCard(
        id=node.path, name=node.label[:_MAX_NAME], description="", kind="internal", namespace=node.namespace or ""
    )
    room = CARD_TARGET_TOKENS - count_tokens(f"{render_card(bare)} — \n")
    said_in_short = truncate_description(said, max(1, room))
    for card in (bare.model_copy(update={"description": said_in_short}), bare):
        line = render_card(card)
        if count_tokens(f"{line}\n") <= CARD_MAX_TOKENS:
            return PageCard(card=card, line=line)
    return None


def _needed(input_schema: JsonObject) -> list[str]:
    required, properties = input_schema.get("required"), input_schema.get("properties")
    if not isinstance(required, Iterable) or not isinstance(properties, Mapping):
        return []
    names = (each for each in required if isinstance(each, str) and each in properties)
    return [each for each in names if len(each) <= _MAX_PARAMETER and each.isprintable()]


def _shorter(names: list[str]) -> Iterable[str]:
    """The names, then fewer and fewer of them; what is left out is said."""
    shown = min(len(names), MAX_NEEDED)
    while shown:
        rest = len(names) - shown
        yield ", ".join(names[:shown]) + (f" and {rest} more" if rest else "")
        shown //= 2
