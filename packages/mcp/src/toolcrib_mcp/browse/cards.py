"""What a page of cards says: tools with the parameters they need, and places that list more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

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
from toolcrib_mcp.rpc.codec import json_text
from toolcrib_mcp.views.visible import visible

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import HydrationResult

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
    room = CARD_TARGET_TOKENS - count_tokens(f"{node.path} — \n")
    said_in_short = truncate_description(said, max(1, room))
    for card in (bare.model_copy(update={"description": said_in_short}), bare):
        line = f"{card.id} — {card.description}" if card.description else card.id
        if count_tokens(f"{line}\n") <= CARD_MAX_TOKENS:
            return PageCard(card=card, line=line)
    return None


def whole_definition(tool: HydrationResult) -> tuple[str, str]:
    """All that a server says about a tool, nothing left out: its texts, and its schemas and annotations as JSON."""
    said = tool.tool
    texts = [tool.tool_id, *(str(said[name]) for name in ("title", "description") if isinstance(said.get(name), str))]
    data = {name: said[name] for name in ("inputSchema", "outputSchema", "annotations") if name in said}
    return visible("\n".join(texts)), visible(json_text(data))


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
