"""What a server answered to `tools/call`: a value with its content, or an error that a model can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core import CatalogError, ToolDefinition, ToolError, tool_code_prefix
from toolcrib_core.wording import kind_of, quoted
from toolcrib_mcp.errors import UpstreamError, UpstreamMalformed
from toolcrib_mcp.toolboxes.results import META_ERROR
from toolcrib_runtime import ToolFailed, ToolOutput

MAX_MESSAGE: Final = 10_000
"""How many characters of what a server says about a failure become the message."""

_COMPLETE = frozenset({None, "complete"})


def output_of(result: Mapping[str, Any], definition: ToolDefinition) -> ToolOutput:
    """The value of a call, with every content block as it came.

    The value is the structured content, where there is some, else the text of the blocks; `None` without either.

    Raises:
        ToolError: The tool failed, with code, hint and category where the server told them.
        UpstreamError: The server wants something first, or its answer is none.
    """
    if result.get("resultType") not in _COMPLETE:
        raise _unfinished(definition)
    blocks = _blocks(result, definition)
    if result.get("isError") is True:
        raise _failure(result, blocks, definition)
    return ToolOutput(value=_value(result, blocks, definition), content=blocks)


def _blocks(result: Mapping[str, Any], definition: ToolDefinition) -> tuple[dict[str, Any], ...]:
    content = result.get("content", [])
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise UpstreamMalformed(
            f"The answer to the call of {quoted(definition.id)} cannot be used: its `content` is {kind_of(content)}, "
            "not a list of objects.",
            hint="This is a fault of the server; the call may have taken effect.",
        )
    return tuple(content)


def _value(result: Mapping[str, Any], blocks: tuple[dict[str, Any], ...], definition: ToolDefinition) -> Any:
    structured = result.get("structuredContent")
    # Some write null where they mean nothing; only where a schema promises a value can null be one.
    is_told = "structuredContent" in result and definition.output_schema is not None
    return structured if structured is not None or is_told else _text_of(blocks)


def _text_of(blocks: tuple[dict[str, Any], ...]) -> str | None:
    texts = [each["text"] for each in blocks if each.get("type") == "text" and isinstance(each.get("text"), str)]
    return "\n".join(texts) if texts else None


def _failure(result: Mapping[str, Any], blocks: tuple[dict[str, Any], ...], definition: ToolDefinition) -> ToolError:
    meta = result.get("_meta")
    if isinstance(meta, Mapping) and META_ERROR in meta:
        try:
            return ToolError.from_dict(meta[META_ERROR])
        except CatalogError:
            pass  # whoever wrote that is not one of us, and has said the rest in words
    said = (_text_of(blocks) or "").strip()
    details: dict[str, object] = {}
    if len(said) > MAX_MESSAGE or any(each.get("type") != "text" for each in blocks):
        details["content"] = list(blocks)
    if result.get("structuredContent") is not None:
        details["structuredContent"] = result["structuredContent"]
    return ToolFailed(
        _shortened(said) or f"{quoted(definition.id)} failed, and its server did not say why.",
        code=f"{tool_code_prefix(definition.id)}failed",
        details=details,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"


def _unfinished(definition: ToolDefinition) -> UpstreamError:
    return UpstreamError(
        f"The server of {quoted(definition.id)} asks for something before the call can go on, and nobody answers here.",
        hint="Use another tool, or answer with what is known.",
    )
