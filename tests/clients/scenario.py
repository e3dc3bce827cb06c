"""What every client's model does: browse, a small and a large result, a mistake, and a call that needs approval."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.clients.dialogue import TOOLS, Call, Dialogue
from tests.clients.orders_server import ORDERS

CELLS: Final = ("list", "browse", "small", "large", "view", "error", "approval")
"""The columns of the table."""

_WORDS: Final = "list, show or delete an order of the shop"
_GRANT: Final = re.compile(r"approvals grant ([\w-]+)")
_SHOWN_CHARACTERS: Final = 300
# The first row that the example asks for beyond the rows of the summary.
_BEYOND_THE_SUMMARY: Final = "customer-33"
_DELETED: Final = "was deleted from the shop"
_EXPECTED: Final[Mapping[str, Sequence[str]]] = {
    "browse": ("orders:list_orders", "orders:delete_order", "needs number"),
    "small": ("customer-37", "Osaka"),
    "large": (
        f"{ORDERS} records with 4 fields",
        "customer string",
        "cents integer",
        '"art_',
        'tool_view {"handle"',
    ),
    "view": (_BEYOND_THE_SUMMARY,),
    "error": ("ARGS_INVALID", "needs the argument `number`", '"type":"integer"'),
}


@dataclass(frozen=True)
class Outcome:
    """What a model was shown of each kind of answer: nothing if it was all there, else what was missing."""

    missing: Mapping[str, str]
    """By cell."""
    asked_by_form: bool
    """Whether a person was asked by the client itself, so that the call ran at once."""


class Scenario:
    """The turns of one model, each decided by what the ones before it gave."""

    def __init__(self, grant: Callable[[str], None], *, order: int) -> None:
        """Approve what waits by `grant`, which gets an id; `order` is the one to delete, and no other client's."""
        self._grant = grant
        self._order = order
        self._granted = False
        self.seen = Dialogue({}, ())
        """The longest conversation so far."""

    def decide(self, dialogue: Dialogue) -> Call | None:
        """The next call, or none at the end."""
        if len(dialogue.results) >= len(self.seen.results):
            self.seen = dialogue
        calls = list(self._calls(dialogue.results))
        return calls[len(dialogue.results)] if len(calls) > len(dialogue.results) else None

    def outcome(self) -> Outcome:
        """What has reached the model."""
        results = [_plain(each) for each in self.seen.results]
        missing = {}
        if set(TOOLS) - set(self.seen.tools):
            missing["list"] = f"without {', '.join(sorted(set(TOOLS) - set(self.seen.tools)))}"
        for cell, result in zip(("browse", "small", "large", "view", "error"), _padded(results), strict=False):
            absent = [part for part in _EXPECTED[cell] if part not in result]
            if absent:
                missing[cell] = f"without {' | '.join(absent)} in: {_cut(result)}"
        waiting, *repeated = results[5:] or [""]
        by_form = _DELETED in waiting
        if not by_form and not (_GRANT.search(waiting) and "APPROVAL_REQUIRED" in waiting):
            missing["approval"] = f"neither asked nor told how: {_cut(waiting)}"
        elif not by_form and not any(_DELETED in each for each in repeated):
            missing["approval"] = f"approved, and not run: {_cut(' '.join(repeated))}"
        return Outcome(missing, asked_by_form=by_form)

    def _calls(self, results: Sequence[str]) -> Iterator[Call]:
        """All calls that can be made with these results, in order."""
        yield Call("tool_browse", {"query": _WORDS})
        if not results:
            return
        cards = _plain(results[0])
        yield _run(_id_in(cards, "show_order"), number=1)
        yield _run(_id_in(cards, "list_orders"))
        yield _view(_plain(results[2]) if len(results) > 2 else "")
        yield _run(_id_in(cards, "show_order"), nummer=1)
        delete = _run(_id_in(cards, "delete_order"), number=self._order)
        yield delete
        waiting = _GRANT.search(_plain(results[5])) if len(results) > 5 else None
        if waiting:
            if not self._granted:
                self._grant(waiting[1])
                self._granted = True
            yield delete


def _run(tool_id: str, /, **arguments: object) -> Call:
    return Call("tool_execute", {"tool_id": tool_id, "args": arguments})


def _id_in(cards: str, name: str) -> str:
    """The id as the page of cards has it, since a model can only copy what it reads."""
    found = re.search(rf"orders:{name}(#\w+)?", cards)
    return found[0] if found else f"orders:{name}"


def _view(summary: str) -> Call:
    """The call that the example at the end of a summary shows, word for word."""
    _, found, example = summary.partition("tool_view {")
    if not found:
        return Call("tool_view", {"handle": "art_unknown", "selector": {"type": "head", "lines": 3}})
    arguments, _ = json.JSONDecoder().raw_decode("{" + example)
    return Call("tool_view", arguments)


def _plain(text: str) -> str:
    """A result as we wrote it, where a client writes our JSON anew or wraps it into its own."""
    return text.replace("\\n", "\n").replace('\\"', '"').replace('": ', '":')


def _padded(results: Sequence[str]) -> list[Any]:
    return [*results, *[""] * len(CELLS)]


def _cut(text: str) -> str:
    return text[:_SHOWN_CHARACTERS] or "nothing"
