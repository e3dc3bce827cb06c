"""What a client has seen of the catalogue at any replica, so that what it reads again is the same at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import orjson

from toolcrib_core import ChoiceCard
from toolcrib_mcp.gateway.cards import PageCard
from toolcrib_mcp.gateway.seen import arranged
from toolcrib_mcp.shared.notes import Notes

if TYPE_CHECKING:
    from toolcrib_store import Store

SECONDS: Final = 86_400.0
"""How long a card is remembered after a client has seen it last; it may be forgotten after half of that."""


class SharedSeenCards:
    """The cards that each client was shown, as they were at first, in the database that replicas share."""

    def __init__(self, store: Store) -> None:
        self._notes = Notes(store, kind="seen")

    def arrange(self, client: str, page: Sequence[PageCard]) -> list[PageCard]:
        """The page for this client, as that of `SeenCards`; it asks the database, so call it in a thread.

        Raises:
            StoreError: The database failed.
        """
        before, _ = self._notes.add(client, {each.card.id: _written(each) for each in page}, seconds=SECONDS)
        return arranged(page, {tool_id: _read(content) for tool_id, content in before.items()})


def _written(each: PageCard) -> bytes:
    return orjson.dumps({"card": each.card.model_dump(mode="json"), "line": each.line})


def _read(content: bytes) -> PageCard:
    said = orjson.loads(content)
    return PageCard(card=ChoiceCard.model_validate(said["card"]), line=said["line"])
