"""The tools that each client has seen, hydrated or executed at any replica."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import orjson

from toolcrib_core import ChoiceCard
from toolcrib_mcp.browse.cards import PageCard
from toolcrib_mcp.browse.seen import arranged
from toolcrib_mcp.shared.notes import Notes

if TYPE_CHECKING:
    from toolcrib_store import Store

SECONDS: Final = 86_400.0
"""How long a card is remembered after a client has seen it last; it may be forgotten after half of that."""


class SharedSeenCards:
    """As `SeenCards`, in the database that replicas share; it asks the database, so call it in a thread."""

    def __init__(self, store: Store) -> None:
        self._cards = Notes(store, kind="seen")
        self._used = Notes(store, kind="used")

    def arrange(self, client: str, page: Sequence[PageCard]) -> list[PageCard]:
        """The page for this client, as that of `SeenCards`.

        Raises:
            StoreError: The database failed.
        """
        before, _ = self._cards.add(client, {each.card.id: _written(each) for each in page}, seconds=SECONDS)
        known = {tool_id: _read(content) for tool_id, content in before.items()}
        used = self._used.every(client, [each.card.id for each in page if each.card.id not in known])
        return arranged(page, known | {each.card.id: each for each in page if each.card.id in used})

    def note_used(self, client: str, tool_id: str) -> None:
        """Count a tool that was hydrated or executed as seen.

        Raises:
            StoreError: The database failed.
        """
        self._used.add(client, {tool_id: b""}, seconds=SECONDS)


def _written(each: PageCard) -> bytes:
    return orjson.dumps({"card": each.card.model_dump(mode="json"), "line": each.line})


def _read(content: bytes) -> PageCard:
    said = orjson.loads(content)
    return PageCard(card=ChoiceCard.model_validate(said["card"]), line=said["line"])
