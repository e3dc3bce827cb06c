"""The calls in what the OpenAI APIs send: a response, a chat message, or a stream of either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_core.providers.fields import fields_of, items_in, text_in
from toolcrib_core.providers.names import ToolNames
from toolcrib_core.providers.nulls import restore_arguments
from toolcrib_core.providers.parsed import BrokenCall, ParsedCall, ParsedCalls
from toolcrib_core.providers.reading import read_call
from toolcrib_core.providers.streams import StreamedCalls
from toolcrib_openai.definitions import OpenAITools

_OF_RESPONSES: Final = frozenset({"function_call", "custom_tool_call", "tool_search_call"})
_UNFINISHED: Final = frozenset({"response.incomplete", "response.failed", "response.cancelled"})


def parse_openai_calls(response: object, tools: OpenAITools) -> ParsedCalls:
    """The calls of an answer, in its order.

    `response` is a `Response`, a `ChatCompletion`, its message, or a list of output items; as an object of the SDK or
    as a dict. A call that cannot run is kept as a `BrokenCall`, which can be sent back to the model like any result; so
    is one that is `in_progress` or `incomplete`, or has no arguments. Nulls that only strict mode made the model write
    are taken out again.
    """
    return ParsedCalls(tuple(_read(each, tools) for each in _calls(response)))


class OpenAIStream:
    """Collects the calls of a streamed answer: feed it every event or chunk, then ask for the calls.

    It takes the events of the Responses API and the chunks of Chat Completions, as objects of the SDK or as dicts.
    """

    __slots__ = ("_latest", "_pieces", "_tools")

    def __init__(self, tools: OpenAITools) -> None:
        self._tools = tools
        self._pieces = StreamedCalls()
        self._latest: object = None
        """The key of the last item, unless the API says that it is complete; a custom call has no status of its own."""

    def feed(self, event: object) -> None:
        """Take one event or chunk; those that are not about calls are passed over."""
        told = fields_of(event)
        if "choices" in told:
            self._feed_chunk(told)
        else:
            self._feed_event(told)

    def calls(self) -> ParsedCalls:
        """The calls so far; one that has not ended is a `BrokenCall`."""
        return ParsedCalls(
            tuple(
                _read(
                    {**each.echo, "call_id": each.id, "name": each.name, "arguments": each.arguments},
                    self._tools,
                    complete=each.complete,
                )
                for each in self._pieces
            )
        )

    def _feed_event(self, told: Mapping[str, Any]) -> None:
        key, kind = told.get("output_index"), text_in(told, "type")
        item = fields_of(told.get("item"))
        if kind.startswith("response.output_item."):
            self._latest = None if item.get("status") == "completed" else key
        if kind.startswith("response.output_item.") and item.get("type") in _OF_RESPONSES:
            self._begin(key, item)
            if kind.endswith(".done"):
                text = _written(item)
                self._pieces.finish(key, arguments=text if isinstance(text, str) else None)
                if not _is_whole(item):
                    self._pieces.cut_off(key)
        elif kind in _UNFINISHED and self._latest in self._pieces:
            self._pieces.cut_off(self._latest)
        elif kind in {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}:
            self._pieces.add(key, text_in(told, "delta"))
        elif kind == "response.function_call_arguments.done":
            self._pieces.finish(key, arguments=text_in(told, "arguments"))
        elif kind == "response.custom_tool_call_input.done":
            self._pieces.finish(key, arguments=text_in(told, "input"))

    def _begin(self, key: object, item: Mapping[str, Any]) -> None:
        echo: dict[str, JsonValue] = {"type": text_in(item, "type")}
        if namespace := text_in(item, "namespace"):
            echo["namespace"] = namespace
        if caller := fields_of(item.get("caller")):
            echo["caller"] = dict(caller)
        self._pieces.begin(key, call_id=text_in(item, "call_id"), name=text_in(item, "name"), echo=echo)
        if item.get("type") == "tool_search_call" and isinstance(item.get("arguments"), dict):
            self._pieces.begin(key, echo={"searched": item["arguments"]})

    def _feed_chunk(self, told: Mapping[str, Any]) -> None:
        for choice in items_in(told, "choices"):
            which = choice.get("index", 0)
            for delta in items_in(fields_of(choice.get("delta")), "tool_calls"):
                key = (which, delta.get("index"))
                inner = fields_of(delta.get("function") or delta.get("custom"))
                kind = text_in(delta, "type")
                self._pieces.begin(
                    key,
                    call_id=text_in(delta, "id"),
                    name=text_in(inner, "name"),
                    echo={"type": f"chat_{kind}"} if kind else None,
                )
                self._pieces.add(key, text_in(inner, "arguments") or text_in(inner, "input"))
            # `length` and `content_filter` leave a call unfinished that looks whole.
            if choice.get("finish_reason") in {"tool_calls", "stop", "function_call"}:
                self._pieces.finish_all()


def _calls(response: object) -> Iterator[Mapping[str, Any]]:
    """The calls of an answer, all in the words of the Responses API."""
    told = {"output": response} if isinstance(response, list | tuple) else fields_of(response)
    if "choices" in told:
        for choice in items_in(told, "choices"):
            whole = choice.get("finish_reason") not in {"length", "content_filter"}
            yield from _of_message(fields_of(choice.get("message")), whole=whole)
    elif "tool_calls" in told:
        yield from _of_message(told, whole=True)
    else:
        items = items_in(told, "output")
        for at, each in enumerate(items):
            if each.get("type") not in _OF_RESPONSES:
                continue
            # A custom tool call has no status of its own; in an answer that was cut off, the last item is unfinished.
            is_cut = at == len(items) - 1 and each.get("status") is None and not _is_whole(told)
            yield {**each, "status": "incomplete"} if is_cut else each


def _of_message(message: Mapping[str, Any], *, whole: bool) -> Iterator[Mapping[str, Any]]:
    calls = items_in(message, "tool_calls")
    for at, each in enumerate(calls):
        inner = fields_of(each.get("function") or each.get("custom"))
        is_whole = whole or at < len(calls) - 1
        yield {
            "type": f"chat_{each.get('type', 'function')}",
            "call_id": each.get("id"),
            "name": inner.get("name"),
            "arguments": inner.get("arguments", inner.get("input")),
            "status": "completed" if is_whole else "incomplete",
        }


def _is_whole(item: Mapping[str, Any]) -> bool:
    """Whether an item or a response is complete as far as it says; a chat message and a custom call say nothing."""
    status = item.get("status")
    return status is None or status == "completed"


def _written(item: Mapping[str, Any]) -> object:
    return item.get("input") if item.get("type") == "custom_tool_call" else item.get("arguments")


def _read(item: Mapping[str, Any], tools: OpenAITools, *, complete: bool = True) -> ParsedCall:
    kind = text_in(item, "type") or "chat_function"
    namespace = text_in(item, "namespace")
    echo: dict[str, JsonValue] = {"type": kind}
    if namespace:
        echo["namespace"] = namespace
    if caller := fields_of(item.get("caller")):
        echo["caller"] = dict(caller)
    written = item.get("searched", item["arguments"] if "arguments" in item else _written(item))
    whole = complete and _is_whole(item)
    if kind == "tool_search_call":
        return _read_search(item, tools, written, whole=whole, echo=echo)
    if "custom" in kind:
        return _read_free_form(item, tools, written, whole=whole, echo=echo)
    return read_call(
        tools.names,
        call_id=item.get("call_id"),
        name=_flat(tools, namespace, item),
        arguments=written,
        complete=whole,
        restore=lambda tool_id, read: _restored(tools, tool_id, read),
        echo=echo,
    )


def _read_search(
    item: Mapping[str, Any], tools: OpenAITools, written: object, *, whole: bool, echo: Mapping[str, JsonValue]
) -> ParsedCall:
    names = ToolNames([tools.search] if tools.search else [])
    name = names.wire_name(tools.search) if tools.search else "tool_search"
    return read_call(names, call_id=item.get("call_id"), name=name, arguments=written, complete=whole, echo=echo)


def _read_free_form(
    item: Mapping[str, Any], tools: OpenAITools, written: object, *, whole: bool, echo: Mapping[str, JsonValue]
) -> ParsedCall:
    """A call whose text is not JSON but the one argument itself."""
    name = _flat(tools, text_in(item, "namespace"), item)
    given: JsonObject | None = {"text": written} if isinstance(written, str) else None
    read = read_call(tools.names, call_id=item.get("call_id"), name=name, arguments=given, complete=whole, echo=echo)
    if isinstance(read.outcome, BrokenCall):
        return read
    parameter = tools.free_form.get(read.outcome.tool, "input")
    return read._replace(outcome=read.outcome._replace(arguments={parameter: written}))


def _flat(tools: OpenAITools, namespace: str, item: Mapping[str, Any]) -> object:
    name = item.get("name")
    return tools.namespaces.flat_name(namespace, name) if isinstance(name, str) else name


def _restored(tools: OpenAITools, tool_id: str, read: JsonObject) -> JsonObject:
    if tool_id not in tools.strict:
        return read
    return restore_arguments(tools.names.by_id(tool_id).input_schema, read)
