"""Results of calls as the Gemini API takes them: one content with a `function_response` part for every call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_core.providers.parsed import ParsedCall, ParsedCalls
from toolcrib_core.providers.results import Part, ResultLike, as_text, error_object, joined_text, result_parts

_MEDIA: Final = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf"})
_REFERENCE: Final = '"$ref"'


def to_gemini_results(calls: ParsedCalls, results: Iterable[ResultLike]) -> JsonObject:
    """The content that answers every call of a response, in its order; broken calls answer for themselves.

    A value goes as JSON under `output`, an error under `error`, and pictures and PDF documents as parts of the
    response. What the API has no part for is named in the output.

    Raises:
        CatalogError: Calls and results do not match.
    """
    return {"role": "user", "parts": [_part(call, result) for call, result in calls.answered(results)]}


def _part(call: ParsedCall, result: ResultLike) -> JsonValue:
    response: JsonObject = {**call.echo, "name": call.wire_name}
    if result.error is not None:
        return {"function_response": {**response, "response": {"error": error_object(result.error)}}}
    parts = result_parts(result)
    media: list[JsonValue] = [_blob(each) for each in parts if _is_medium(each)]
    response["response"] = {"output": _output(result, [each for each in parts if not _is_medium(each)])}
    if media:
        response["parts"] = media
    return {"function_response": response}


def _output(result: ResultLike, parts: list[Part]) -> JsonValue:
    text = joined_text(parts)
    # What the tool laid out for a model is shown as it is; a value that is shown as its own text may as well be JSON.
    # A `$ref` in it would be read as a reference to a part of this response.
    if (not parts or text == as_text(result.value)) and _REFERENCE not in as_text([result.value]):
        return result.value
    return text


def _is_medium(part: Part) -> bool:
    return part.kind in {"image", "file"} and part.mime_type in _MEDIA


def _blob(part: Part) -> JsonObject:
    named: JsonObject = {"display_name": part.name} if part.name else {}
    return {"inline_data": {"mime_type": part.mime_type, "data": part.data, **named}}
