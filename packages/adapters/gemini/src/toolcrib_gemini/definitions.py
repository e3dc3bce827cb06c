"""Definitions as the function declarations of the Gemini API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError, ToolErrorCategory, UnsupportedTool
from toolcrib_core.json_values import JsonObject
from toolcrib_core.providers.conversion import convert_schema
from toolcrib_core.providers.describing import description_of
from toolcrib_core.providers.losses import LossReport
from toolcrib_core.providers.names import ToolNames
from toolcrib_core.providers.tool_sources import OnIllegal, ToolsLike, legal_tools
from toolcrib_gemini.strict import SCHEMA, response_schema

MAX_DECLARATIONS: Final = 512
"""How many functions one request may declare."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GeminiTools:
    """The tools of a request: what goes into `tools`, and all that is needed to read the calls that come back."""

    tools: list[JsonObject]
    """One tool with all declarations: those loaded from the start by name, then what was loaded later."""
    names: ToolNames
    """Every tool of the conversation, those that are not declared yet included."""
    declared: tuple[str, ...] = ()
    """The ids of the declared tools, in the order of their declarations."""
    losses: Mapping[str, LossReport] = field(default_factory=dict)
    """What each declared schema lost, by tool id; a tool that lost nothing is not in it."""
    responses: bool = True
    """Whether declarations say what their functions give."""
    skipped: Mapping[str, UnsupportedTool] = field(default_factory=dict)
    """Why a tool was left out, by tool id."""


def to_gemini_tools(
    definitions: ToolsLike,
    *,
    loaded: Iterable[ToolDefinition | str] | None = None,
    responses: bool = True,
    on_illegal: OnIllegal = "raise",
) -> GeminiTools:
    """Definitions as the `tools` of a request.

    Args:
        definitions: The tools of the conversation, those that are only loaded later included: a toolbox, a registry,
            one tool, or a list of runnable tools or definitions.
        loaded: The tools, or their ids, that are declared from the start; `with_loaded` declares others when a
            search has found them. None is all.
        responses: Describe what the functions give, where a definition says so.
        on_illegal: As with the other providers: `"skip"` leaves out a tool that the API cannot take. No name of a
            parameter is known that it forbids.

    Raises:
        CatalogError: The tools are something else, there are more to declare than the API takes, or ids and names
            collide.
        UnknownTool: A loaded tool is not among the definitions.
    """
    legal = legal_tools(definitions, SCHEMA, on_illegal=on_illegal)
    names = ToolNames(legal.definitions)
    wanted = {each.id for each in names} if loaded is None else names.ids_of(legal.among(loaded))
    made = declare(names, [each.id for each in names if each.id in wanted], responses=responses)
    return replace(made, skipped=legal.skipped)


def declare(names: ToolNames, tool_ids: Iterable[str], *, responses: bool) -> GeminiTools:
    """The tools with these ids, declared in this order.

    Raises:
        CatalogError: There are more than the API takes.
    """
    ids = tuple(dict.fromkeys(tool_ids))
    if len(ids) > MAX_DECLARATIONS:
        raise CatalogError(
            f"The Gemini API takes {MAX_DECLARATIONS} function declarations, and there are {len(ids):,}.",
            category=ToolErrorCategory.LIMIT,
            hint="Load a search tool only, with `loaded`, and declare what it finds with `with_loaded`.",
        )
    losses: dict[str, LossReport] = {}
    declarations = [_declaration(names, names.by_id(each), losses, responses=responses) for each in ids]
    tools: list[JsonObject] = [{"function_declarations": [*declarations]}] if declarations else []
    return GeminiTools(tools=tools, names=names, declared=ids, losses=MappingProxyType(losses), responses=responses)


def _declaration(
    names: ToolNames, definition: ToolDefinition, losses: dict[str, LossReport], *, responses: bool
) -> JsonObject:
    converted = convert_schema(definition.input_schema, SCHEMA)
    lost = converted.report.losses
    declaration: JsonObject = {"name": names.wire_name(definition)}
    if description := description_of(definition):
        declaration["description"] = description
    declaration["parameters_json_schema"] = converted.schema
    if responses and definition.output_schema is not None:
        response, more = response_schema(definition.output_schema)
        lost += more
        if response is not None:
            declaration["response_json_schema"] = response
    if lost:
        losses[definition.id] = LossReport(lost)
    return declaration
