"""`toolcrib export`: the definitions of a catalogue in the form that a provider's API takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from toolcrib_cli.asking import Choice
from toolcrib_cli.screen import print_json, printable, tell
from toolcrib_cli.session import with_gateway
from toolcrib_core import CatalogError, create_registry, registry_json
from toolcrib_core.wording import count, quoted

if TYPE_CHECKING:
    from toolcrib_core import ToolDefinition, ToolError
    from toolcrib_mcp.catalog import CatalogSnapshot
    from toolcrib_mcp.gateway import Gateway

_MAX_LOSSES: Final = 20


class Exported(NamedTuple):
    """What is printed, and by tool what of it was lost, in sentences."""

    value: Any
    losses: Mapping[str, Sequence[str]] = {}
    skipped: Mapping[str, ToolError] = {}
    """Why a tool was left out, by its id."""


Export: TypeAlias = "Callable[[CatalogSnapshot, Sequence[str]], Exported]"


def run_export(*, choice: Choice, provider: str, tools: Sequence[str], fresh: bool, timeout: float) -> None:
    """Print the definitions, and tell on standard error what the provider's form cannot say.

    Raises:
        ToolError: The catalogue cannot be used, there is no such tool, or a part is not installed.
    """
    export = _EXPORTS[provider]

    async def work(gateway: Gateway) -> Exported:
        snapshot = gateway.hub.catalog.snapshot()
        ids = [snapshot.resolve(each) for each in tools] if tools else list(snapshot.ids)
        return export(snapshot, ids)

    exported = with_gateway(choice, work, timeout=timeout, fresh=fresh)
    print_json(exported.value)
    _tell_skipped(exported.skipped)
    _tell_losses(exported.losses)


def _tell_skipped(skipped: Mapping[str, ToolError]) -> None:
    if skipped:
        tell(f"left out: {count(len(skipped), 'tool')} that this provider cannot take")
    for each in skipped.values():
        tell(f"  {printable(each.message)}")


def _tell_losses(losses: Mapping[str, Sequence[str]]) -> None:
    lines = [f"{tool_id} {line}" for tool_id, every in losses.items() for line in every]
    if lines:
        tell(f"lost: {count(len(lines), 'thing')} of {count(len(losses), 'tool')} that this form cannot say")
    for line in lines[:_MAX_LOSSES]:
        tell(f"  {printable(line)}")
    if len(lines) > _MAX_LOSSES:
        tell(f"  and {len(lines) - _MAX_LOSSES} more")


def _definitions(snapshot: CatalogSnapshot, ids: Sequence[str]) -> list[ToolDefinition]:
    return [snapshot.hydrate(each).definition for each in ids]


def _neutral(snapshot: CatalogSnapshot, ids: Sequence[str]) -> Exported:
    return Exported(json.loads(registry_json(create_registry(_definitions(snapshot, ids)))))


def _mcp(snapshot: CatalogSnapshot, ids: Sequence[str]) -> Exported:
    hydrated = [snapshot.hydrate(each) for each in ids]
    return Exported({"tools": [each.tool | {"name": snapshot.wire_names.encode(each.tool_id)} for each in hydrated]})


def _by_adapter(part: str, function: str, **options: Any) -> Export:
    """An export by an adapter: `toolcrib_<part>.<function>` gives `tools`, and `losses` by tool id."""

    def export(snapshot: CatalogSnapshot, ids: Sequence[str]) -> Exported:
        made = _adapter(part, function)(_definitions(snapshot, ids), on_illegal="skip", **options)
        losses = {tool_id: list(report.lines()) for tool_id, report in made.losses.items()}
        return Exported(made.tools, losses, made.skipped)

    return export


def _adapter(part: str, function: str) -> Callable[..., Any]:
    try:
        return getattr(import_module(f"toolcrib_{part}"), function)  # type: ignore[no-any-return]  # by name
    except ModuleNotFoundError as missing:
        name = f"toolcrib-{part.replace('_', '-')}"
        raise CatalogError(
            f"This needs {quoted(missing.name or name)}, which is not installed.", hint=f"pip install {name}"
        ) from None


_EXPORTS: Final[Mapping[str, Export]] = {
    "openai": _by_adapter("openai", "to_openai_tools"),
    "openai-chat": _by_adapter("openai", "to_openai_tools", api="chat"),
    "anthropic": _by_adapter("anthropic", "to_anthropic_tools"),
    "gemini": _by_adapter("gemini", "to_gemini_tools"),
    "claude-agent": _by_adapter("claude_agent", "to_claude_agent_tools"),
    "mcp": _mcp,
    "neutral": _neutral,
}
