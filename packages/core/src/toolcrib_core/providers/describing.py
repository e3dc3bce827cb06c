"""What a model reads about a tool: its description, with a word in front when the tool is on its way out."""

from __future__ import annotations

from toolcrib_core.definition import ToolDefinition


def description_of(definition: ToolDefinition) -> str:
    """The description, or the title where there is none; a deprecated tool says so first, and what to use instead."""
    lifecycle = definition.lifecycle
    said = definition.description or definition.title or ""
    if not lifecycle.deprecated:
        return said
    instead = f": use `{lifecycle.replaced_by}` instead" if lifecycle.replaced_by else ""
    return f"Deprecated{instead}. {said}".rstrip()
