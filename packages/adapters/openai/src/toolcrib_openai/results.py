"""Results of calls as the OpenAI APIs take them: output items for Responses, `tool` messages for Chat Completions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_core.providers.loading import LoadedTools
from toolcrib_core.providers.parsed import ParsedCall, ParsedCalls
from toolcrib_core.providers.results import Part, ResultLike, error_json, joined_text, result_parts
from toolcrib_openai.definitions import OpenAITools
from toolcrib_openai.lazy_loading import additional_tools, loaded_tools

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_OUTPUTS: Final = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}


def to_openai_results(calls: ParsedCalls, results: Iterable[ResultLike], tools: OpenAITools) -> list[JsonObject]:
    """What answers every call of a response, in its order; broken calls answer for themselves.

    They are items for `input` of the Responses API, or messages for Chat Completions, as the calls came. Neither API
    has a flag for errors, so that an error is a JSON text `{"error": …}`. The Responses API takes pictures and files;
    Chat Completions takes text, and what is not text is named. Tools that a call has loaded come along in the way that
    the API has for it.

    Raises:
        CatalogError: Calls and results do not match.
        UnknownTool: A loaded tool is not among the tools.
    """
    answers: list[JsonObject] = []
    loads: list[JsonObject] = []
    for call, result in calls.answered(results):
        kind = str(call.echo.get("type", ""))
        if kind == "tool_search_call":
            answers.append(_search_output(call, result, tools))
            continue
        if kind in _OUTPUTS:
            answers.append(_output(call, result, _OUTPUTS[kind]))
            if isinstance(result, LoadedTools) and result.definitions:
                loads.append(additional_tools(result.definitions, tools))
        else:
            answers.append({"role": "tool", "tool_call_id": call.id, "content": _text(result)})
    return answers + loads


def _output(call: ParsedCall, result: ResultLike, kind: str) -> JsonObject:
    echo = {key: value for key, value in call.echo.items() if key == "caller"}
    return {"type": kind, "call_id": call.id, "output": _content(result), **echo}


def _search_output(call: ParsedCall, result: ResultLike, tools: OpenAITools) -> JsonObject:
    found = loaded_tools(result.definitions, tools) if isinstance(result, LoadedTools) else []
    return {
        "type": "tool_search_output",
        "call_id": call.id,
        "execution": "client",
        "status": "completed",
        "tools": [*found],
    }


def _text(result: ResultLike) -> str:
    return error_json(result.error) if result.error is not None else joined_text(result_parts(result))


def _content(result: ResultLike) -> JsonValue:
    parts = result_parts(result)
    if result.error is not None or all(part.kind in {"text", "link"} for part in parts):
        return _text(result)
    return [_part(part) for part in parts if part != Part("text")]


def _part(part: Part) -> JsonValue:
    url = f"data:{part.mime_type};base64,{part.data}"
    if part.kind == "image" and part.mime_type in _IMAGES:
        return {"type": "input_image", "image_url": url}
    if part.kind == "file" and part.mime_type:
        return {"type": "input_file", "file_data": url, "filename": part.name or "file"}
    return {"type": "input_text", "text": joined_text((part,))}
