"""Definitions from tools that were written for the OpenAI APIs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import InvalidDefinition
from toolcrib_core.providers.fields import fields_of, items_in, text_in
from toolcrib_core.providers.importing import ImportedTools, imported_definition
from toolcrib_core.wording import quoted


def from_openai_tools(tools: Iterable[object], *, namespace: str | None = None) -> ImportedTools:
    """Definitions of the tools of a request, of either API; as dicts or as objects of the SDK.

    Without a `namespace` it is the one that a tool is grouped under, or else what stands before the first `__` of its
    name, or `default`.
    A schema is taken as it stands: what strict mode made of optional properties stays so, because nobody can tell what
    the author meant. Tools that the API runs itself, such as its web search, have no definition and are named in
    `unsaid`.

    Raises:
        InvalidDefinition: Something is not a tool.
        CatalogError: A schema or a name cannot be used; the message says which.
    """
    definitions: list[ToolDefinition] = []
    unsaid: list[str] = []
    for space, tool in _flat(tools, namespace):
        definition = _definition(tool, space, unsaid)
        if definition is not None:
            definitions.append(definition)
    return ImportedTools(tuple(definitions), tuple(unsaid))


def _flat(tools: Iterable[object], namespace: str | None) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    for each in tools:
        tool = fields_of(each)
        kind = tool.get("type")
        if not isinstance(kind, str):
            raise InvalidDefinition(
                "A tool has a `type`, and this one has none.", hint="Give the `tools` of a request."
            )
        if kind == "namespace":
            yield from _flat(items_in(tool, "tools"), namespace or text_in(tool, "name") or None)
        else:
            inner = fields_of(tool.get(kind)) if kind in {"function", "custom"} else {}
            yield namespace, {**inner, "type": kind} if inner else tool


def _definition(tool: Mapping[str, Any], namespace: str | None, unsaid: list[str]) -> ToolDefinition | None:
    kind, name = text_in(tool, "type"), tool.get("name")
    if kind not in {"function", "custom"}:
        unsaid.append(f"{quoted(kind)} is a tool that the API runs itself.")
        return None
    told = quoted(name) if isinstance(name, str) else "a tool without a name"
    unsaid.extend(
        f"{told}: `{key}` has no place in a definition."
        for key in ("strict", "defer_loading", "allowed_callers")
        if tool.get(key)
    )
    schema = tool.get("parameters")
    if kind == "custom":
        schema = {
            "type": "object",
            "properties": {"input": {"type": "string"}},
            "required": ["input"],
            "additionalProperties": False,
        }
        if fields_of(tool.get("format")).get("type") == "grammar":
            unsaid.append(f"{told}: the grammar of its text has no place in a definition.")
    return imported_definition(
        name,
        description=tool.get("description"),
        input_schema=schema,
        output_schema=tool.get("output_schema"),
        namespace=namespace,
    )
