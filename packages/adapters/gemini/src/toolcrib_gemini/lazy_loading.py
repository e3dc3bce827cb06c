"""Tools that are declared when the model has found them: the API has no way of its own to load tools later.

A request declares a search tool and what was loaded so far. What a search finds is declared after that with the next
request, so that the declarations before it keep their bytes and their order.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.providers.loading import LoadedTools
from toolcrib_gemini.definitions import GeminiTools, declare


def with_loaded(tools: GeminiTools, definitions: LoadedTools | Iterable[ToolDefinition | str]) -> GeminiTools:
    """The tools with what a search has found declared, too, after all others; what is declared already stays.

    Raises:
        CatalogError: There are more than the API takes.
        UnknownTool: A tool is not among those of the conversation.
    """
    found = definitions.definitions if isinstance(definitions, LoadedTools) else definitions
    new = tools.names.ids_of(found)
    added = [each.id for each in tools.names if each.id in new]
    return declare(tools.names, [*tools.declared, *added], responses=tools.responses)
