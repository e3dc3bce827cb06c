"""The old name of an export, for those who still call it."""

from __future__ import annotations

import warnings

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.json_values import JsonObject
from toolcrib_openai.definitions import to_openai_tools


def to_json_schema(definition: ToolDefinition) -> JsonObject:
    """Deprecated: `to_openai_tools([definition], api="chat").tools[0]`. One tool in the shape of Chat Completions."""
    warnings.warn(
        '`to_json_schema` is deprecated: use `to_openai_tools([definition], api="chat")`',
        DeprecationWarning,
        stacklevel=2,
    )
    return to_openai_tools([definition], api="chat").tools[0]
