"""Choice cards: what a model reads of a tool before it asks for the schema, in a bounded number of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from toolcrib_core.card_text import MAX_TAG_LENGTH, MAX_TAGS, card_text, one_line
from toolcrib_core.definition import ToolDefinition, ToolKind
from toolcrib_core.errors import CardOverBudget, CatalogError
from toolcrib_core.tokens import count_tokens
from toolcrib_core.truncation import ELLIPSIS, truncate_description

CARD_TARGET_TOKENS = 60
CARD_MAX_TOKENS = 80
PREAMBLE_TOKENS = 32
MAX_NAME_LENGTH = 64

# A description keeps this much even where the id and tags leave less below the target.
_MIN_DESCRIPTION_TOKENS = 12


class ChoiceCard(BaseModel):
    """One tool as it stands in a list to choose from; it never holds a schema, an example or an address.

    Raises:
        CardOverBudget: The name is longer than 64 characters.
        CatalogError: The id or the description is not one line, or the tags are not at most five sorted short ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
    description: str
    tags: tuple[str, ...] = ()
    kind: ToolKind = "tool"
    namespace: str
    has_schema: bool = False
    score: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """How well it fits the query; in the JSON form only, never in the text."""
    cost_hint: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    side_effects: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.id or not self.id.isprintable() or " " in self.id:
            raise CatalogError("The id of a card must be one printable word.", details={"field": "id"})
        if len(self.name) > MAX_NAME_LENGTH:
            raise _over_budget(
                self.id, f"its name has {len(self.name)} characters, of at most {MAX_NAME_LENGTH}", "name"
            )
        if self.description != one_line(self.description):
            raise CatalogError(
                f"The card of `{self.id}` needs a description on one line.",
                hint="`one_line` makes it so.",
                details={"field": "description"},
            )
        if (
            len(self.tags) > MAX_TAGS
            or list(self.tags) != sorted(set(self.tags))
            or _longest(self.tags) > MAX_TAG_LENGTH
        ):
            raise CatalogError(
                f"The card of `{self.id}` has tags it cannot show.",
                hint=f"Give at most {MAX_TAGS} different tags of at most {MAX_TAG_LENGTH} characters, sorted.",
                details={"field": "tags"},
            )
        return self


def make_card(definition: ToolDefinition, *, score: float | None = None, withhold: Iterable[str] = ()) -> ChoiceCard:
    """The card of a tool, its description cut so that the rendered line has at most 60 tokens, or 80 at the very most.

    `withhold` names what must not be shown, such as the URL and the transport of the tool's server. No field but the
    description is shortened; tags that are too long are left out.

    Raises:
        CardOverBudget: The name is longer than 64 characters, or the card is over 80 tokens with no description left.
    """
    shown = card_text(definition, withhold=withhold)
    card = ChoiceCard(
        id=definition.id,
        name=definition.name,
        description=shown.description,
        tags=shown.tags,
        kind=definition.kind,
        namespace=definition.namespace,
        has_schema=not definition.input_schema.keys() <= {"$schema", "type"},
        score=score,
        cost_hint=definition.cost_hint,
        side_effects=definition.risk.effects == "write" or definition.risk.destructive,
    )
    return _with_description(card, _fitting_description(card))


def render_card(card: ChoiceCard) -> str:
    """The card as one line for a prompt, without a line break."""
    parts = [
        card.id,
        f"({card.kind})" if card.kind != "tool" else "",
        f"— {card.description}" if card.description else "",
        f"[{', '.join(card.tags)}]" if card.tags else "",
        "(side effects)" if card.side_effects else "",
        f"(cost {card.cost_hint:g})" if card.cost_hint > 0 else "",
    ]
    return " ".join(filter(None, parts))


def card_tokens(card: ChoiceCard) -> int:
    """What the rendered card costs, its line break included, so that the cards of a list add up exactly."""
    return count_tokens(f"{render_card(card)}\n")


def order_cards(cards: Iterable[ChoiceCard]) -> tuple[ChoiceCard, ...]:
    """The cards by descending score, those without one last, ties by ascending id."""
    return tuple(sorted(cards, key=lambda card: (card.score is None, -(card.score or 0.0), card.id)))


def render_cards(cards: Iterable[ChoiceCard], *, preamble: str = "", keep_order: bool = False) -> str:
    """The cards as text, one line each with its line break, after the preamble if there is one.

    They are put in the order of `order_cards` unless `keep_order` is set. n cards never take more than 80·n + 32
    tokens.

    Raises:
        CatalogError: The preamble is over 32 tokens.
        CardOverBudget: A card is over 80 tokens.
    """
    preamble_tokens = count_tokens(f"{preamble}\n") if preamble else 0
    if preamble_tokens > PREAMBLE_TOKENS:
        raise CatalogError(f"The preamble takes {preamble_tokens} tokens.", hint=f"Keep it to {PREAMBLE_TOKENS}.")
    lines = [preamble] if preamble else []
    for card in cards if keep_order else order_cards(cards):
        if card_tokens(card) > CARD_MAX_TOKENS:
            raise _over_budget(
                card.id, f"it takes {card_tokens(card)} tokens, of at most {CARD_MAX_TOKENS}", "description"
            )
        lines.append(render_card(card))
    return "".join(f"{line}\n" for line in lines)


def _fitting_description(card: ChoiceCard) -> str:
    # The ellipsis holds the place of a description of one token.
    fixed = card_tokens(_with_description(card, ELLIPSIS)) - 1
    limit = max(CARD_TARGET_TOKENS, min(fixed + _MIN_DESCRIPTION_TOKENS, CARD_MAX_TOKENS))
    room = limit - fixed
    while room > 0:
        description = truncate_description(card.description, room)
        excess = card_tokens(_with_description(card, description)) - limit
        if excess <= 0 and description != ELLIPSIS:
            return description
        # Tokens can merge differently where the description meets the rest.
        room -= max(excess, 1)
    raise _over_budget(card.id, f"its id and tags take {fixed} tokens, of at most {CARD_MAX_TOKENS} for all", "id")


def _with_description(card: ChoiceCard, description: str) -> ChoiceCard:
    return card.model_copy(update={"description": description})


def _longest(tags: tuple[str, ...]) -> int:
    return max(map(len, tags), default=0)


def _over_budget(tool_id: str, why: str, field: str) -> CardOverBudget:
    return CardOverBudget(
        f"`{tool_id}` has no card: {why}.",
        hint="Give the tool a shorter name or namespace; nothing but the description is ever shortened.",
        details={"tool": tool_id, "field": field},
    )
