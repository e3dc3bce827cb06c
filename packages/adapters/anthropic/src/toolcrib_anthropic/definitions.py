"""Definitions as the `tools` of the Anthropic Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from toolcrib_anthropic.lazy_loading import ToolSearch, search_tool
from toolcrib_anthropic.strict import PLAIN, STRICT, StrictBudget
from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError, UnsupportedTool
from toolcrib_core.json_values import JsonObject, thaw
from toolcrib_core.providers.conversion import Conversion, first_fitting
from toolcrib_core.providers.describing import description_of
from toolcrib_core.providers.losses import Loss, LossReport
from toolcrib_core.providers.names import ToolNames
from toolcrib_core.providers.tool_sources import OnIllegal, ToolsLike, legal_tools
from toolcrib_core.schema.validate import is_valid

Caller: TypeAlias = Literal["direct", "code_execution_20250825", "code_execution_20260120", "code_execution_20260521"]
"""Who may call a tool: the model itself, or code that it writes and the API runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnthropicTools:
    """The tools of a request: what goes into `tools`, and all that is needed to read the calls that come back."""

    tools: list[JsonObject]
    """In ascending order of their names, whatever the order of the definitions; a search of the API stands last."""
    names: ToolNames
    losses: Mapping[str, LossReport] = field(default_factory=dict)
    """What each schema lost, by tool id; a tool that lost nothing is not in it."""
    not_strict: Mapping[str, tuple[Loss, ...]] = field(default_factory=dict)
    """Why a tool is not strict although that was asked for, by tool id."""
    skipped: Mapping[str, UnsupportedTool] = field(default_factory=dict)
    """Why a tool was left out, by tool id."""


def to_anthropic_tools(
    definitions: ToolsLike,
    *,
    strict: bool = False,
    loaded: Iterable[ToolDefinition | str] | None = None,
    search: ToolSearch | None = None,
    cache: Literal["5m", "1h"] | None = None,
    allowed_callers: Sequence[Caller] | Mapping[str, Sequence[Caller]] = (),
    examples: bool = True,
    on_illegal: OnIllegal = "raise",
) -> AnthropicTools:
    """Definitions as the `tools` of a request.

    Args:
        definitions: The tools of the conversation, those that are only loaded later included: a toolbox, a registry,
            one tool, or a list of runnable tools or definitions.
        strict: Hold the model to the schemas. A tool whose schema cannot be said strictly without refusing what it
            takes stays as it is; `not_strict` has the reasons.
        loaded: The tools, or their ids, that the model sees from the start; the others are deferred. None is all.
        search: Add the API's own search over the deferred tools.
        cache: Let the API keep the tools cached for that long.
        allowed_callers: Who may call the tools: for all of them, or by tool id. Code cannot call a strict tool.
        examples: Show the examples of the definitions, those that fit the schema.
        on_illegal: What happens to a tool with a parameter whose name the API forbids: `"skip"` leaves it out, and
            `skipped` has the reason.

    Raises:
        UnsupportedTool: A parameter has a name that the API forbids; the message names it.
        CatalogError: The tools are something else, every tool is deferred and there is no search, or ids and names
            collide.
        UnknownTool: A loaded tool is not among the definitions.
    """
    legal = legal_tools(definitions, PLAIN, on_illegal=on_illegal)
    names = ToolNames(legal.definitions)
    shown = {each.id for each in names} if loaded is None else names.ids_of(legal.among(loaded))
    if len(names) and not shown and search is None:
        raise CatalogError(
            "Every tool is deferred, so that the model could never find one.",
            hint="Load a search tool from the start, or let the API search with `search`.",
        )
    budget = StrictBudget()
    tools: list[JsonObject] = []
    losses: dict[str, LossReport] = {}
    not_strict: dict[str, tuple[Loss, ...]] = {}
    for each in names:
        callers = allowed_callers.get(each.id, ()) if isinstance(allowed_callers, Mapping) else allowed_callers
        converted = _converted(each, budget if strict else None, callers)
        given, left_out = _examples(each, converted.schema) if examples else ([], ())
        if lost := (*converted.report.losses, *left_out):
            losses[each.id] = LossReport(lost)
        if converted.refused:
            not_strict[each.id] = converted.refused
        tool: JsonObject = {"name": names.wire_name(each)}
        if description := description_of(each):
            tool["description"] = description
        tool["input_schema"] = converted.schema
        tools.append(
            tool
            | ({"input_examples": [*given]} if given else {})
            | ({"strict": True} if converted.dialect is STRICT else {})
            | ({"defer_loading": True} if each.id not in shown else {})
            | ({"allowed_callers": [*callers]} if callers else {})
        )
    if search is not None:
        tools.append(search_tool(search))
    if cache is not None:
        _mark_cached(tools, cache)
    return AnthropicTools(
        tools=tools,
        names=names,
        losses=MappingProxyType(losses),
        not_strict=MappingProxyType(not_strict),
        skipped=legal.skipped,
    )


def _converted(definition: ToolDefinition, budget: StrictBudget | None, callers: Sequence[Caller]) -> Conversion:
    schema = definition.input_schema
    if budget is None:
        return first_fitting(schema, PLAIN)
    if any(each != "direct" for each in callers):
        refusal = Loss("", "allowed_callers", "narrowed", "Code that the API runs cannot call a strict tool.")
        return first_fitting(schema, PLAIN)._replace(refused=(refusal,))
    converted = first_fitting(schema, STRICT, PLAIN)
    if converted.dialect is STRICT:
        over = budget.spend(converted.schema)
        if over is not None:
            return first_fitting(schema, PLAIN)._replace(refused=(over,))
    return converted


def _examples(definition: ToolDefinition, schema: JsonObject) -> tuple[list[JsonObject], tuple[Loss, ...]]:
    given: list[JsonObject] = [thaw(each) for each in definition.input_examples]
    # The API refuses the whole request for one that does not fit.
    fitting = [each for each in given if is_valid(schema, each) and is_valid(definition.input_schema, each)]
    if len(fitting) == len(given):
        return fitting, ()
    lost = Loss("", "inputExamples", "annotation_only", "Examples that do not fit the schema are left out.")
    return fitting, (lost,)


def _mark_cached(tools: list[JsonObject], ttl: Literal["5m", "1h"]) -> None:
    # Deferred tools are no part of the prefix, and the API refuses the mark on them.
    for tool in reversed(tools):
        if not tool.get("defer_loading"):
            tool["cache_control"] = {"type": "ephemeral", "ttl": ttl}
            return
