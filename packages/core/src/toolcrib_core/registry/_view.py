"""What can be read from a registry, now or as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, Unpack, overload

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.predicates import ToolPredicate, holds
from toolcrib_core.registry._query import QueryFilters, Selection, ToolSummary, run_query
from toolcrib_core.registry._requests import IdentityLike
from toolcrib_core.registry._resolve import choose_tool, get_by_id
from toolcrib_core.registry._search import IndexKeeper
from toolcrib_core.registry._state import RegistryOptions, RegistryState
from toolcrib_core.registry._warnings import deprecation_warning, emit

if TYPE_CHECKING:
    from toolcrib_core.search import Embedder, FindabilityReport, SearchIndex, SearchResult
    from toolcrib_core.serialization import SerializedRegistry

_Shown = TypeVar("_Shown")

_MAX_REMEMBERED: Final = 4096


class RegistryView:
    """The reading half of a registry.

    Every method looks at one state from beginning to end and takes no lock: a change made meanwhile is seen by the next
    call, whole or not at all.
    """

    __slots__ = ("_indexes", "_options", "_state")

    def __init__(self, state: RegistryState, options: RegistryOptions, indexes: IndexKeeper | None = None) -> None:
        self._state = state
        self._options = options
        self._indexes = indexes or IndexKeeper()

    @property
    def revision(self) -> int:
        """How many changes led here; equal revisions of one registry hold the same."""
        return self._state.revision

    @property
    def options(self) -> RegistryOptions:
        """What the registry was made with."""
        return self._options

    def get(self, tool_id: IdentityLike) -> ToolDefinition:
        """The tool with this id: with its version, if it has one. Aliases are not followed.

        The hash of a tool without a version may be left out, or added, where only one tool is meant.

        Raises:
            InvalidToolId: The text is not an id.
            AmbiguousTool: The id fits several tools, or leaves out a version, even if only one is registered.
            UnknownVersion: The tool is there, but not this version or shape of it.
            UnknownTool: No tool has that namespace and name.
        """
        return get_by_id(self._state, tool_id)

    def resolve(
        self, identity: IdentityLike, *, version: str | None = None, allow_deprecated: bool = False
    ) -> ToolDefinition:
        """The one tool that an id, alias or bare name means, choosing a version if none is named.

        Aliases are followed first. A version that is registered with exactly that text is taken; else the version is a
        range (`1.2` is `1.2.x`). Among several that fit, `version_selector` chooses; else the highest if all are
        SemVer, pre-releases only when nothing else fits or the range names one (`version_selector="highest"` counts
        them like releases where no range is given); else the one registered last.
        Deprecated tools are left out unless allowed or named by full id or exact version, and then give a
        `RegistryWarning`.

        Raises:
            InvalidToolId: The text is not an id.
            QueryError: The version is written as a range, but is not one; or two versions are named.
            UnknownTool: Nothing of that name is registered, or where its alias leads.
            UnknownVersion: The tool is there, but no version of it fits.
            DeprecatedTool: Everything that fits is deprecated.
            AliasError: The aliases lead in a circle or too far.
        """
        state = self._state
        # Only texts are remembered: hashing an identity costs more than it saves.
        key = (identity, version, allow_deprecated) if isinstance(identity, str) else None
        definition = None if key is None else state.resolved.get(key)
        if definition is None:
            definition = choose_tool(state, identity, self._options, version=version, allow_deprecated=allow_deprecated)
            if key is not None:
                _remember(state, key, definition)
        if definition.lifecycle.deprecated:
            emit(deprecation_warning(definition), self._options.on_warning, callers_above=2)
        return definition

    def list(self) -> tuple[ToolDefinition, ...]:
        """Every tool, ascending by id."""
        return self._state.ordered

    def in_order_of_registration(self) -> tuple[ToolDefinition, ...]:
        """Every tool, the one registered last at the end: what decides between versions that are not SemVer."""
        return self._state.in_order_of_registration()

    def aliases(self) -> dict[str, str]:
        """Every alias and what it points at, ascending by alias; the caller may keep and change it."""
        return dict(sorted(self._state.aliases.items()))

    @overload
    def query(
        self, *, select: Literal["definition"] = ..., **filters: Unpack[QueryFilters]
    ) -> tuple[ToolDefinition, ...]: ...
    @overload
    def query(self, *, select: Literal["id", "name"], **filters: Unpack[QueryFilters]) -> tuple[str, ...]: ...
    @overload
    def query(self, *, select: Literal["summary"], **filters: Unpack[QueryFilters]) -> tuple[ToolSummary, ...]: ...
    @overload
    def query(
        self, *, select: Callable[[ToolDefinition], _Shown], **filters: Unpack[QueryFilters]
    ) -> tuple[_Shown, ...]: ...
    def query(
        self,
        *,
        select: Selection | Callable[[ToolDefinition], object] = "definition",
        **filters: Unpack[QueryFilters],
    ) -> tuple[Any, ...]:
        """The tools that pass every filter of `QueryFilters`, ascending by id.

        `limit` and `offset` cut out a page. `select` says what to give of each tool: its definition, id, name, a
        `ToolSummary`, or what a function makes of the definition.

        Raises:
            QueryError: A filter is unknown, malformed or over its bounds, or a predicate or the selection failed.
            NotJson: A value of `metadata` is not JSON.
        """
        return run_query(self._state.ordered, filters, select)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        explain: bool = False,
        where: ToolPredicate | None = None,
        embedder: Embedder | None = None,
    ) -> SearchResult:
        """The tools that fit a request in words, the best first; only tools with evidence are hits.

        `where` keeps the tools that a predicate is true for. With `explain` each hit says which words in which fields
        earned its score. With an `embedder` closeness in meaning counts too.

        Raises:
            QueryError: The request is not text, `limit` is out of bounds, or the predicate failed.
        """
        keep = None if where is None else partial(holds, where)
        return self.search_index().search(query, limit=limit, explain=explain, filter=keep, embedder=embedder)

    def search_index(self) -> SearchIndex:
        """The index behind `search`, of the tools as they are now; only what changed since the last one is read."""
        return self._indexes.index_of(self._state)

    def findability(self, cases: Mapping[str, Sequence[str]] | None = None) -> FindabilityReport:
        """Whether requests lead to the tools they were written for, who is in front, and which tools are confusable.

        `cases` has the requests by tool id; without it they are those that definitions list in their metadata under
        `searchCases`.

        Raises:
            UnknownTool: A case names a tool that is not registered.
            QueryError: A case is malformed, or there are too many.
        """
        from toolcrib_core.search import findability

        return findability(self.search_index(), cases)

    def snapshot(self) -> RegistrySnapshot:
        """This moment, to be read for ever; it costs nothing, whatever the size."""
        return RegistrySnapshot(self._state, self._options, self._indexes)

    def serialize(self) -> SerializedRegistry:
        """Every tool and alias as plain JSON; the same for every order of registration."""
        from toolcrib_core.serialization import serialize_registry

        return serialize_registry(self.snapshot())

    def __len__(self) -> int:
        return len(self._state.tools)

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(self._state.ordered)

    def __contains__(self, tool_id: object) -> bool:
        """Whether a tool has exactly this full id."""
        return isinstance(tool_id, str) and tool_id in self._state.tools

    def __repr__(self) -> str:
        state = self._state
        return (
            f"<{type(self).__name__} with {len(state.tools)} tools and {len(state.aliases)} aliases, "
            f"revision {state.revision}>"
        )


class RegistrySnapshot(RegistryView):
    """A registry as it was at one moment: what is registered later, or taken out, does not show."""

    __slots__ = ()


def _remember(state: RegistryState, key: tuple[str, str | None, bool], definition: ToolDefinition) -> None:
    if len(state.resolved) >= _MAX_REMEMBERED:
        state.resolved.clear()
    state.resolved[key] = definition
