"""Definitions from the `tools` of a request to the Gemini API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.providers.fields import fields_of, items_in
from toolcrib_core.providers.importing import ImportedTools, imported_definition
from toolcrib_core.wording import quoted
from toolcrib_gemini.openapi_schema import as_json_schema

_DECLARED: Final = ("function_declarations", "functionDeclarations")


def from_gemini_tools(tools: Iterable[object], *, namespace: str | None = None) -> ImportedTools:
    """Definitions of every function that the tools declare, in their order.

    A tool is a dict in either spelling or the SDK's object; a bare function declaration is taken, too. Parameters are a
    JSON Schema or the API's own `Schema`. Without a `namespace` it is what stands before the first `__` of a name, or
    `default`. Tools that the API runs itself, such as its web search, have no definition and are named in `unsaid`.

    Raises:
        InvalidDefinition: Something is not a tool.
        CatalogError: A schema or a name cannot be used; the message says which.
    """
    unsaid: list[str] = []
    found = [_definition(each, namespace) for tool in tools for each in _declarations(fields_of(tool), unsaid)]
    return ImportedTools(tuple(found), tuple(unsaid))


def _declarations(tool: Mapping[str, Any], unsaid: list[str]) -> Iterator[Mapping[str, Any]]:
    if "name" in tool:
        yield tool
        return
    unsaid.extend(
        f"{quoted(name)} is a tool that the API runs itself."
        for name, value in tool.items()
        if value is not None and name not in _DECLARED
    )
    for name in _DECLARED:
        yield from items_in(tool, name)


def _definition(declaration: Mapping[str, Any], namespace: str | None) -> ToolDefinition:
    return imported_definition(
        declaration.get("name"),
        description=declaration.get("description"),
        input_schema=_schema(declaration, "parameters"),
        output_schema=_schema(declaration, "response"),
        namespace=namespace,
    )


def _schema(declaration: Mapping[str, Any], name: str) -> object:
    for key in (f"{name}_json_schema", f"{name}JsonSchema"):
        if declaration.get(key) is not None:
            return declaration[key]
    schema = declaration.get(name)
    return None if schema is None else as_json_schema(schema)
