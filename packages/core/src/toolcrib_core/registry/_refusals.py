"""The words of the errors with which a registry refuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain as joined

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import (
    AliasConflict,
    AmbiguousTool,
    DeprecatedTool,
    DuplicateTool,
    ToolError,
    UnknownTool,
    UnknownVersion,
)
from toolcrib_core.identity import DEFAULT_NAMESPACE
from toolcrib_core.registry._aliases import Trail
from toolcrib_core.registry._requests import readable
from toolcrib_core.registry._state import RegistryState, family_of
from toolcrib_core.registry._suggest import close_names
from toolcrib_core.registry._warnings import deprecation_advice
from toolcrib_core.versions import version_order

_MAX_LISTED = 20
_MAX_SHOWN = 3
_MAX_TEXT = 80


def duplicate_tool(registered: ToolDefinition, offered: ToolDefinition) -> DuplicateTool:
    """The id is taken by something else; says what differs."""
    differs = [
        part
        for part in ("shape", "prose")
        if getattr(registered, f"{part}_digest") != getattr(offered, f"{part}_digest")
    ]
    what = {
        "shape": "its input or output schema",
        "prose": "what it says about itself",
        "": "its metadata, lifecycle, kind or cost",
    }
    return DuplicateTool(
        f"`{_brief(offered.id)}` is registered already, and {' and '.join(what[part] for part in differs or [''])} "
        f"differs.",
        hint="Give the new definition another version, or pass `override=True` to replace the registered one.",
        details={
            "id": offered.id,
            "differs": differs,
            "registered": {"shape": registered.shape_digest, "prose": registered.prose_digest},
            "offered": {"shape": offered.shape_digest, "prose": offered.prose_digest},
        },
    )


def tool_takes_alias(tool_id: str, alias: str, target: str) -> AliasConflict:
    """A tool to be registered would hide an alias."""
    return AliasConflict(
        f"`{_brief(tool_id)}` cannot be registered: `{_brief(alias)}` is an alias of `{_brief(target)}`.",
        hint=f"Call `remove_alias` with `{_brief(alias)}` first, or register the tool under another name.",
        details={"chain": [alias, target]},
    )


def alias_hides_tool(alias: str, target: str) -> AliasConflict:
    """An alias to be added would hide a tool."""
    return AliasConflict(
        f"`{_brief(alias)}` cannot be an alias: a tool of that name is registered.",
        hint="Choose another alias, or unregister the tool first.",
        details={"chain": [alias, target]},
    )


def alias_taken(alias: str, registered: str, offered: str) -> AliasConflict:
    """The alias has another target."""
    return AliasConflict(
        f"`{_brief(alias)}` is an alias of `{_brief(registered)}` already.",
        hint="Choose another alias, or pass `override=True` to move it.",
        details={"chain": [alias, registered], "offered": offered},
    )


def unknown_alias(state: RegistryState, alias: str) -> UnknownTool:
    """There is no such alias."""
    close = close_names(alias, state.aliases)
    return UnknownTool(
        f"No alias is called `{_brief(alias)}`.",
        hint=_did_you_mean(close) or "`aliases()` lists those there are.",
        details={"id": alias, "didYouMean": list(close)},
    )


def unknown_tool(state: RegistryState, trail: Trail) -> UnknownTool:
    """Nothing is registered where the request leads."""
    end = trail.chain[-1]
    close = close_names(family_of(end), joined(state.names, state.aliases))
    details = {"id": end, "didYouMean": list(close), "chain": list(trail.chain)}
    if len(trail.chain) == 1:
        return UnknownTool(
            f"No tool is called `{_asked(end)}`.",
            hint=_did_you_mean(close) or "`list()` gives every tool there is.",
            details=details,
        )
    return UnknownTool(
        f"`{_asked(trail.chain[0])}` leads to `{_asked(end)}`, which is not registered: {_printed(trail)}.",
        hint=f"Register `{_asked(end)}`, or point the alias elsewhere.",
        details=details,
    )


def unknown_id(state: RegistryState, tool_id: str) -> UnknownTool:
    """No tool has that id, and none its `namespace:name`."""
    target = state.aliases.get(tool_id) or state.aliases.get(family_of(tool_id))
    if target is not None:
        return UnknownTool(
            f"`{_brief(tool_id)}` is not a tool but an alias of `{_brief(target)}`.",
            hint="Call `resolve`, which follows aliases.",
            details={"id": tool_id, "chain": [tool_id, target]},
        )
    close = close_names(family_of(tool_id), state.names)
    ids = [tool_id for family in close for tool_id in _ids(_best_first(state.members(family)))][:_MAX_SHOWN]
    return UnknownTool(
        f"No tool has the id `{_brief(tool_id)}`.",
        hint=_did_you_mean(ids) or "`list()` gives every tool there is.",
        details={"id": tool_id, "didYouMean": ids},
    )


def unknown_version(asked: str, members: Iterable[ToolDefinition], trail: Trail | None = None) -> UnknownVersion:
    """The tool is there, but not in the version or shape asked for."""
    via = f" ({_printed(trail)})" if trail is not None and len(trail.chain) > 1 else ""
    ids = _ids(_best_first(members))
    return UnknownVersion(
        f"No registered version fits `{_asked(asked)}`{via}.",
        hint=f"There {'is' if len(ids) == 1 else 'are'} {_shown(ids)}.",
        details={"id": asked, **_candidates(ids)},
    )


def ambiguous_tool(asked: str, members: Iterable[ToolDefinition]) -> AmbiguousTool:
    """The id does not say which version or shape is meant, even if only one is registered today."""
    ids = _ids(_best_first(members))
    return AmbiguousTool(
        f"`{_brief(asked)}` fits {'one tool, but is not its full id' if len(ids) == 1 else f'{len(ids)} tools'}.",
        hint=f"Say which is meant: {_shown(ids)}. `resolve` chooses by itself.",
        details={"id": asked, **_candidates(ids)},
    )


def deprecated_tool(asked: str, fitting: Sequence[ToolDefinition]) -> DeprecatedTool:
    """All that fits is deprecated, and none of it was named exactly."""
    ordered = _best_first(fitting)
    best = ordered[0]
    advice = deprecation_advice(best.lifecycle)
    named = "" if best.id == family_of(best.id) else f"name it exactly, `{_brief(best.id)}`, or "
    anyway = f"To use it all the same, {named}pass `allow_deprecated=True`."
    sunset = best.lifecycle.sunset
    return DeprecatedTool(
        f"Everything that fits `{_asked(asked)}` is deprecated.",
        hint=" ".join((*advice, anyway)),
        details={
            "id": asked,
            **_candidates(_ids(ordered)),
            "replacedBy": best.lifecycle.replaced_by,
            "sunset": None if sunset is None else sunset.isoformat(),
        },
    )


def in_words_of_caller(error: ToolError, asked: object) -> ToolError:
    """The error with a bare name as the caller wrote it, without the namespace that it was given."""
    if isinstance(asked, str) and asked and ":" not in asked:
        # A long one is cut in the message.
        end = "`" if len(asked) < _MAX_TEXT - len(DEFAULT_NAMESPACE) - 1 else ""
        start = asked[: _MAX_TEXT // 2] if not end else asked
        error.message = error.message.replace(f"`{DEFAULT_NAMESPACE}:{start}{end}", f"`{start}{end}")
    return error


def _best_first(members: Iterable[ToolDefinition]) -> list[ToolDefinition]:
    return sorted(members, key=lambda each: (version_order(each.version), each.id), reverse=True)


def _ids(definitions: Iterable[ToolDefinition]) -> list[str]:
    return [each.id for each in definitions]


def _candidates(ids: list[str]) -> dict[str, object]:
    return {"candidates": ids[:_MAX_LISTED], "total": len(ids)}


def _shown(ids: Sequence[str]) -> str:
    listed = ", ".join(f"`{_brief(each)}`" for each in ids[:_MAX_SHOWN])
    return listed if len(ids) <= _MAX_SHOWN else f"{listed} and {len(ids) - _MAX_SHOWN} more"


def _did_you_mean(names: Sequence[str]) -> str | None:
    return f"Did you mean {' or '.join(f'`{_brief(name)}`' for name in names)}?" if names else None


def _printed(trail: Trail) -> str:
    return " -> ".join(map(_asked, trail.chain))


def _asked(text: str) -> str:
    return _brief(readable(text))


def _brief(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
