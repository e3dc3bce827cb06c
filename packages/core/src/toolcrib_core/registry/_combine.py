"""Several registries made one, losing nothing unasked."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError
from toolcrib_core.registry._refusals import alias_taken, duplicate_tool
from toolcrib_core.registry._registry import ToolRegistry
from toolcrib_core.registry._state import RegistryOptions
from toolcrib_core.registry._view import RegistrySnapshot, RegistryView

ConflictPolicy: TypeAlias = Literal["error", "first", "last"]


def combine_registries(
    *registries: RegistryView, on_conflict: ConflictPolicy = "error", options: RegistryOptions | None = None
) -> ToolRegistry:
    """A new registry with the tools and aliases of all of these, in the order given.

    When an id or an alias means different things, `on_conflict` decides; equal definitions are no conflict. The options
    of the parts are taken over if they agree, and must be given if they do not.

    Raises:
        CatalogError: The parts disagree about their options, or `on_conflict` is unknown.
        DuplicateTool: An id has different definitions, and `on_conflict` is `error`.
        AliasError: An alias has different targets, and `on_conflict` is `error`. Whatever it is: an alias of one part
            would hide a tool of another, or the aliases together would make a cycle or too long a chain.
    """
    if on_conflict not in get_args(ConflictPolicy):
        raise CatalogError(f"`{on_conflict}` is not a way to settle conflicts.", hint="Use `error`, `first` or `last`.")
    parts = [registry.snapshot() for registry in registries]
    tools = _merged_tools(parts, on_conflict)
    aliases = _merged_aliases(parts, on_conflict)
    return ToolRegistry(tools, aliases=aliases, options=options or _common_options(parts))


def _merged_tools(parts: list[RegistrySnapshot], on_conflict: ConflictPolicy) -> list[ToolDefinition]:
    merged: dict[str, ToolDefinition] = {}
    for definition in (each for part in parts for each in part.in_order_of_registration()):
        earlier = merged.get(definition.id)
        if earlier is None or (earlier.digest != definition.digest and on_conflict != "first"):
            if earlier is not None and on_conflict == "error":
                raise duplicate_tool(earlier, definition)
            # What replaces counts as registered last, as with `register(override=True)`.
            merged.pop(definition.id, None)
            merged[definition.id] = definition
    return list(merged.values())


def _merged_aliases(parts: list[RegistrySnapshot], on_conflict: ConflictPolicy) -> dict[str, str]:
    merged: dict[str, str] = {}
    for alias, target in (each for part in parts for each in part.aliases().items()):
        earlier = merged.setdefault(alias, target)
        if earlier != target and on_conflict == "error":
            raise alias_taken(alias, earlier, target)
        if on_conflict == "last":
            merged[alias] = target
    return merged


def _common_options(parts: list[RegistrySnapshot]) -> RegistryOptions:
    found = [part.options for part in parts] or [RegistryOptions()]
    if any(each != found[0] for each in found):
        raise CatalogError(
            "The registries were made with different options.", hint="Say which options the combined one should have."
        )
    return found[0]
