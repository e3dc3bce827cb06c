"""What a registry holds at one moment: persistent maps that never change once they can be seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from rpds import HashTrieMap, HashTrieSet

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError
from toolcrib_core.registry._warnings import RegistryWarning
from toolcrib_core.wording import quoted

if TYPE_CHECKING:
    from toolcrib_core.search import SearchIndex

VersionSelector: TypeAlias = Callable[[Sequence[ToolDefinition]], ToolDefinition | None] | Literal["highest"]
"""Chooses among definitions that fit: `"highest"`, the highest version with pre-releases counted like releases, or a
function.

The function gets the default choice last, and leaves the choice to the registry with `None`. It must depend on nothing
but what it is given: answers are remembered until the registry changes.
"""

HIGHEST: Literal["highest"] = "highest"

DEFAULT_ALIAS_DEPTH = 5
MAX_ALIAS_DEPTH = 100


@dataclass(frozen=True, kw_only=True)
class RegistryOptions:
    """How a registry chooses, how long a chain of aliases may be, and who hears its warnings."""

    version_selector: VersionSelector | None = None
    max_alias_depth: int = DEFAULT_ALIAS_DEPTH
    on_warning: Callable[[RegistryWarning], object] | None = None
    """Gets every warning; without it they go to `warnings.warn`."""

    def __post_init__(self) -> None:
        depth: object = self.max_alias_depth
        if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= MAX_ALIAS_DEPTH:
            raise CatalogError(f"`max_alias_depth` must be a whole number from 1 to {MAX_ALIAS_DEPTH}.")
        selector: object = self.version_selector
        if selector is not None and selector != HIGHEST and not callable(selector):
            shown = quoted(selector) if isinstance(selector, str) else f"a value of type `{type(selector).__name__}`"
            raise CatalogError(
                f"`version_selector` must be `highest` or a function, not {shown}.",
                hint="Leave it out to prefer releases to pre-releases.",
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class RegistryState:
    """Everything there is to read; a change makes another state."""

    revision: int = 0
    registrations: int = 0
    tools: HashTrieMap[str, ToolDefinition] = field(default_factory=HashTrieMap)
    families: HashTrieMap[str, HashTrieMap[str, int]] = field(default_factory=HashTrieMap)
    """By `namespace:name`: the ids of its tools, each with the number of its registration."""
    aliases: HashTrieMap[str, str] = field(default_factory=HashTrieMap)
    referrers: HashTrieMap[str, HashTrieSet[str]] = field(default_factory=HashTrieMap)
    """By target: the aliases that point at it."""
    resolved: dict[tuple[str, str | None, bool], ToolDefinition] = field(default_factory=dict, repr=False)
    """What `resolve` found in this state; a state is left behind whole, so nothing here can be stale."""
    indexes: list[SearchIndex] = field(default_factory=list, repr=False, compare=False)
    """The search index of this state, once it was asked for."""

    @cached_property
    def ordered(self) -> tuple[ToolDefinition, ...]:
        """Every tool, ascending by id."""
        return tuple(self.tools[tool_id] for tool_id in sorted(self.tools))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every `namespace:name`; kept, because a persistent map of 100,000 takes a quarter of a second to walk."""
        return tuple(self.families)

    def in_order_of_registration(self) -> tuple[ToolDefinition, ...]:
        """Every tool, the one registered last at the end."""
        numbers = {tool_id: number for family in self.families.values() for tool_id, number in family.items()}
        return tuple(self.tools[tool_id] for tool_id in sorted(numbers, key=numbers.__getitem__))

    def members(self, family: str) -> tuple[ToolDefinition, ...]:
        """The tools of one `namespace:name`, in the order of their registration."""
        numbers = self.families.get(family, HashTrieMap())
        return tuple(self.tools[tool_id] for tool_id in sorted(numbers, key=numbers.__getitem__))


def family_of(tool_id: str) -> str:
    """The `namespace:name` of an id; inside a component both marks are percent-encoded."""
    return tool_id.partition("@")[0].partition("#")[0]
