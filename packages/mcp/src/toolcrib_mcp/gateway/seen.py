"""What a client has seen of the catalogue, so that what it reads again is the same to the byte."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from toolcrib_core import ChoiceCard
from toolcrib_mcp.gateway.cards import PageCard

BREAKPOINT: Final = "__cache_breakpoint__"
"""The id of the card that stands between what was seen before and what is new."""

MAX_CLIENTS: Final = 1_000
MAX_SEEN: Final = 10_000

_MARKER = PageCard(
    card=ChoiceCard(id=BREAKPOINT, name=BREAKPOINT, description="", kind="internal", namespace=""),
    line=BREAKPOINT,
)


class SeenCards:
    """The cards that each client was shown, as they were at first.

    The client that came back least recently is forgotten first, and so is what a client saw least recently.
    """

    def __init__(self) -> None:
        self._clients: OrderedDict[str, OrderedDict[str, PageCard]] = OrderedDict()

    def arrange(self, client: str, page: Sequence[PageCard]) -> list[PageCard]:
        """The page for this client: what it has seen as it was then, a marker, and what is new; each part by id.

        Nothing is left out, and the marker is there only between two parts.
        """
        seen = self._of(client)
        known = {each.card.id: seen[each.card.id] for each in page if each.card.id in seen}
        for tool_id, card in ({each.card.id: each for each in page} | known).items():
            seen[tool_id] = card
            seen.move_to_end(tool_id)
        while len(seen) > MAX_SEEN:
            seen.popitem(last=False)
        return arranged(page, known)

    def forget(self, client: str) -> None:
        """The client has gone."""
        self._clients.pop(client, None)

    def _of(self, client: str) -> OrderedDict[str, PageCard]:
        seen = self._clients.setdefault(client, OrderedDict())
        self._clients.move_to_end(client)
        while len(self._clients) > MAX_CLIENTS:
            self._clients.popitem(last=False)
        return seen


def arranged(page: Sequence[PageCard], known: Mapping[str, PageCard]) -> list[PageCard]:
    """What is known of the page as it is known, a marker, and what is new; each part by id."""
    new = {each.card.id: each for each in page if each.card.id not in known}
    marker = [_MARKER] if known and new else []
    return [*(known[each] for each in sorted(known)), *marker, *(new[each] for each in sorted(new))]
