"""`ToolRegistry`: the catalogue of tools, and the only thing that changes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Self, TypeVar

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.registry._changes import ChangeFeed, ChangeListener
from toolcrib_core.registry._draft import Draft
from toolcrib_core.registry._requests import IdentityLike, read_request
from toolcrib_core.registry._resolve import get_by_id
from toolcrib_core.registry._state import DEFAULT_ALIAS_DEPTH, RegistryOptions, RegistryState, VersionSelector
from toolcrib_core.registry._view import RegistryView
from toolcrib_core.registry._warnings import RegistryWarning, emit

_Result = TypeVar("_Result")


class ToolRegistry(RegistryView):
    """Tools by id, with versions, aliases, queries and a change feed.

    Reading never waits. Writers take turns; a change is seen whole or not at all, and one that fails changes nothing.
    Every method may be called from any thread, and from a listener or a predicate.
    """

    __slots__ = ("_feed", "_writing")

    def __init__(
        self,
        definitions: Iterable[ToolDefinition] = (),
        *,
        aliases: Mapping[str, str] | None = None,
        options: RegistryOptions | None = None,
    ) -> None:
        super().__init__(RegistryState(), options or RegistryOptions())
        self._writing = threading.Lock()
        self._feed = ChangeFeed()
        offered = tuple(definitions)
        targets = sorted((_alias_text(alias), str(read_request(target))) for alias, target in (aliases or {}).items())

        def fill(draft: Draft) -> None:
            for definition in offered:
                draft.add_tool(definition, override=False)
            for alias, target in targets:
                draft.add_alias(alias, target, override=False)

        self._write(fill)

    @classmethod
    def branch_of(cls, view: RegistryView) -> Self:
        """A registry of its own that begins with all that another holds now, at no cost: what both hold is shared."""
        state, indexes = view._state, view._indexes  # noqa: SLF001  # a view is the reading half of a registry
        branch = cls(options=view.options)
        branch._state, branch._indexes = state, indexes.branch(state)
        return branch

    def register(
        self, definition: ToolDefinition, *, aliases: Iterable[str] = (), override: bool = False
    ) -> ToolDefinition:
        """Add a tool, with aliases that point at exactly its id.

        The same definition again changes nothing. With `override` a different definition of the same id is replaced,
        and counts as registered last; aliases that point elsewhere are moved.

        Raises:
            InvalidDefinition: The argument is not a definition.
            DuplicateTool: The id is taken by a different definition.
            AliasError: An alias is taken or would hide a tool, or the tool would hide an alias.
        """
        names = [_alias_text(alias) for alias in _texts(aliases)]

        def change(draft: Draft) -> ToolDefinition:
            registered = draft.add_tool(definition, override=override)
            for name in names:
                draft.add_alias(name, registered.id, override=override)
            return registered

        return self._write(change)

    def register_all(
        self, definitions: Iterable[ToolDefinition], *, override: bool = False
    ) -> tuple[ToolDefinition, ...]:
        """Add all of these tools in one change, or none of them.

        Raises:
            InvalidDefinition: One is not a definition.
            DuplicateTool: An id is taken by a different definition.
            AliasConflict: A tool would hide an alias.
        """
        offered = tuple(definitions)
        return self._write(lambda draft: tuple(draft.add_tool(each, override=override) for each in offered))

    def unregister(self, tool_id: IdentityLike) -> ToolDefinition:
        """Take out the tool with this full id, and every alias that points at exactly this id; returns the tool.

        Raises:
            ResolutionError: As `get`.
        """

        def change(draft: Draft) -> ToolDefinition:
            definition = get_by_id(self._state, tool_id)
            draft.remove_tool(definition.id)
            return definition

        return self._write(change)

    def add_alias(self, alias: str, target: IdentityLike, *, override: bool = False) -> None:
        """Let a name stand for an id, a `namespace:name`, a range of its versions, or another alias.

        The target need not be registered yet. With `override` an alias that exists is moved.

        Raises:
            InvalidToolId: The alias or the target is not an id.
            AliasConflict: The alias is taken, or would hide a tool.
            AliasCycle: The alias would lead back to itself.
            AliasTooDeep: A chain of aliases would be longer than allowed.
        """
        name, goal = _alias_text(alias), str(read_request(target))
        self._write(lambda draft: draft.add_alias(name, goal, override=override))

    def remove_alias(self, alias: str) -> str:
        """Take out an alias and return what it pointed at.

        Raises:
            UnknownTool: There is no such alias.
        """
        name = _alias_text(alias)
        return self._write(lambda draft: draft.remove_alias(name))

    def subscribe(self, listener: ChangeListener) -> Callable[[], None]:
        """Call the listener with every `RegistryChange` from now on; call what is returned to stop.

        It hears of a change once, after the change can be seen, in the order of the changes, and outside any lock, so
        it may read and change the registry. When writers overlap, one thread tells the changes of all. A listener that
        raises undoes nothing and keeps nobody else from hearing: a `RegistryWarning` tells of it, and has the exception
        as its `__cause__`.
        """
        return self._feed.subscribe(listener)

    def _write(self, change: Callable[[Draft], _Result]) -> _Result:
        with self._writing:
            draft = Draft(self._state, max_alias_depth=self._options.max_alias_depth)
            result = change(draft)
            self._state = draft.finish()
            self._feed.put(draft.changed, revision=self._state.revision)
        for warning in self._feed.deliver():
            emit(warning, self._options.on_warning, callers_above=3)
        return result


def create_registry(
    definitions: Iterable[ToolDefinition] = (),
    *,
    aliases: Mapping[str, str] | None = None,
    version_selector: VersionSelector | None = None,
    max_alias_depth: int = DEFAULT_ALIAS_DEPTH,
    on_warning: Callable[[RegistryWarning], object] | None = None,
) -> ToolRegistry:
    """A registry of these tools and aliases.

    `version_selector` chooses among versions that fit: a function, or `"highest"`, which counts pre-releases like
    releases. `on_warning` gets what would else go to `warnings.warn`.

    Raises:
        CatalogError: An option, a definition or an alias is wrong, or two of them are in each other's way.
    """
    options = RegistryOptions(version_selector=version_selector, max_alias_depth=max_alias_depth, on_warning=on_warning)
    return ToolRegistry(definitions, aliases=aliases, options=options)


def _alias_text(alias: str) -> str:
    return str(read_request(alias))


def _texts(aliases: Iterable[str]) -> tuple[str, ...]:
    return (aliases,) if isinstance(aliases, str) else tuple(aliases)
