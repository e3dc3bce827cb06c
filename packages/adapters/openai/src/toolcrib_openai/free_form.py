"""Tools that take one plain text: as custom tools the model writes it as it is, without JSON around it."""

from __future__ import annotations

from typing import Final

from toolcrib_core.definition import ToolDefinition

_INFORMING: Final = frozenset({"type", "title", "description", "examples", "$comment"})
_OF_ROOT: Final = frozenset({"type", "properties", "required", "additionalProperties", "title", "description"})


def free_form_parameter(definition: ToolDefinition) -> str | None:
    """The one parameter of a tool that takes any text and gives text; None for every other tool.

    A text with a rule, such as a pattern, is left to a function: as free text nothing would hold the model to it.
    """
    schema = definition.input_schema
    properties = schema.get("properties", {})
    if schema.keys() - _OF_ROOT or len(properties) != 1 or schema.get("required") != list(properties):
        return None
    gives = (definition.output_schema or {"type": "string"}).get("type")
    name, inner = next(iter(properties.items()))
    is_text = isinstance(inner, dict) and inner.get("type") == "string" and not inner.keys() - _INFORMING
    return name if is_text and gives == "string" else None
