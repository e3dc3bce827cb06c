"""Definitions from the `tools` of a request to the Anthropic API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.providers.fields import fields_of, text_in
from toolcrib_core.providers.importing import ImportedTools, imported_definition
from toolcrib_core.wording import quoted

_OF_A_REQUEST: Final = ("strict", "defer_loading", "allowed_callers", "cache_control", "eager_input_streaming")


def from_anthropic_tools(tools: Iterable[object], *, namespace: str | None = None) -> ImportedTools:
    """Definitions of the tools of a request, in their order; as dicts or as objects of the SDK.

    Without a `namespace` it is what stands before the first `__` of a name, or `default`. Tools that the API runs
    itself, such as its web search, have no definition and are named in `unsaid`.

    Raises:
        InvalidDefinition: Something is not a tool.
        CatalogError: A schema or a name cannot be used; the message says which.
    """
    unsaid: list[str] = []
    found = [_definition(fields_of(each), namespace, unsaid) for each in tools]
    return ImportedTools(tuple(each for each in found if each is not None), tuple(unsaid))


def _definition(fields: Mapping[str, Any], namespace: str | None, unsaid: list[str]) -> ToolDefinition | None:
    told = quoted(text_in(fields, "name"))
    if (fields.get("type") or "custom") != "custom":
        unsaid.append(f"{told} is a tool that the API runs itself.")
        return None
    unsaid.extend(f"{told}: `{key}` has no place in a definition." for key in _OF_A_REQUEST if fields.get(key))
    return imported_definition(
        fields.get("name"),
        description=fields.get("description"),
        input_schema=fields.get("input_schema"),
        input_examples=fields.get("input_examples") or (),
        namespace=namespace,
    )
