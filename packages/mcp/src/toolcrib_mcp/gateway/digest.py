"""The digest: every server behind the gateway with a few words each, in a bounded number of tokens.

The same catalogue gives the same bytes, in whatever order its servers started: the digest stands in the description of
a tool, and prompt caches hold only while that does not change.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from toolcrib_core import count_tokens
from toolcrib_core.tree.segments import tool_segment
from toolcrib_core.tree.topics import topic_of, words_of
from toolcrib_core.tree.word_lists import OPENERS, PREPOSITIONS, QUALIFIERS, VERBS
from toolcrib_core.wording import count
from toolcrib_mcp.front.feed import LIST_CHANGED, Feed, Notice
from toolcrib_mcp.upstreams.changes import Burst
from toolcrib_mcp.upstreams.listing import ListKind

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import CatalogSnapshot
    from toolcrib_mcp.hub.view import HubView
    from toolcrib_runtime.clock import Clock

DIGEST_TOKENS: Final = 190
"""What the digest may take, for any number of servers: 200 with the words that introduce it."""

MAX_WORDS: Final = 8
"""A server is described by at most so many words."""

# Where so many words cover all tools of a server, more would say little.
_ENOUGH: Final = 4

# Servers start one after the other; each change of the list costs every client its prompt cache.
_QUIET: Final = 1.0
_LONGEST: Final = 15.0
_PLAIN_WORD = re.compile(r"[a-z][a-z_]{1,19}")
_SILENT = VERBS | QUALIFIERS | PREPOSITIONS | OPENERS
_SAYS_NOTHING = frozenset({"tool"})


def render_digest(servers: Mapping[str, Collection[str]], *, budget: int = DIGEST_TOKENS) -> str:
    """The servers by name, each with the words that its tool names share: `git: branch commit; time`.

    The keys are the namespaces of the servers, the values the names of their tools; a server whose tools are not known
    has none, and is named alone. Where the budget does not allow more, each gets fewer words, then none, and at last
    the smallest servers are only counted.
    """
    words = _words_of_servers(servers)
    by_size = sorted(servers, key=lambda each: (-len(servers[each]), each))
    for most in range(MAX_WORDS, -1, -1):
        text = _described(words, dict.fromkeys(servers, most))
        if count_tokens(text) <= budget:
            return _with_more_words(text, words, by_size, most, budget)
    low, high = 0, len(by_size) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _fits(by_size, middle, budget) else (low, middle - 1)
    return _counted(by_size, low)


def digest_of(hub: HubView) -> str:
    """The digest of the servers of a hub, as far as their tools are known."""
    snapshot = hub.catalog.snapshot()
    # A server whose tools have namespaces of their own is named by those, once they are known.
    tools: dict[str, list[str]] = {
        each.namespace: []
        for each in hub.servers.values()
        if not (each.settings.own_namespaces and each.name in snapshot.upstreams)
    }
    for card in snapshot.cards.values():
        tools.setdefault(card.namespace, []).append(card.name)
    return render_digest(tools)


class CatalogDigest:
    """The digest of the servers of a hub, and the notification that it has changed.

    A client is notified only if it may hold a digest that is no longer right, and once for many changes in a row.
    """

    def __init__(self, hub: HubView, feed: Feed, *, clock: Clock) -> None:
        self._hub = hub
        self._feed = feed
        self._last: tuple[CatalogSnapshot, frozenset[str], str] | None = None
        self._handed_out: set[str] = set()
        self._burst = Burst(quiet=_QUIET, longest=_LONGEST, clock=clock)
        self._task: asyncio.Task[None] | None = None

    def text(self) -> str:
        """The digest as it is now, for a client."""
        text = self._render()
        self._handed_out.add(text)
        return text

    def invalidate(self) -> None:
        """The catalogue has changed: notify clients when the changes have settled."""
        self._burst.add(ListKind.TOOLS)
        if self._task is None:
            self._task = asyncio.create_task(self._notify(), name="changes of the digest")

    async def aclose(self) -> None:
        """Send no more notifications."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _render(self) -> str:
        snapshot = self._hub.catalog.snapshot()
        namespaces = frozenset(each.namespace for each in self._hub.servers.values())
        if self._last is None or self._last[0] is not snapshot or self._last[1] != namespaces:
            self._last = snapshot, namespaces, digest_of(self._hub)
        return self._last[2]

    async def _notify(self) -> None:
        while True:
            await self._burst.settled()
            if self._handed_out - {self._render()}:
                self._handed_out.clear()
                self._feed.publish(Notice(method=LIST_CHANGED["toolsListChanged"]))


def _words_of_servers(servers: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    subjects = {name: [_subjects(each, name) for each in tools] for name, tools in servers.items()}
    spread = Counter(word for every in subjects.values() for word in set().union(*every))
    return {name: _covering(every, spread) for name, every in subjects.items()}


def _subjects(tool: str, server: str) -> frozenset[str]:
    """What a tool is about, from its name, without what the name of its server says already."""
    segment, said = tool_segment(tool), words_of(tool_segment(server))
    nouns = frozenset(each.key for each in topic_of(segment, namespace_words=said))
    # `git_log` and `tree` have no noun beside a verb: then the word itself says what the tool is for.
    found = nouns or words_of(segment) - said - _SILENT
    return frozenset(each for each in found - _SAYS_NOTHING if _PLAIN_WORD.fullmatch(each))


def _covering(tools: Sequence[frozenset[str]], spread: Mapping[str, int]) -> list[str]:
    """Words that cover these tools, the best first: many of those that are left have it, and few other servers do."""
    totals = Counter(word for each in tools for word in each)
    chosen: list[str] = []
    rest = list(filter(None, tools))
    while totals and len(chosen) < MAX_WORDS and (rest or len(chosen) < _ENOUGH):
        covered = Counter(word for each in rest for word in each if word in totals)
        best = min(totals, key=lambda word: (-(covered[word] ** 2) / spread[word], -totals[word], word))
        chosen.append(best)
        del totals[best]
        rest = [each for each in rest if best not in each]
    return chosen


def _described(words: Mapping[str, Sequence[str]], most: Mapping[str, int]) -> str:
    shown = {each: " ".join(words[each][: most[each]]) for each in sorted(most)}
    return "; ".join(f"{each}: {said}" if said else each for each, said in shown.items())


def _with_more_words(
    text: str, words: Mapping[str, Sequence[str]], by_size: Sequence[str], most: int, budget: int
) -> str:
    """The text with one more word for each server, the largest first, where the budget allows."""
    given = dict.fromkeys(by_size, most)
    for each in by_size:
        longer = _described(words, given | {each: most + 1})
        if most < MAX_WORDS and count_tokens(longer) <= budget:
            given[each], text = most + 1, longer
    return text


def _fits(by_size: Sequence[str], number: int, budget: int) -> bool:
    return count_tokens(_counted(by_size, number)) <= budget


def _counted(by_size: Sequence[str], number: int) -> str:
    rest = count(len(by_size) - number, "more server" if number else "server")
    return "; ".join([*sorted(by_size[:number]), rest])
