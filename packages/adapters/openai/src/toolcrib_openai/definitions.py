"""Definitions as the `tools` of the Responses API and of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError, UnsupportedTool
from toolcrib_core.json_values import JsonObject, JsonValue, thaw
from toolcrib_core.providers.conversion import first_fitting
from toolcrib_core.providers.describing import description_of
from toolcrib_core.providers.losses import Loss, LossReport
from toolcrib_core.providers.names import ToolNames
from toolcrib_core.providers.tool_sources import OnIllegal, ToolsLike, legal_tools
from toolcrib_openai.free_form import free_form_parameter
from toolcrib_openai.namespaces import Namespaces
from toolcrib_openai.strict import PLAIN, STRICT

Api: TypeAlias = Literal["responses", "chat"]
Caller: TypeAlias = Literal["direct", "programmatic"]
"""Who may call a tool: the model itself, or a program that it writes and the API runs."""

MAX_CHAT_DESCRIPTION: Final = 1_024
"""Chat Completions refuses a request with a longer description of a function."""

_SHOWN_AS_JSON: Final = frozenset({"object", "array", "integer", "number", "boolean"})


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenAITools:
    """The tools of a conversation: what goes into `tools`, and all that is needed to read the calls that come back."""

    tools: list[JsonObject]
    """For the request: in ascending order of their names, whatever the order of the definitions."""
    names: ToolNames
    api: Api = "responses"
    losses: Mapping[str, LossReport] = field(default_factory=dict)
    """What each schema lost, by tool id; a tool that lost nothing is not in it."""
    not_strict: Mapping[str, tuple[Loss, ...]] = field(default_factory=dict)
    """Why a tool is not strict although that was asked for, by tool id."""
    strict: frozenset[str] = frozenset()
    """The ids of the tools that the model is held to."""
    free_form: Mapping[str, str] = field(default_factory=dict)
    """The parameter that gets the text, by the id of a tool that takes free text."""
    namespaces: Namespaces = field(default_factory=Namespaces)
    search: ToolDefinition | None = None
    """The tool that searches when the model asks for tools."""
    declared: Mapping[str, JsonObject] = field(default_factory=dict)
    """Every tool as it is declared, by id; those that are loaded later included."""
    skipped: Mapping[str, UnsupportedTool] = field(default_factory=dict)
    """Why a tool was left out, by tool id."""


def to_openai_tools(
    definitions: ToolsLike,
    *,
    api: Api = "responses",
    strict: bool = False,
    loaded: Iterable[ToolDefinition | str] | None = None,
    search: Literal["server"] | ToolDefinition | None = None,
    namespaces: Mapping[str, str] | bool = False,
    free_form: bool = False,
    allowed_callers: Sequence[Caller] | Mapping[str, Sequence[Caller]] = (),
    on_illegal: OnIllegal = "raise",
) -> OpenAITools:
    """Definitions as the `tools` of a request.

    Args:
        definitions: The tools of the conversation, those that are only loaded later included: a toolbox, a registry,
            one tool, or a list of runnable tools or definitions.
        api: The Responses API, or Chat Completions, which knows nothing of `search`, `namespaces` and
            `allowed_callers`.
        strict: Hold the model to the schemas. A tool whose schema cannot be said strictly without refusing what it
            takes stays as it is; `not_strict` has the reasons.
        loaded: The tools, or their ids, that the model sees from the start; None is all.
        search: How the model gets the others. `"server"`: the API searches them itself, so that they are in the
            request, deferred. A definition: the model calls it to search, and the answer brings the tools. None: they
            come with `additional_tools`.
        namespaces: Group tools by their namespaces; a mapping gives the descriptions, by namespace.
        free_form: Declare a tool that takes one plain text as a custom tool: the model writes the text as it is.
        allowed_callers: Who may call the tools: for all of them, or by tool id.
        on_illegal: As with the other providers: `"skip"` leaves out a tool that the API cannot take. No name of a
            parameter is known that these APIs forbid.

    Raises:
        CatalogError: The tools are something else, ids or names collide, or the API does not know an option.
        UnknownTool: A loaded tool is not among the definitions.
    """
    _check_options(api, search=search, namespaces=namespaces, allowed_callers=allowed_callers)
    legal = legal_tools(definitions, PLAIN, on_illegal=on_illegal)
    names = ToolNames(legal.definitions)
    spaces = Namespaces.of(names, wanted=namespaces)
    shown = {each.id for each in names} if loaded is None else names.ids_of(legal.among(loaded))
    made: dict[str, _Made] = {}
    for each in names:
        callers = allowed_callers.get(each.id, ()) if isinstance(allowed_callers, Mapping) else allowed_callers
        made[each.id] = _made(
            each, spaces.inner_name(each, names), api=api, strict=strict, free_form=free_form, callers=callers
        )
    declared = {tool_id: _wrapped(one.tool, api) for tool_id, one in made.items()}
    sent = {tool_id: tool for tool_id, tool in declared.items() if tool_id in shown}
    if search == "server":
        sent = {
            tool_id: tool if tool_id in sent else tool | {"defer_loading": True} for tool_id, tool in declared.items()
        }
    return OpenAITools(
        tools=spaces.grouped(sent) + _search(search),
        names=names,
        api=api,
        losses=MappingProxyType({key: LossReport(one.losses) for key, one in made.items() if one.losses}),
        not_strict=MappingProxyType({key: one.refused for key, one in made.items() if one.refused}),
        strict=frozenset(key for key, one in made.items() if one.strict),
        free_form=MappingProxyType({key: one.parameter for key, one in made.items() if one.parameter is not None}),
        namespaces=spaces,
        search=search if isinstance(search, ToolDefinition) else None,
        declared=MappingProxyType(declared),
        skipped=legal.skipped,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Made:
    """One tool in the flat form of the Responses API."""

    tool: JsonObject
    losses: tuple[Loss, ...] = ()
    refused: tuple[Loss, ...] = ()
    strict: bool = False
    parameter: str | None = None


def _made(
    definition: ToolDefinition, name: str, *, api: Api, strict: bool, free_form: bool, callers: Sequence[Caller]
) -> _Made:
    described, cut = _description(definition, api)
    tool: JsonObject = {"type": "function", "name": name}
    if described:
        tool["description"] = described
    rest: JsonObject = {"allowed_callers": [*callers]} if callers else {}
    parameter = free_form_parameter(definition) if free_form else None
    if parameter is not None:
        custom: JsonObject = {**tool, "type": "custom", "format": {"type": "text"}}
        return _Made(tool=custom | rest, losses=cut, parameter=parameter)
    converted = first_fitting(definition.input_schema, *((STRICT, PLAIN) if strict else (PLAIN,)))
    is_strict = converted.dialect is STRICT
    tool |= {"parameters": converted.schema, "strict": is_strict}
    lost = (*cut, *converted.report.losses)
    output, unsaid = _output(definition, api)
    return _Made(tool=tool | output | rest, losses=(*lost, *unsaid), refused=converted.refused, strict=is_strict)


def _description(definition: ToolDefinition, api: Api) -> tuple[str, tuple[Loss, ...]]:
    said = description_of(definition)
    if api == "responses" or len(said) <= MAX_CHAT_DESCRIPTION:
        return said, ()
    cut = Loss("", "description", "annotation_only", f"It is cut to {MAX_CHAT_DESCRIPTION:,} characters.")
    return f"{said[: MAX_CHAT_DESCRIPTION - 1].rstrip()}…", (cut,)


def _output(definition: ToolDefinition, api: Api) -> tuple[JsonObject, tuple[Loss, ...]]:
    schema = definition.output_schema
    if schema is None:
        return {}, ()
    if api == "chat":
        return {}, (Loss("", "outputSchema", "annotation_only", "Chat Completions has no place for it."),)
    # It describes JSON; a text is sent as it is, which is not the same.
    if schema.get("type") not in _SHOWN_AS_JSON:
        return {}, (Loss("", "outputSchema", "annotation_only", "Text is sent as it is, not as JSON."),)
    return {"output_schema": thaw(schema)}, ()


def _wrapped(tool: JsonObject, api: Api) -> JsonObject:
    if api == "responses":
        return tool
    kind = tool["type"]
    inner: JsonValue = {key: value for key, value in tool.items() if key != "type"}
    return {"type": kind, str(kind): inner}


def _search(search: Literal["server"] | ToolDefinition | None) -> list[JsonObject]:
    if search is None:
        return []
    if isinstance(search, str):
        return [{"type": "tool_search", "execution": "server"}]
    told: JsonObject = {"type": "tool_search", "execution": "client"}
    if search.description:
        told["description"] = search.description
    return [told | {"parameters": first_fitting(search.input_schema, PLAIN).schema}]


def _check_options(api: Api, **options: object) -> None:
    used = [name for name, value in options.items() if value]
    if api == "chat" and used:
        raise CatalogError(
            f"Chat Completions does not know `{'`, `'.join(used)}`.", hint="Leave it out, or use the Responses API."
        )
    if api not in {"responses", "chat"}:
        raise CatalogError("The API is `responses` or `chat`.")
