"""Calls that users write and that must keep type-checking: read by mypy, never run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_type

from pydantic import BaseModel

import toolcrib
from toolcrib_core import (
    ChoiceCard,
    Comparison,
    JsonObject,
    RegistryChange,
    RegistrySnapshot,
    RegistryWarning,
    SemVer,
    SerializedRegistry,
    SerializedToolDefinition,
    ToolContext,
    ToolDefinition,
    ToolError,
    ToolErrorCategory,
    ToolIdentity,
    ToolPredicate,
    ToolRegistry,
    ToolRisk,
    UnknownTool,
    WireNames,
    all_of,
    combine_registries,
    compare,
    count_tokens,
    create_registry,
    create_tool_error,
    define_tool,
    deserialize_registry,
    deserialize_tool_definition,
    format_tool_id,
    has_tags,
    in_namespace,
    inspect,
    is_tool_definition,
    is_valid,
    make_card,
    merge_risks,
    none_of,
    order_cards,
    parse_tool_id,
    parse_version,
    render_card,
    render_cards,
    serialize_registry,
    serialize_tool_definition,
    validate_arguments,
    with_risk,
)


class Forecast(BaseModel):
    """The weather of a city."""

    city: str
    days: int = 3


def forecast(city: str, days: int = 3) -> dict[str, float]:
    """The weather of the next days."""
    return {city: float(days)}


def defining_tools() -> None:
    assert_type(define_tool(forecast, namespace="weather", version="1.0.0"), ToolDefinition)
    assert_type(define_tool(Forecast, risk=ToolRisk(effects="read"), tags=["weather"]), ToolDefinition)
    assert_type(define_tool({"type": "object"}, name="anything"), ToolDefinition)
    tool = ToolDefinition(namespace="web", name="search", input_schema={"type": "object"})
    assert_type(tool.id, str)
    assert_type(tool.identity, ToolIdentity)
    assert_type(tool.replace(title="Search"), ToolDefinition)
    assert_type(merge_risks(tool.risk, ToolRisk(effects="write")), ToolRisk)


def naming_tools() -> None:
    identity = parse_tool_id("weather:forecast@1.0.0")
    assert_type(identity, ToolIdentity)
    assert_type(format_tool_id(identity, profile="gateway"), str)
    assert_type(WireNames(["weather:forecast@1.0.0"], prefix="mcp__crib__").encode("weather:forecast@1.0.0"), str)
    assert_type(parse_version("1.0.0"), SemVer | None)


def keeping_tools(tools: list[ToolDefinition]) -> None:
    registry = create_registry(tools, aliases={"weather:outlook": "weather:forecast"}, max_alias_depth=3)
    assert_type(registry, ToolRegistry)
    assert_type(registry.register(tools[0], aliases=["a:b"], override=True), ToolDefinition)
    assert_type(registry.unregister("weather:forecast@1.0.0"), ToolDefinition)
    assert_type(registry.get("weather:forecast@1.0.0"), ToolDefinition)
    assert_type(registry.resolve("weather:forecast", version="^1.2", allow_deprecated=True), ToolDefinition)
    assert_type(registry.resolve({"name": "forecast"}), ToolDefinition)
    assert_type(registry.list(), tuple[ToolDefinition, ...])
    assert_type(registry.snapshot(), RegistrySnapshot)
    assert_type([tool.id for tool in registry], list[str])
    assert_type(combine_registries(registry, registry.snapshot(), on_conflict="first"), ToolRegistry)


def listening(registry: ToolRegistry) -> None:
    def on_change(change: RegistryChange) -> None:
        assert_type(change.revision, int)

    def on_warning(warning: RegistryWarning) -> None:
        assert_type(warning.replaced_by, str | None)

    assert_type(registry.subscribe(on_change), Callable[[], None])
    create_registry(on_warning=on_warning)


def querying(registry: ToolRegistry) -> None:
    readable: ToolPredicate = all_of(in_namespace("github"), has_tags("issues"), none_of(with_risk(effects="write")))
    registry.query(namespace="github", tags_any=["issues"], where=readable, limit=10, offset=20)
    registry.query(select="id", kind="tool", deprecated=False, text="create issue")
    registry.query(select=lambda tool: tool.title)
    assert_type(inspect(registry, level="summary"), JsonObject)


def showing_tools(tool: ToolDefinition) -> None:
    card = make_card(tool, score=0.5, withhold=["https://example.com"])
    assert_type(card, ChoiceCard)
    assert_type(render_card(card), str)
    assert_type(render_cards(order_cards([card]), preamble="Tools:"), str)
    assert_type(count_tokens(render_card(card)), int)


def checking_arguments(tool: ToolDefinition, arguments: Mapping[str, Any]) -> None:
    assert_type(validate_arguments(tool, '{"city": "Oslo"}'), dict[str, Any])
    assert_type(validate_arguments(tool, arguments), dict[str, Any])
    assert_type(is_valid(tool, arguments), bool)


def comparing(old: ToolDefinition, new: ToolDefinition) -> None:
    assert_type(compare(old, new), Comparison)


def serializing(registry: ToolRegistry, value: object) -> None:
    if is_tool_definition(value):
        assert_type(serialize_tool_definition(value), SerializedToolDefinition)
    assert_type(serialize_registry(registry), SerializedRegistry)
    assert_type(deserialize_registry(b"{}"), ToolRegistry)
    assert_type(deserialize_tool_definition("{}"), ToolDefinition)


def handling_errors(registry: ToolRegistry) -> None:
    try:
        registry.get("weather:forecast@1.0.0")
    except UnknownTool as error:
        assert_type(error.hint, str | None)
        assert_type(error.to_dict(), dict[str, object])
    failure = create_tool_error("toolbox.internal-error", "It broke.", category=ToolErrorCategory.INTERNAL)
    assert_type(failure, ToolError)
    assert_type(failure.category, ToolErrorCategory)
    ToolContext(run_id="r1", deadline=10.0)


def through_the_umbrella() -> None:
    assert_type(toolcrib.create_registry(), ToolRegistry)
    toolcrib.no_such_name  # type: ignore[attr-defined]  # noqa: B018 - a misspelt name must not pass
