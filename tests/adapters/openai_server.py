"""A model behind the OpenAI APIs that says what a script tells it to, and refuses what the APIs refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from tests.adapters.http_server import Refused, Reply, Script, sse_reply

Json: TypeAlias = dict[str, Any]
Turn: TypeAlias = Sequence[Json]
"""The calls and texts of one answer, as `calls`, `writes`, `searches` and `says` make them."""

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROOT: Final = {"oneOf", "anyOf", "allOf", "enum", "not"}
_PIECE: Final = 5
"""How many characters of the arguments one event of a stream carries: few, so that it cuts where it hurts."""


def calls(call_id: str, name: str, /, *, namespace: str | None = None, **arguments: object) -> Json:
    """A call of a function."""
    made = {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
    return made | ({"namespace": namespace} if namespace else {})


def broken_call(call_id: str, name: str, text: str) -> Json:
    """A call whose arguments are the text, be it JSON or not."""
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}


def writes(call_id: str, name: str, text: str) -> Json:
    """A call of a custom tool."""
    return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": text}


def searches(call_id: str, **arguments: object) -> Json:
    """A search for tools that the client is to do."""
    return {"type": "tool_search_call", "call_id": call_id, "arguments": arguments, "execution": "client"}


def says(text: str) -> Json:
    """Something that the model says."""
    return {"type": "message", "text": text}


class OpenAIModel(Script):
    """Answers `POST /v1/responses` and `/v1/chat/completions`, streamed where asked, turn by turn of the script.

    A request is checked as the APIs do: legal names that are told apart, a plain object at the root of every schema,
    the rules of strict mode, exactly one output for each call, and no call of a tool that the model does not have.
    """

    def __call__(self, path: str, body: bytes) -> Reply:
        """The answer to one request.

        Raises:
            Refused: The API would refuse it.
        """
        request: Json = json.loads(body)
        api = path.partition("?")[0].removeprefix("/v1/")
        if api not in {"responses", "chat/completions"}:
            raise Refused(404, _error(f"Unknown path {path}"))
        fault = _fault(request) or (_unanswered(request["input"]) if api == "responses" else _chat_fault(request))
        if fault and self.checked:
            raise Refused(400, _error(fault))
        turn = self.take(request, body)
        unknown = [each["name"] for each in turn if "name" in each and not _has_tool(request, each)]
        if unknown and self.checked:
            raise Refused(500, _error(f"the script calls what the model does not have: {unknown}"))
        return _responses(request, turn) if api == "responses" else _chat(request, turn)


def _error(message: str) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


# What the APIs refuse


def _functions(tools: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    for tool in tools:
        kind = tool["type"]
        if kind == "namespace":
            yield from ((f"{tool['name']}.{name}", inner) for name, inner in _functions(tool["tools"]))
        elif kind in {"function", "custom"}:
            flat = tool.get(kind) or tool
            yield flat["name"], {**flat, "type": kind}


def _all_tools(request: Json) -> list[Json]:
    items = request.get("input")
    later = (
        [each for item in items if isinstance(item, dict) for each in item.get("tools", ())]
        if isinstance(items, list)
        else []
    )
    return [*request.get("tools", ()), *later]


def _has_tool(request: Json, call: Json) -> bool:
    known = dict(_functions(_all_tools(request)))
    return (f"{call['namespace']}.{call['name']}" if call.get("namespace") else call["name"]) in known


def _fault(request: Json) -> str | None:
    seen: set[str] = set()
    for name, tool in _functions(_all_tools(request)):
        if not _NAME.fullmatch(tool["name"]):
            return f"Invalid 'tools.name': {tool['name']}"
        if name in seen:
            return f"Tool names must be unique: {name}"
        seen.add(name)
        if tool["type"] == "custom":
            continue
        schema = tool.get("parameters") or {"type": "object", "properties": {}}
        if schema.get("type") != "object" or _ROOT & schema.keys():
            return f"Invalid schema for function '{name}'"
        if tool.get("strict") and (why := _strict_fault(schema)):
            return f"Invalid schema for function '{name}': {why}"
    return None


def _strict_fault(schema: Any) -> str | None:
    if isinstance(schema, list):
        return next((why for each in schema if (why := _strict_fault(each))), None)
    if not isinstance(schema, dict):
        return None
    kinds = schema.get("type", [])
    if "object" in ([kinds] if isinstance(kinds, str) else kinds):
        if schema.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false."
        if set(schema.get("required", ())) != set(schema.get("properties", {})):
            return "'required' is required to be supplied and to be an array including every key in properties."
    if "$ref" in schema and schema.keys() - {"$ref"}:
        return "$ref cannot have keywords beside it."
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
    return _strict_fault([*inner, schema.get("items")])


def _unanswered(items: Any) -> str | None:
    if not isinstance(items, list):
        return None
    asked = [each["call_id"] for each in items if str(each.get("type", "")).endswith("_call")]
    told = [each["call_id"] for each in items if str(each.get("type", "")).endswith("_output")]
    if missing := [each for each in asked if each not in told]:
        return f"No tool output found for function call {missing[0]}."
    return None if sorted(asked) == sorted(told) else "No tool call found for function call output."


def _chat_fault(request: Json) -> str | None:
    for name, tool in _functions(request.get("tools", ())):
        if len(tool.get("description", "")) > 1024:
            return f"Invalid 'tools.function.description' of {name}: string too long."
    waiting: list[str] = []
    for message in request["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return f"tool_call_ids did not have response messages: {waiting[0]}"
        waiting += [each["id"] for each in message.get("tool_calls") or ()]
    return f"tool_call_ids did not have response messages: {waiting[0]}" if waiting else None


# Responses


def _item(number: int, part: Json) -> Json:
    if part["type"] == "message":
        content = [{"type": "output_text", "text": part["text"], "annotations": []}]
        return {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    return {"id": f"item_{number}", "status": "completed", **part}


def _response(request: Json, items: list[Json]) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": request["model"],
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _responses(request: Json, turn: list[Json]) -> Reply:
    items = [_item(at, part) for at, part in enumerate(turn)]
    if not request.get("stream"):
        return Reply(200, json.dumps(_response(request, items)).encode())
    events = [*_events(items), {"type": "response.completed", "response": _response(request, items)}]
    return sse_reply([(each["type"], {**each, "sequence_number": at}) for at, each in enumerate(events)])


def _events(items: list[Json]) -> Iterator[Json]:
    deltas: list[list[Json]] = []
    for at, item in enumerate(items):
        place = {"output_index": at, "item_id": item["id"]}
        key = {"function_call": "arguments", "custom_tool_call": "input"}.get(item["type"])
        begun = {**item, "status": "in_progress"} | ({key: ""} if key else {})
        yield {"type": "response.output_item.added", "output_index": at, "item": begun}
        if key:
            kind = "function_call_arguments" if key == "arguments" else "custom_tool_call_input"
            pieces = [item[key][start : start + _PIECE] for start in range(0, len(item[key]), _PIECE)]
            deltas.append(
                [
                    *({"type": f"response.{kind}.delta", "delta": each, **place} for each in pieces),
                    {"type": f"response.{kind}.done", key: item[key], "name": item["name"], **place},
                ]
            )
    # The pieces of parallel calls come mixed.
    while any(deltas):
        yield from (each.pop(0) for each in deltas if each)
    for at, item in enumerate(items):
        yield {"type": "response.output_item.done", "output_index": at, "item": item}


# Chat Completions


def _chat_call(part: Json) -> Json:
    if part["type"] == "custom_tool_call":
        return {"id": part["call_id"], "type": "custom", "custom": {"name": part["name"], "input": part["input"]}}
    function = {"name": part["name"], "arguments": part["arguments"]}
    return {"id": part["call_id"], "type": "function", "function": function}


def _chat(request: Json, turn: list[Json]) -> Reply:
    made = [_chat_call(part) for part in turn if part["type"] != "message"]
    text = "".join(part["text"] for part in turn if part["type"] == "message") or None
    finish = "tool_calls" if made else "stop"
    whole = {"id": "chat_1", "created": 1, "model": request["model"]}
    if request.get("stream"):
        chunks = [*_chunks(made, text), {"delta": {}, "finish_reason": finish}]
        body = [
            (
                None,
                {**whole, "object": "chat.completion.chunk", "choices": [{"index": 0, "finish_reason": None, **each}]},
            )
            for each in chunks
        ]
        reply = sse_reply(body)
        return reply._replace(body=reply.body + b"data: [DONE]\n\n")
    message = {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return Reply(200, json.dumps({**whole, "object": "chat.completion", "choices": [choice]}).encode())


def _chunks(made: list[Json], text: str | None) -> Iterator[Json]:
    if text:
        yield {"delta": {"role": "assistant", "content": text}}
    waiting: list[list[Json]] = []
    for at, call in enumerate(made):
        kind = call["type"]
        key = "arguments" if kind == "function" else "input"
        written = call[kind][key]
        begun = {"index": at, "id": call["id"], "type": kind, kind: {"name": call[kind]["name"], key: ""}}
        pieces = [written[start : start + _PIECE] for start in range(0, len(written), _PIECE)]
        waiting.append([begun, *({"index": at, kind: {key: each}} for each in pieces)])
    while any(waiting):
        for each in waiting:
            if each:
                yield {"delta": {"tool_calls": [each.pop(0)]}}
