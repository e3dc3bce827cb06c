"""The tools of a request, in whatever form a program has them: a toolbox, a registry, runnable tools, definitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError, UnsupportedTool
from toolcrib_core.providers.conversion import convert_schema
from toolcrib_core.providers.dialects import VendorDialect
from toolcrib_core.registry import RegistryView
from toolcrib_core.serialization import SerializedToolDefinition, deserialize_tool_definition
from toolcrib_core.wording import count, kind_of, listed, quoted

OnIllegal: TypeAlias = Literal["raise", "skip"]
"""What happens to a tool that a provider cannot take in any mode: all are refused, or this one is left out."""

_GIVE: Final = "Give a toolbox, a registry, one tool or a list of tools."
_JSON: Final = (type(None), str, bool, int, float, list, tuple, dict)
_COMBINATORS: Final = ("allOf", "anyOf", "oneOf")


class HoldsDefinition(Protocol):
    """Anything with a definition, such as a `RunnableTool`."""

    @property
    def definition(self) -> ToolDefinition:
        """The definition of the tool."""


class HoldsRegistry(Protocol):
    """Anything with a registry, such as a `Toolbox`."""

    @property
    def registry(self) -> RegistryView:
        """The definitions of the tools."""


ToolLike: TypeAlias = ToolDefinition | HoldsDefinition | SerializedToolDefinition
"""One tool: a definition, a `RunnableTool`, or a definition as `serialize_tool_definition` writes it."""

ToolsLike: TypeAlias = ToolLike | HoldsRegistry | RegistryView | Iterable[ToolLike]
"""Tools: a toolbox, a registry, one tool, or a list of tools."""


class LegalTools(NamedTuple):
    """The tools that a provider can take, and why it cannot take the others."""

    definitions: tuple[ToolDefinition, ...]
    skipped: Mapping[str, UnsupportedTool]
    """By tool id."""

    def among(self, tools: Iterable[ToolDefinition | str]) -> list[ToolDefinition | str]:
        """These tools, without those that are skipped."""
        return [each for each in tools if (each if isinstance(each, str) else each.id) not in self.skipped]


def definitions_of(tools: ToolsLike) -> tuple[ToolDefinition, ...]:
    """The definitions of the tools, in their order.

    Raises:
        CatalogError: It is something else; the message says what, and the hint how to make a tool of it.
    """
    held: Any = getattr(tools, "registry", tools)
    if isinstance(held, RegistryView):
        return tuple(held.list())
    one = _definition(tools)
    if one is not None:
        return (one,)
    closed = isinstance(tools, str | bytes | Mapping | type) or hasattr(tools, "definitions")
    if closed or not isinstance(tools, Iterable):
        raise CatalogError(f"The tools are {_kind(tools)}, which is no tool.", hint=_hint(tools))
    definitions: list[ToolDefinition] = []
    for at, each in enumerate(tools, start=1):
        found = _definition(each)
        if found is None:
            raise CatalogError(f"Number {at:,} of the tools is {_kind(each)}, which is no tool.", hint=_hint(each))
        definitions.append(found)
    return tuple(definitions)


def legal_tools(tools: ToolsLike, dialect: VendorDialect, *, on_illegal: OnIllegal) -> LegalTools:
    """The definitions of the tools, those that the provider forbids refused or left out.

    Raises:
        CatalogError: The tools are something else, or `on_illegal` is.
        UnsupportedTool: A parameter of a tool has a name that the provider forbids, and `on_illegal` is `raise`.
    """
    if on_illegal not in ("raise", "skip"):
        raise CatalogError("`on_illegal` is `raise` or `skip`.")
    legal: list[ToolDefinition] = []
    skipped: dict[str, UnsupportedTool] = {}
    for each in definitions_of(tools):
        wrong = [name for name in _parameters(each, dialect) if not dialect.takes_parameter(name)]
        if not wrong:
            legal.append(each)
            continue
        skipped[each.id] = _unsupported(each, wrong, dialect)
        if on_illegal == "raise":
            raise skipped[each.id]
    return LegalTools(tuple(legal), MappingProxyType(skipped))


def _parameters(definition: ToolDefinition, dialect: VendorDialect) -> Collection[str]:
    schema: Mapping[str, Any] = definition.input_schema
    # Alternatives at the root are merged into one, and their properties with them.
    if not dialect.root_combinators and any(each in schema for each in _COMBINATORS):
        schema = convert_schema(schema, dialect).schema
    properties: Collection[str] = schema.get("properties", {})
    return properties


def _unsupported(definition: ToolDefinition, wrong: list[str], dialect: VendorDialect) -> UnsupportedTool:
    for_what, them = ("for its name", "it") if len(wrong) == 1 else ("for their names", "them")
    return UnsupportedTool(
        f"{dialect.name} refuses {count(len(wrong), 'parameter')} of {quoted(definition.id)} {for_what}: "
        f"{listed(wrong)}.",
        hint=f'Rename {them}: {dialect.parameter_rule} Or leave the tool out, with `on_illegal="skip"`.',
        details={"id": definition.id, "parameters": wrong},
    )


def _definition(tool: object) -> ToolDefinition | None:
    held = getattr(tool, "definition", tool)
    if isinstance(held, ToolDefinition):
        return held
    if isinstance(tool, Mapping) and "schemaVersion" in tool and "inputSchema" in tool:
        return deserialize_tool_definition(tool)
    return None


def _kind(value: object) -> str:
    if isinstance(value, type):
        return "a class"
    if type(value) in _JSON:
        return kind_of(value)
    return "a function" if callable(value) else f"an object of the type `{type(value).__name__}`"


def _hint(value: object) -> str:
    if hasattr(value, "definitions"):
        return "Give its `definitions`."
    if isinstance(value, str):
        return "Give the definition, not its id: `registry.resolve(id)`."
    if isinstance(value, type) or callable(value):
        return "Make a tool of it with `define_tool`, or with `@tool` of the runtime."
    if isinstance(value, Mapping):
        return "Make a definition of a schema with `define_tool(schema, name=…)`. " + _GIVE
    return _GIVE
