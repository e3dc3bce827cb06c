"""A model behind the Anthropic Messages API that says what a script tells it to, and refuses what the API refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from tests.adapters.http_server import Refused, Reply, Script, sse_reply

Json: TypeAlias = dict[str, Any]
Turn: TypeAlias = Sequence[Json]
"""The content blocks of one answer."""

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_PIECE: Final = 7
"""How many characters of the arguments one event of a stream carries: few, so that it cuts where it hurts."""


class AnthropicModel(Script):
    """Answers `POST /v1/messages`, streamed where that is asked for, with one turn of the script after the other.

    A request is checked as the API does: tools have legal names that are told apart and an object as schema, one at
    least is loaded, each `tool_use` is answered by the `tool_result` of the message that follows, and a
    `tool_reference` leads to a tool of the request.
    """

    def __call__(self, path: str, body: bytes) -> Reply:
        """The answer to one request.

        Raises:
            Refused: The API would refuse it.
        """
        if path.partition("?")[0] != "/v1/messages":
            raise Refused(404, _error("not_found_error", path))
        request: Json = json.loads(body)
        fault = _fault(request) if self.checked else None
        if fault is not None:
            raise Refused(400, _error("invalid_request_error", fault))
        blocks = self.take(request, body)
        unloaded = {each.get("name") for each in blocks} & _unloaded(request)
        if unloaded and self.checked:
            raise Refused(500, _error("api_error", f"the script calls what the model has not loaded: {unloaded}"))
        message = _message(blocks, request["model"])
        if request.get("stream"):
            return sse_reply([(event["type"], event) for event in _events(message)])
        return Reply(200, json.dumps(message).encode())


def tool_use(call_id: str, name: str, /, **arguments: object) -> Json:
    """A call that the model makes."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def says(text: str) -> Json:
    """Something that the model says."""
    return {"type": "text", "text": text}


def _error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _message(blocks: list[Json], model: str) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if any(each["type"] == "tool_use" for each in blocks) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _events(message: Json) -> Iterator[Json]:
    opening = {**message, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": opening}
    for index, block in enumerate(message["content"]):
        is_call = block["type"] == "tool_use"
        empty = {**block, "input": {}} if is_call else {**block, "text": ""}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        whole = json.dumps(block["input"]) if is_call else block["text"]
        for start in range(0, len(whole), _PIECE):
            piece = whole[start : start + _PIECE]
            delta = (
                {"type": "input_json_delta", "partial_json": piece}
                if is_call
                else {"type": "text_delta", "text": piece}
            )
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _fault(request: Json) -> str | None:
    tools: list[Json] = request.get("tools", [])
    names = [tool["name"] for tool in tools]
    for tool in tools:
        if not _NAME.fullmatch(tool["name"]):
            return f"tools: name {tool['name']!r} should match '^[a-zA-Z0-9_-]{{1,128}}$'"
        if tool.get("type", "custom") == "custom" and tool["input_schema"].get("type") != "object":
            return "tools: input_schema.type: Field required"
    if len(set(names)) != len(names):
        return "tools: Tool names must be unique."
    if tools and all(tool.get("defer_loading") for tool in tools):
        return "At least one tool must have defer_loading=false."
    chosen = request.get("tool_choice", {}).get("name")
    if chosen is not None and chosen not in names:
        return f"Tool '{chosen}' not found in provided tools"
    return _conversation_fault(request["messages"], set(names))


def _unloaded(request: Json) -> set[str]:
    """The tools that are in the request, deferred, and that nothing in the conversation refers to."""
    said = json.dumps(request["messages"])
    deferred = {tool["name"] for tool in request.get("tools", []) if tool.get("defer_loading")}
    return {name for name in deferred if f'"tool_name": "{name}"' not in said}


def _conversation_fault(messages: list[Json], names: set[str]) -> str | None:
    open_calls: set[str] = set()
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = [block for block in blocks if block["type"] == "tool_result"]
        if message["role"] == "user" and {each["tool_use_id"] for each in results} != open_calls:
            return "`tool_use` ids were found without `tool_result` blocks immediately after"
        if blocks[: len(results)] != results:
            return "`tool_result` blocks must come first in the content of a message"
        referred = [part for each in results if isinstance(each["content"], list) for part in each["content"]]
        for part in referred:
            if part["type"] == "tool_reference" and part["tool_name"] not in names:
                return f"Tool reference '{part['tool_name']}' not found in available tools"
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return None
