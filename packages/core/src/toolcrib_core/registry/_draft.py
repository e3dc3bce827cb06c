"""A change in the making: the maps of a state that nobody sees until it is whole."""

from __future__ import annotations

from typing import Generic, TypeVar

from rpds import HashTrieMap, HashTrieSet

from toolcrib_core.definition import ToolDefinition, is_tool_definition
from toolcrib_core.errors import InvalidDefinition
from toolcrib_core.registry._aliases import alias_too_deep, follow, longest_lead
from toolcrib_core.registry._changes import ChangeKind
from toolcrib_core.registry._refusals import (
    alias_hides_tool,
    alias_taken,
    duplicate_tool,
    tool_takes_alias,
    unknown_alias,
)
from toolcrib_core.registry._state import RegistryState, family_of

_Value = TypeVar("_Value")


class EditedMap(Generic[_Value]):
    """A persistent map with edits on top: put in together they cost a third of what they cost one by one."""

    __slots__ = ("_base", "_edits")

    def __init__(self, base: HashTrieMap[str, _Value]) -> None:
        self._base = base
        self._edits: dict[str, _Value | None] = {}

    def get(self, key: str) -> _Value | None:
        """The value as edited; `None` when there is none."""
        return self._edits[key] if key in self._edits else self._base.get(key)

    def put(self, key: str, value: _Value | None) -> None:
        """Set a value; `None` takes the key out."""
        self._edits[key] = value

    def finish(self) -> HashTrieMap[str, _Value]:
        """The map with its edits; the one from before when there are none."""
        edits, result = self._edits, self._base
        if len(edits) == 1:  # as it is when tools come one by one
            ((key, value),) = edits.items()
            return result.discard(key) if value is None else result.insert(key, value)
        for key, value in edits.items():
            if value is None:
                result = result.discard(key)
        put = {key: value for key, value in edits.items() if value is not None}
        return result.update(put) if put else result


class Draft:
    """Works on copies that cost nothing; when a step fails the draft is thrown away and nothing has happened."""

    def __init__(self, state: RegistryState, *, max_alias_depth: int) -> None:
        self._base = state
        self._max_alias_depth = max_alias_depth
        self.changed: list[tuple[ChangeKind, str]] = []
        self._registrations = state.registrations
        self._tools = EditedMap(state.tools)
        self._families = EditedMap(state.families)
        self._aliases = EditedMap(state.aliases)
        self._referrers = EditedMap(state.referrers)

    def add_tool(self, definition: ToolDefinition, *, override: bool) -> ToolDefinition:
        """Put a tool in; an identical one that is there already stays as it is."""
        if not is_tool_definition(definition):
            raise InvalidDefinition(
                f"Only a `ToolDefinition` can be registered, not a value of type `{type(definition).__name__}`.",
                hint="Build one with `ToolDefinition(...)` first.",
            )
        tool_id = definition.id
        registered = self._tools.get(tool_id)
        if registered is not None:
            # An id is only a name: its hash counts 32 bits of the input shape, so equality rests on the full digest.
            if registered is definition or registered.digest == definition.digest:
                return registered
            if not override:
                raise duplicate_tool(registered, definition)
        family = family_of(tool_id)
        for alias in (tool_id, family):
            target = self._aliases.get(alias)
            if target is not None:
                raise tool_takes_alias(tool_id, alias, target)
        self._registrations += 1
        self._tools.put(tool_id, definition)
        self._families.put(family, (self._families.get(family) or HashTrieMap()).insert(tool_id, self._registrations))
        self.changed.append(("added" if registered is None else "replaced", tool_id))
        return definition

    def remove_tool(self, tool_id: str) -> None:
        """Take a tool out, and with it every alias that points at exactly this id."""
        for alias in sorted(self._referrers.get(tool_id) or ()):
            self._drop_alias(alias, tool_id)
        family = family_of(tool_id)
        members = self._families.get(family) or HashTrieMap()
        self._families.put(family, members.discard(tool_id) or None)
        self._tools.put(tool_id, None)
        self.changed.append(("removed", tool_id))

    def add_alias(self, alias: str, target: str, *, override: bool) -> None:
        """Point an alias at a target; one that points there already stays as it is."""
        if self._tools.get(alias) is not None or self._families.get(alias) is not None:
            raise alias_hides_tool(alias, target)
        registered = self._aliases.get(alias)
        if registered == target:
            return
        if registered is not None:
            if not override:
                raise alias_taken(alias, registered, target)
            self._drop_alias(alias, registered)
        self._aliases.put(alias, target)
        self._referrers.put(target, (self._referrers.get(target) or HashTrieSet()).insert(alias))
        self.changed.append(("alias-added", alias))

    def remove_alias(self, alias: str) -> str:
        """Take an alias out and say where it pointed."""
        target = self._aliases.get(alias)
        if target is None:
            raise unknown_alias(self._base, alias)
        self._drop_alias(alias, target)
        return target

    def finish(self) -> RegistryState:
        """The state to show; the one from before when nothing is new."""
        if not self.changed:
            return self._base
        for kind, name in self.changed:
            # Only now: of aliases that come together, some may make a cycle until the others are there.
            if kind == "alias-added":
                self._check_chain(name)
        return RegistryState(
            revision=self._base.revision + 1,
            registrations=self._registrations,
            tools=self._tools.finish(),
            families=self._families.finish(),
            aliases=self._aliases.finish(),
            referrers=self._referrers.finish(),
        )

    def _drop_alias(self, alias: str, target: str) -> None:
        self._aliases.put(alias, None)
        self._referrers.put(target, (self._referrers.get(target) or HashTrieSet()).discard(alias) or None)
        self.changed.append(("alias-removed", alias))

    def _check_chain(self, alias: str) -> None:
        depth = self._max_alias_depth
        chain = follow(self._aliases.get, alias, max_depth=depth).chain
        lead = longest_lead(self._referrers.get, alias, max_depth=depth)
        if len(lead) + len(chain) - 1 > depth:
            raise alias_too_deep([*lead, *chain], depth)
