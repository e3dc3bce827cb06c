"""`Catalog`: the tools of all upstream servers, and the only thing that changes them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Self

from toolcrib_core import BrowseTree, ToolRegistry
from toolcrib_mcp.catalog._changes import CatalogChange, CatalogListener, ChangeFeed, change_between
from toolcrib_mcp.catalog._entries import HydrationResult, UpstreamTerms
from toolcrib_mcp.catalog._findings import CatalogReport
from toolcrib_mcp.catalog._listing import UpstreamListing, read_listing
from toolcrib_mcp.catalog._manifest import read_manifest, write_manifest
from toolcrib_mcp.catalog._snapshot import CatalogSnapshot
from toolcrib_mcp.catalog._state import CatalogState
from toolcrib_mcp.catalog._trees import TreeKeeper

if TYPE_CHECKING:
    from toolcrib_core import Embedder, SearchResult, ToolPredicate
    from toolcrib_mcp.pins.withheld import WithheldTool


class Catalog:
    """One catalogue of the tools of any number of servers.

    Reading looks at one snapshot and never waits. A change is seen whole or not at all. What one server lists can
    neither break nor hide what another does, but for an id that both claim: then neither tool is served, and both are
    reported. Every method may be called from any thread; reading 1,000 tools takes about a second of computing, so a
    server's update is best made in a thread of its own.
    """

    def __init__(self) -> None:
        self._registry = ToolRegistry()
        self._trees = TreeKeeper()
        self._state = CatalogState()
        self._snapshot = self._now()
        self._writing = threading.Lock()
        self._feed = ChangeFeed()

    @classmethod
    def from_manifest(cls, data: bytes | str, *, terms: Mapping[str, UpstreamTerms] | None = None) -> Self:
        """The catalogue that `to_manifest` wrote down, each server's tools read on the terms given here.

        Raises:
            CatalogError: It is no manifest, is damaged, or was written by a newer version of this package.
        """
        catalog = cls()
        for upstream, tools in read_manifest(data).items():
            catalog.update(upstream, tools, terms=(terms or {}).get(upstream))
        return catalog

    def to_manifest(self) -> bytes:
        """What every server listed, as JSON: the same bytes for the same tools in whatever order they came."""
        return write_manifest({name: each.readings for name, each in self._state.listings.items()})

    def update(
        self,
        upstream: str,
        raw_tools: Iterable[object],
        *,
        terms: UpstreamTerms | None = None,
        withheld: Iterable[WithheldTool] = (),
    ) -> CatalogChange:
        """Let these be all the tools of a server, as they came in its `tools/list`.

        Only what differs from its tools so far is read. A tool that cannot be used is left out and reported, and keeps
        nothing else out. Without `terms` those of its last update hold, and at first its name alone. Updates of one
        server are to be made one after the other. What is `withheld` is known by its ids alone: asking for it says why.
        """
        before = self._state.listings.get(upstream)
        if terms is None:
            terms = UpstreamTerms(server=upstream) if before is None else before.terms
        # Outside the lock: a server with 10,000 tools keeps no other waiting.
        listing = read_listing(upstream, raw_tools, terms=terms, before=before, withheld=withheld)
        return self._put(upstream, listing)

    def remove(self, upstream: str) -> CatalogChange:
        """Take out a server with all its tools; one that is not there changes nothing."""
        return self._put(upstream, None)

    def subscribe(self, listener: CatalogListener) -> Callable[[], None]:
        """Call the listener with every change that shows in a list of all cards; call what is returned to stop.

        It hears of a change after the change can be seen, in the order of the changes, and outside any lock, so it may
        read and change the catalogue. A listener that raises is logged, and keeps nobody else from hearing.
        """
        return self._feed.subscribe(listener)

    def snapshot(self) -> CatalogSnapshot:
        """This moment, to be read for ever; it costs nothing."""
        return self._snapshot

    @property
    def report(self) -> CatalogReport:
        """What is wrong with the tools that the servers list."""
        return self._snapshot.report

    @property
    def tree(self) -> BrowseTree:
        """The listed tools by path."""
        return self._snapshot.tree

    def resolve(self, tool_id: str) -> str:
        """The id of a served tool, from any of its forms.

        Raises:
            ToolError: As `CatalogSnapshot.resolve`.
        """
        return self._snapshot.resolve(tool_id)

    def hydrate(self, tool_id: str) -> HydrationResult:
        """All about one tool, by any form of its id.

        Raises:
            ToolError: As `CatalogSnapshot.resolve`.
        """
        return self._snapshot.hydrate(tool_id)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        explain: bool = False,
        where: ToolPredicate | None = None,
        embedder: Embedder | None = None,
    ) -> SearchResult:
        """The listed tools that fit a request in words, the best first.

        Raises:
            QueryError: The request is not text, `limit` is out of bounds, or the predicate failed.
        """
        return self._snapshot.search(query, limit=limit, explain=explain, where=where, embedder=embedder)

    def __repr__(self) -> str:
        return f"<Catalog, now {self._snapshot!r}>"

    def _put(self, upstream: str, listing: UpstreamListing | None) -> CatalogChange:
        with self._writing:
            change = self._change(upstream, listing)
            if change.visible:
                self._feed.put(change)
        self._feed.deliver()
        return change

    def _change(self, upstream: str, listing: UpstreamListing | None) -> CatalogChange:
        before = self._state
        if before.listings.get(upstream) == listing:
            return CatalogChange(upstream=upstream, revision=before.revision)
        state = before.with_listing(upstream, listing)
        change = change_between(before, state, upstream=upstream)
        self._register(change, before, state)
        self._state = state
        self._snapshot = self._now()
        return change

    def _register(self, change: CatalogChange, before: CatalogState, now: CatalogState) -> None:
        """Let the registry hold the listed tools; nobody sees it between two steps, only snapshots of it."""
        gone = (each for each in (*change.removed, *change.replaced) if before.served[each].card)
        for tool_id in gone:
            self._registry.unregister(tool_id)
        come = (now.served[each] for each in (*change.added, *change.replaced))
        self._registry.register_all(entry.hydrated.definition for entry in come if entry.card)

    def _now(self) -> CatalogSnapshot:
        return CatalogSnapshot(registry=self._registry.snapshot(), _state=self._state, _trees=self._trees)
