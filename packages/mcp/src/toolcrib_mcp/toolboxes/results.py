"""How a call ended, in the words of the protocol: content, structured content, and errors as data."""

from __future__ import annotations

from typing import Any, Final

from toolcrib_core import ToolDefinition, ToolError
from toolcrib_core.json_values import thaw
from toolcrib_mcp.front.confirming import META_APPROVAL
from toolcrib_mcp.front.wrapping import WRAPPER, needs_wrapper
from toolcrib_mcp.outward import outward
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_runtime.calls import ToolResult

META_ERROR: Final = "io.toolcrib/error"
"""The whole error, for a program that knows it: `ToolError.from_dict` reads it."""


def call_result(result: ToolResult, definition: ToolDefinition, *, era: Era) -> dict[str, Any]:
    """The result of `tools/call`."""
    if result.error is not None:
        told = error_result(result.error, definition)
        if result.action is not None:
            told["_meta"][META_APPROVAL] = result.action.to_dict()
        return told
    return {"content": list(result.content), **_structured(result.value, definition, era), "isError": False}


def error_result(error: ToolError, definition: ToolDefinition) -> dict[str, Any]:
    """The result of a call that failed: for the model as text, for programs as data."""
    told = outward(error)
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": encode_message(told).decode().rstrip()}],
        "isError": True,
        "_meta": {META_ERROR: thaw(error.to_dict())},
    }
    # Where a schema promises something else, there are clients that hold an error to it, too.
    return result if definition.output_schema is not None else result | {"structuredContent": told}


def _structured(value: Any, definition: ToolDefinition, era: Era) -> dict[str, Any]:
    schema = definition.output_schema
    if era is Era.HANDSHAKE and schema is not None and needs_wrapper(schema):
        return {"structuredContent": {WRAPPER: value}}
    if era is Era.HANDSHAKE:
        return {"structuredContent": value} if isinstance(value, dict) else {}
    is_promised = schema is not None or isinstance(value, dict | list)
    return {"structuredContent": value} if is_promised else {}
