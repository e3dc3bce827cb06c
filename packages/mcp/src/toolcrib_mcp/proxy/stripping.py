"""Tools as a client first sees them: an id, one line of prose, and no schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

from toolcrib_core import CARD_MAX_TOKENS, ChoiceCard, count_tokens, truncate_description
from toolcrib_core.wire_names import MAX_WIRE_NAME_LENGTH
from toolcrib_mcp.catalog import CatalogSnapshot

NameForm: TypeAlias = Literal["id", "percent", "safe"]
"""How a tool is named in `tools/list`.

`id`: as it is, `github:create_issue@1.4.0`. `percent`: with `%3A`, `%40` and `%23` in place of `:`, `@` and `#`.
`safe`: as every model provider accepts it, `github__create_issue`. Whichever is served, all three are accepted back.
"""

SENTINEL: Final = {"type": "object"}
"""The schema of every stripped tool: it says nothing, so that nobody calls the tool by it."""

_MIN_DESCRIPTION_TOKENS: Final = 4
# Tokens can merge differently where the description meets the rest.
_SEAM: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class StrippedList:
    """The stripped tools of one moment, ascending by id."""

    snapshot: CatalogSnapshot
    ids: tuple[str, ...]
    entries: tuple[Mapping[str, Any], ...]
    """As they travel, in the order of the ids: not to be changed."""


class Stripper:
    """Strips the tools of a catalogue, and only those that changed since it did so last.

    There is no lock: two threads that ask at once may both strip, and either result is right.
    """

    def __init__(self, form: NameForm) -> None:
        self._form = form
        self._last: StrippedList | None = None
        self._made: dict[str, _Made] = {}

    def stripped(self, snapshot: CatalogSnapshot) -> StrippedList | None:
        """The listed tools of that moment, if they are stripped already."""
        last = self._last
        return last if last is not None and last.snapshot is snapshot else None

    def strip(self, snapshot: CatalogSnapshot) -> StrippedList:
        """The listed tools of that moment: 10,000 take up to a second of computing."""
        made = {tool_id: self._make(card, snapshot) for tool_id, card in snapshot.cards.items()}
        stripped = StrippedList(snapshot=snapshot, ids=tuple(made), entries=tuple(each.entry for each in made.values()))
        self._made, self._last = made, stripped
        return stripped

    def _make(self, card: ChoiceCard, snapshot: CatalogSnapshot) -> _Made:
        name = served_name(card.id, snapshot, form=self._form)
        # A card is cut for its id. What is sent is what is counted, so a longer name takes from the description, and
        # one that leaves nothing of it gives way to the shortest form.
        if name != card.id and len(name) > MAX_WIRE_NAME_LENGTH and _room(name) < _MIN_DESCRIPTION_TOKENS:
            name = served_name(card.id, snapshot, form="safe")
        before = self._made.get(card.id)
        if before is not None and before.card is card and before.entry["name"] == name:
            return before
        description = card.description if name == card.id else _cut(card.description, name)
        return _Made(card, {"name": name, "description": description, "inputSchema": dict(SENTINEL)})


class _Made(NamedTuple):
    """An entry, and the card it was made of."""

    card: ChoiceCard
    entry: Mapping[str, Any]


def served_name(tool_id: str, snapshot: CatalogSnapshot, *, form: NameForm) -> str:
    """The name of a tool in that form; one whose provider-safe name another tool has too is percent-encoded."""
    if form == "id":
        return tool_id
    if form == "safe" and tool_id in snapshot.wire_names:
        return snapshot.wire_names.encode(tool_id)
    return quote(tool_id, safe="")


def _cut(description: str, name: str) -> str:
    return truncate_description(description, max(_room(name), 1))


def _room(name: str) -> int:
    """How many tokens a name leaves for the description."""
    return CARD_MAX_TOKENS - count_tokens(f"{name} — \n") - _SEAM
