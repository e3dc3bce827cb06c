"""A model behind the Gemini API that says what a script tells it to, and refuses what the API refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from tests.adapters.http_server import Refused, Reply, Script, sse_reply

Json: TypeAlias = dict[str, Any]
Turn: TypeAlias = Sequence[Json]
"""The parts of one answer."""

_PATH: Final = re.compile(r"/v1(beta)?/models/(?P<model>[^:/]+):(?P<method>generateContent|streamGenerateContent)")
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
# Of each name the API takes both spellings, and the client sends both.
_DECLARATION_KEYS: Final = {
    "name",
    "description",
    "parametersJsonSchema",
    "parameters_json_schema",
    "responseJsonSchema",
    "response_json_schema",
}
_MAX_DECLARATIONS: Final = 512


class GeminiModel(Script):
    """Answers `generateContent` and `streamGenerateContent` with one turn of the script after the other.

    A request is checked as the API does: declarations have known fields and legal names that are told apart, there are
    no more than 512, allowed names are declared, and the function calls of a turn are answered by the next one.
    """

    def __call__(self, path: str, body: bytes) -> Reply:
        """The answer to one request.

        Raises:
            Refused: The API would refuse it.
        """
        asked = _PATH.fullmatch(path.partition("?")[0])
        if asked is None:
            raise Refused(404, _error(404, "NOT_FOUND", path))
        request: Json = json.loads(body)
        fault = _fault(request) if self.checked else None
        if fault is not None:
            raise Refused(400, _error(400, "INVALID_ARGUMENT", fault))
        parts = self.take(request, body)
        if asked["method"] == "generateContent":
            return Reply(200, json.dumps(_response(parts, asked["model"], finished=True)).encode())
        # The API streams whole parts.
        chunks = [_response([part], asked["model"], finished=at == len(parts) - 1) for at, part in enumerate(parts)]
        return sse_reply([(None, chunk) for chunk in chunks])


def function_call(name: str, call_id: str | None = None, /, **arguments: object) -> Json:
    """A call that the model makes."""
    known = {"id": call_id} if call_id is not None else {}
    return {"functionCall": {**known, "name": name, "args": arguments}}


def says(text: str) -> Json:
    """Something that the model says."""
    return {"text": text}


def _error(code: int, status: str, message: str) -> Json:
    return {"error": {"code": code, "message": message, "status": status}}


def _response(parts: list[Json], model: str, *, finished: bool) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finished:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "modelVersion": model, "usageMetadata": {"totalTokenCount": 2}}


def _fault(request: Json) -> str | None:
    declared = [each for tool in request.get("tools", []) for each in tool.get("functionDeclarations", [])]
    names = [each["name"] for each in declared]
    for each in declared:
        unknown = set(each) - _DECLARATION_KEYS
        if unknown:
            return f"Unknown name \"{min(unknown)}\" at 'tools[0].function_declarations': Cannot find field."
        if not _NAME.fullmatch(each["name"]):
            return f"Invalid function name: {each['name']}"
    if len(set(names)) != len(names):
        return "Duplicate function declaration found"
    if len(names) > _MAX_DECLARATIONS:
        return f"At most {_MAX_DECLARATIONS} function declarations can be specified"
    calling = request.get("toolConfig", {}).get("functionCallingConfig", {})
    if not set(calling.get("allowedFunctionNames", [])) <= set(names):
        return "allowed_function_names must be a subset of the declared functions"
    return _conversation_fault(request["contents"])


def _conversation_fault(contents: list[Json]) -> str | None:
    open_calls: list[str] = []
    for content in contents:
        answered = sorted(_names(content, "functionResponse"))
        if content["role"] == "user" and answered != open_calls:
            return "Please ensure that the number of function response parts is equal to the number of function calls"
        open_calls = sorted(_names(content, "functionCall"))
    return None


def _names(content: Json, kind: str) -> Iterator[str]:
    return (part[kind]["name"] for part in content["parts"] if kind in part)
