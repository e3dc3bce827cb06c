"""Results of calls as the Anthropic API takes them: one user message with a `tool_result` block for every call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolcrib_anthropic.lazy_loading import tool_references
from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_core.providers.loading import LoadedTools
from toolcrib_core.providers.parsed import ParsedCall, ParsedCalls
from toolcrib_core.providers.results import Part, ResultLike, joined_text, result_parts

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"


def to_anthropic_results(calls: ParsedCalls, results: Iterable[ResultLike]) -> JsonObject:
    """The message that answers every call of a response, in its order; broken calls answer for themselves.

    Text, pictures and PDF documents become blocks of their own; what the API has no block for is named in a text. An
    error is marked with `is_error`.

    Raises:
        CatalogError: Calls and results do not match.
    """
    return {"role": "user", "content": [_block(call, result) for call, result in calls.answered(results)]}


def _block(call: ParsedCall, result: ResultLike) -> JsonValue:
    block: JsonObject = {"type": "tool_result", "tool_use_id": call.id, "content": _content(result)}
    if result.error is not None:
        block["is_error"] = True
    return {**block, **call.echo}


def _content(result: ResultLike) -> JsonValue:
    if isinstance(result, LoadedTools) and result.wire_names:
        return tool_references(result)
    parts = result_parts(result)
    if all(part.kind == "text" for part in parts):
        return joined_text(parts)
    # The API refuses an empty text where there are several blocks.
    return [_part(part) for part in parts if part != Part("text")]


def _part(part: Part) -> JsonValue:
    source: JsonObject = {"type": "base64", "media_type": part.mime_type, "data": part.data}
    if part.kind == "image" and part.mime_type in _IMAGES:
        return {"type": "image", "source": source}
    if part.kind == "file" and part.mime_type == _PDF:
        titled: JsonObject = {"title": part.name} if part.name else {}
        return {"type": "document", "source": source, **titled}
    return {"type": "text", "text": joined_text((part,))}
