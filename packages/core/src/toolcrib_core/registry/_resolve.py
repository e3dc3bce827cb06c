"""Finding one tool: by its full id, or by choosing among those that fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import InvalidToolId, ResolutionError, ToolErrorCategory
from toolcrib_core.identity import ToolIdentity, hash8, normalize_identity, parse_tool_id
from toolcrib_core.registry._aliases import follow
from toolcrib_core.registry._refusals import (
    ambiguous_tool,
    deprecated_tool,
    in_words_of_caller,
    unknown_id,
    unknown_tool,
    unknown_version,
)
from toolcrib_core.registry._requests import IdentityLike, read_request
from toolcrib_core.registry._state import HIGHEST, RegistryOptions, RegistryState, VersionSelector, family_of
from toolcrib_core.versions import as_range, matching_versions, parse_range, parse_version, version_order

_ANY = parse_range("*")


def get_by_id(state: RegistryState, identity: IdentityLike) -> ToolDefinition:
    """The tool with this id; the hash may be left out, or added, where only one tool without a version is meant.

    Raises:
        AmbiguousTool: The id fits several tools, or leaves out a version.
        UnknownVersion: The tool is there, but not this version or shape of it.
        UnknownTool: No tool has that `namespace:name`.
    """
    if isinstance(identity, str) and (definition := state.tools.get(identity)) is not None:
        return definition
    try:
        return _only_tool(state, normalize_identity(identity))
    except (ResolutionError, InvalidToolId) as error:
        raise in_words_of_caller(error, identity) from None


def _only_tool(state: RegistryState, asked: ToolIdentity) -> ToolDefinition:
    text = str(asked)
    if (definition := state.tools.get(text)) is not None:
        return definition
    members = state.members(family_of(text))
    if not members:
        raise unknown_id(state, text)
    fitting = [each for each in members if asked.version in {None, each.version} and _has_shape(each, asked.hash8)]
    if not fitting:
        raise unknown_version(text, members)
    if asked.version is None and (len(fitting) > 1 or fitting[0].version is not None):
        raise ambiguous_tool(text, fitting)
    return fitting[0]


def choose_tool(
    state: RegistryState,
    identity: IdentityLike,
    options: RegistryOptions,
    *,
    version: str | None,
    allow_deprecated: bool,
) -> ToolDefinition:
    """The one tool that a request means, by the rules of `ToolRegistry.resolve`."""
    try:
        return _chosen_tool(state, identity, options, version=version, allow_deprecated=allow_deprecated)
    except (ResolutionError, InvalidToolId) as error:
        raise in_words_of_caller(error, identity) from None


def _chosen_tool(
    state: RegistryState,
    identity: IdentityLike,
    options: RegistryOptions,
    *,
    version: str | None,
    allow_deprecated: bool,
) -> ToolDefinition:
    text = _request_text(state, identity, version)
    if "@" in text or "#" in text:
        # `namespace:name` alone may be an id, but it asks for a choice among all versions.
        definition = state.tools.get(text)
        if definition is not None:
            return definition
    trail = follow(state.aliases.get, text, max_depth=options.max_alias_depth)
    demands = tuple(map(parse_tool_id, trail.demands))
    members = state.members(trail.family)
    if not members:
        raise unknown_tool(state, trail)
    exact = {each.id for each in members if any(_names(demand, each) for demand in demands)}
    usable = [each for each in members if allow_deprecated or not each.lifecycle.deprecated or each.id in exact]
    fitting = _fitting(usable, demands)
    if not fitting:
        outdated = _fitting(members, demands)
        raise (
            deprecated_tool(trail.chain[0], outdated) if outdated else unknown_version(trail.chain[0], members, trail)
        )
    named = [each for each in fitting if each.id in exact]
    if len(named) == 1:
        return named[0]
    return _choose(fitting, demands, options.version_selector)


def _request_text(state: RegistryState, identity: IdentityLike, version: str | None) -> str:
    # What is a key of the state is canonical: reading it would give it back, and cost more than all the rest.
    if isinstance(identity, str) and version is None and (identity in state.families or identity in state.aliases):
        return identity
    return str(read_request(identity, version))


def _names(demand: ToolIdentity, definition: ToolDefinition) -> bool:
    if definition.version is None:
        return demand.version is None and demand.hash8 is not None and _has_shape(definition, demand.hash8)
    return demand.version == definition.version


def _fitting(members: Iterable[ToolDefinition], demands: Iterable[ToolIdentity]) -> list[ToolDefinition]:
    fitting = list(members)
    for demand in demands:
        fitting = [each for each in fitting if _has_shape(each, demand.hash8)]
        if demand.version is not None:
            fitting = _with_version(fitting, demand.version)
    return fitting


def _has_shape(definition: ToolDefinition, wanted: str | None) -> bool:
    if wanted is None:
        return True
    return hash8(definition.upstream_name or definition.name, definition.input_schema) == wanted


def _with_version(members: list[ToolDefinition], version: str) -> list[ToolDefinition]:
    """Those with exactly this version, else those in the range it is: so `1.2` is `1.2.x` unless there is a `1.2`."""
    exact = [each for each in members if each.version == version]
    wanted = None if exact else as_range(version)
    if wanted is None:
        return exact
    versions = frozenset(matching_versions((each.version for each in members if each.version is not None), wanted))
    return [each for each in members if each.version in versions]


def _choose(
    fitting: Sequence[ToolDefinition], demands: Iterable[ToolIdentity], selector: VersionSelector | None
) -> ToolDefinition:
    """The highest version if all are SemVer, else the one registered last.

    A range has let in the pre-releases it asks for and no others; without one, releases come before them, except where
    the selector is `highest`.
    """
    if len(fitting) == 1 and selector is None:
        return fitting[0]
    ordered = list(fitting)
    versions = [each.version for each in fitting if each.version is not None and parse_version(each.version)]
    if len(versions) == len(fitting):
        alike = selector == HIGHEST or any(demand.version for demand in demands)
        preferred = frozenset(versions if alike else matching_versions(versions, _ANY))
        ordered.sort(key=lambda each: (each.version in preferred, version_order(each.version)))
    if selector is not None and selector != HIGHEST:
        choice = selector(tuple(ordered))
        if choice is not None:
            return _offered(choice, ordered)
    return ordered[-1]


def _offered(choice: ToolDefinition, candidates: Sequence[ToolDefinition]) -> ToolDefinition:
    if not any(choice is each for each in candidates):
        raise ResolutionError(
            "The `version_selector` returned something that it was not offered.",
            category=ToolErrorCategory.INTERNAL,
            hint="It must return one of the definitions it is given, or `None`.",
            details={"candidates": [each.id for each in candidates]},
        )
    return choice
