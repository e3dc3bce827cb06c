"""The catalogue as it is at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from toolcrib_core import (
    BrowseTree,
    ChoiceCard,
    InvalidToolId,
    PathInvalid,
    PathNotFound,
    RegistrySnapshot,
    ResolutionError,
    ToolRegistry,
    TreeLeaf,
    UnknownTool,
    WireNames,
)
from toolcrib_mcp.catalog._duplicates import duplicate_tool
from toolcrib_mcp.catalog._entries import HydrationResult
from toolcrib_mcp.catalog._findings import CatalogReport
from toolcrib_mcp.catalog._names import (
    ProviderNames,
    ToolNames,
    ambiguous_name,
    decoded_id,
    no_such_tool,
    no_tool_id,
    provider_names,
)
from toolcrib_mcp.catalog._state import CatalogState
from toolcrib_mcp.catalog._trees import TreeKeeper

if TYPE_CHECKING:
    from toolcrib_core import Embedder, SearchResult, ToolPredicate
    from toolcrib_mcp.pins.withheld import WithheldTool


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CatalogSnapshot:
    """Every tool of every server at one moment: what changes later does not show.

    A tool is *served* when it can be hydrated and called, and *listed* when it is on pages too: in `cards`, `search`
    and `tree`. The same tools give the same snapshot in whatever order they came.
    """

    registry: RegistrySnapshot
    """The definitions of the listed tools."""
    _state: CatalogState
    _trees: TreeKeeper

    @property
    def revision(self) -> int:
        """How many changes led here."""
        return self._state.revision

    @property
    def upstreams(self) -> tuple[str, ...]:
        """The servers whose tools are known, those without a tool included, ascending by name."""
        return tuple(self._state.listings)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of all served tools, ascending."""
        return tuple(sorted(self._state.served))

    @cached_property
    def cards(self) -> Mapping[str, ChoiceCard]:
        """The cards of all listed tools, without a score, ascending by id."""
        return MappingProxyType(
            {each: card for each in self.ids if (card := self._state.served[each].card) is not None}
        )

    @property
    def report(self) -> CatalogReport:
        """What is wrong with the tools that the servers list."""
        return self._state.report

    def flags_of(self, tool_id: str) -> tuple[str, ...]:
        """Why the scan flags a tool; empty where it does not."""
        return self._state.flags.get(tool_id, ())

    @property
    def wire_names(self) -> WireNames:
        """The provider-safe names of the served tools; one that another tool's name spells as well is left out."""
        return self._provider_names.names

    @cached_property
    def _provider_names(self) -> ProviderNames:
        return provider_names(self._state.served)

    @cached_property
    def _withheld_names(self) -> Mapping[str, str]:
        """By provider-safe name: the ids of tools that are withheld, each named as if there were no other."""
        return {provider_names((each,)).names.encode(each): each for each in self._state.withheld}

    @cached_property
    def tree(self) -> BrowseTree:
        """The listed tools by path."""
        return self._trees.tree_of(self.registry.list())

    def resolve(self, tool_id: str) -> str:
        """The id of a served tool, from any of its forms.

        They are the id as it is, percent-encoded, or without its version or hash; the provider-safe name; the path; the
        name of the tool alone, or behind that of its server: `git:git_log`, `git/git_log`, `git.git_log`. Nothing is
        guessed: a form is accepted if it means exactly one tool, and a version or hash that is named has to be right.

        Raises:
            AmbiguousTool: The text may be several tools; the error names them.
            DuplicateTool: Several tools claim the id; the error names them.
            ToolChanged: The tool that has the id, or had it, is not what was trusted.
            ResolutionError: No tool has the id; the hint has the nearest ones, or the id that took its place.
            InvalidToolId: It is not an id in any form.
        """
        plain = decoded_id(tool_id)
        if plain in self._state.served:
            return plain
        self._refuse(plain, asked=plain)
        return self._path(plain) or self._wire_name(plain) or self._meant(plain)

    def withheld_tool(self, upstream: str, name: str) -> WithheldTool | None:
        """The tool of a server that is not served because it is not what was trusted, by the server's name for it."""
        listing = self._state.listings.get(upstream)
        every = () if listing is None else listing.withheld
        return next((each for each in every if each.name == name), None)

    @cached_property
    def withheld_counts(self) -> Mapping[str, int]:
        """By server: how many of its tools are not what was trusted, and therefore not served."""
        return {server: len(listing.withheld) for server, listing in self._state.listings.items() if listing.withheld}

    def hydrate(self, tool_id: str) -> HydrationResult:
        """All about one tool, by any form of its id; each tool has one result, whichever form was used.

        Raises:
            ToolError: As `resolve`.
        """
        return self._state.served[self.resolve(tool_id)].hydrated

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        explain: bool = False,
        where: ToolPredicate | None = None,
        embedder: Embedder | None = None,
    ) -> SearchResult:
        """The listed tools that fit a request in words, the best first; as `RegistryView.search`.

        Raises:
            QueryError: The request is not text, `limit` is out of bounds, or the predicate failed.
        """
        return self.registry.search(query, limit=limit, explain=explain, where=where, embedder=embedder)

    def joined(self, other: CatalogSnapshot) -> CatalogSnapshot:
        """The tools of both, as if one catalogue had all of their servers; these have names of their own.

        It costs as much as the other one is large. An id that both claim is contested, as between any two servers.
        """
        state = self._state.with_listings(other._state.listings)
        registry = ToolRegistry.branch_of(self.registry)
        for tool_id in self._state.served.keys() & state.contested.keys():
            if self._state.served[tool_id].card:
                registry.unregister(tool_id)
        come = (state.served[each] for each in other._state.served.keys() & state.served.keys())
        registry.register_all(entry.hydrated.definition for entry in come if entry.card)
        return CatalogSnapshot(registry=registry.snapshot(), _state=state, _trees=self._trees.branch())

    def __len__(self) -> int:
        return len(self._state.served)

    def __contains__(self, tool_id: object) -> bool:
        """Whether a served tool has exactly this id."""
        return isinstance(tool_id, str) and tool_id in self._state.served

    def __repr__(self) -> str:
        return (
            f"<CatalogSnapshot of {len(self)} tools of {len(self._state.listings)} servers, revision {self.revision}>"
        )

    @cached_property
    def _names(self) -> ToolNames:
        return ToolNames(self._state)

    def _path(self, text: str) -> str | None:
        if not text.startswith("/"):
            return None
        try:
            entry = self.tree.find(text)
        except (PathInvalid, PathNotFound):
            return None
        return entry.tool_id if isinstance(entry, TreeLeaf) else None

    def _wire_name(self, text: str) -> str | None:
        if ":" in text:
            return None
        try:
            return self.wire_names.decode(text)
        except UnknownTool:
            tool_id = self._withheld_names.get(text)
            if tool_id is not None:
                self._refuse(tool_id, asked=text)
            if text in self._provider_names.contested:
                raise ambiguous_name(text, self._provider_names.contested[text]) from None
            return None

    def _meant(self, text: str) -> str:
        fitting = self._names.fitting(text)
        served = [each for each in fitting if each in self._state.served]
        if len(served) == 1:
            return served[0]
        if served:
            raise ambiguous_name(text, served)
        for each in fitting:
            self._refuse(each, asked=text)
        try:
            return self.registry.get(text).id
        except (ResolutionError, InvalidToolId) as failure:
            raise self._unknown(text, failure) from None

    def _refuse(self, tool_id: str, *, asked: str) -> None:
        """Raise the reason for which this tool is not served, if it is there and is not."""
        if tool_id in self._state.contested:
            raise duplicate_tool(tool_id, self._state.contested[tool_id])
        if tool_id in self._state.withheld:
            raise self._state.withheld[tool_id].refusal(asked)

    def _unknown(self, text: str, failure: ResolutionError | InvalidToolId) -> ResolutionError | InvalidToolId:
        # What looks like a provider-safe name is told the nearest of those, all else the nearest ids.
        if "__" in text and ":" not in text:
            try:
                self.wire_names.decode(text)
            except UnknownTool as unknown:
                return unknown
        near = failure.details.get("candidates") or failure.details.get("didYouMean") or self._names.nearest(text)
        if isinstance(failure, InvalidToolId) and not near:
            return no_tool_id(text)
        kind = UnknownTool if isinstance(failure, InvalidToolId) else type(failure)
        ids = [str(each) for each in near] if isinstance(near, list) else []
        return no_such_tool(text, ids, kind=kind, written=self._names.without_hash)
