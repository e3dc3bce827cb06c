"""The tools that each client has seen, hydrated or executed: their cards come first and keep their bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from toolcrib_core import ChoiceCard
from toolcrib_mcp.browse.cards import PageCard
from toolcrib_mcp.safeguards.call import LOCAL

if TYPE_CHECKING:
    from toolcrib_mcp.front.service import Caller

BREAKPOINT: Final = "__cache_breakpoint__"
"""The id of the card that stands between what was seen before and what is new."""

MAX_CLIENTS: Final = 1_000
MAX_SEEN: Final = 10_000

_MARKER = PageCard(
    card=ChoiceCard(id=BREAKPOINT, name=BREAKPOINT, description="", kind="internal", namespace=""),
    line=BREAKPOINT,
)


class SeenCards:
    """The tools that each client has seen; a card that was shown stays as it was at first.

    The client that came back least recently is forgotten first, and so is what a client saw least recently.
    """

    def __init__(self) -> None:
        self._clients: OrderedDict[str, OrderedDict[str, PageCard | None]] = OrderedDict()

    def arrange(self, client: str, page: Sequence[PageCard]) -> list[PageCard]:
        """The page for this client: what it has seen as it was then, a marker, and what is new; each part by id.

        Nothing is left out, and the marker is there only between two parts.
        """
        seen = self._of(client)
        # A tool that was hydrated or executed before any page showed it is frozen as this page shows it.
        known = {each.card.id: seen[each.card.id] or each for each in page if each.card.id in seen}
        for tool_id, card in ({each.card.id: each for each in page} | known).items():
            self._remember(seen, tool_id, card)
        return arranged(page, known)

    def note_used(self, client: str, tool_id: str) -> None:
        """Count a tool that was hydrated or executed as seen."""
        seen = self._of(client)
        self._remember(seen, tool_id, seen.get(tool_id))

    def forget(self, client: str) -> None:
        """The client has gone."""
        self._clients.pop(client, None)

    @staticmethod
    def _remember(seen: OrderedDict[str, PageCard | None], tool_id: str, card: PageCard | None) -> None:
        seen[tool_id] = card
        seen.move_to_end(tool_id)
        while len(seen) > MAX_SEEN:
            seen.popitem(last=False)

    def _of(self, client: str) -> OrderedDict[str, PageCard | None]:
        seen = self._clients.setdefault(client, OrderedDict())
        self._clients.move_to_end(client)
        while len(self._clients) > MAX_CLIENTS:
            self._clients.popitem(last=False)
        return seen


def client_key(caller: Caller) -> str:
    """The client whose pages are kept stable: a session, or a principal whose requests stand alone."""
    return caller.conversation or f"principal {caller.principal or LOCAL}"


def arranged(page: Sequence[PageCard], known: Mapping[str, PageCard]) -> list[PageCard]:
    """What is known of the page as it is known, a marker, and what is new; each part by id."""
    new = {each.card.id: each for each in page if each.card.id not in known}
    marker = [_MARKER] if known and new else []
    return [*(known[each] for each in sorted(known)), *marker, *(new[each] for each in sorted(new))]
