"""Results of calls as an MCP server gives them to the Claude Agent SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from toolcrib_core.excerpts import error_text
from toolcrib_core.json_values import JsonObject, freeze, thaw
from toolcrib_core.providers.results import ResultContent, ResultLike, as_text


def to_claude_agent_result(result: ResultLike) -> JsonObject:
    """The result of `tools/call`: content blocks, an object as structured content as well, and the flag for errors.

    The blocks are those of the protocol, so that pictures, sounds and resources go as they are.
    """
    if result.error is not None:
        return {"content": [{"type": "text", "text": error_text(result.error)}], "isError": True}
    content = list(result.content)
    told: JsonObject = {"content": [*content], "isError": False}
    # Claude Code shows structured content in place of the blocks, so it must not say less than they do.
    if isinstance(result.value, dict) and content == [{"type": "text", "text": as_text(result.value)}]:
        told["structuredContent"] = result.value
    return told


def as_result(tool_id: str, given: object) -> ResultLike:
    """What a handler gave as a result: one already, or any JSON value, text among them.

    Raises:
        NotJson: It is neither.
    """
    if all(hasattr(given, each) for each in ("error", "content", "value")):
        return cast("ResultLike", given)
    if isinstance(given, Mapping) and isinstance(given.get("content"), list):
        blocks = thaw(freeze(given["content"]))
        return ResultContent("", tool_id, blocks=tuple(blocks))
    return ResultContent("", tool_id, value=thaw(freeze(given)))
