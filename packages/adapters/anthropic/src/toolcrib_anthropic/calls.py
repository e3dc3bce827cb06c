"""The calls in what the Anthropic API sends: `tool_use` blocks of a message, or of a stream of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_anthropic.definitions import AnthropicTools
from toolcrib_core.json_values import JsonValue
from toolcrib_core.providers.fields import fields_of, items_in, text_in
from toolcrib_core.providers.parsed import ParsedCalls
from toolcrib_core.providers.reading import read_call
from toolcrib_core.providers.streams import StreamedCalls

_CUT_OFF: Final = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
"""The reasons to stop that leave the last block unfinished; the API then shows what there is as if it were whole."""


def parse_anthropic_calls(response: object, tools: AnthropicTools) -> ParsedCalls:
    """The calls of a message, in its order.

    `response` is the SDK's `Message`, the same as a dict, or its list of content blocks. A call that cannot run is
    kept as a `BrokenCall`, which can be sent back to the model like any result; so is the last one of a message that is
    still being written, such as the SDK's snapshot of a stream.
    """
    message = {"content": response} if isinstance(response, list | tuple) else fields_of(response)
    blocks = items_in(message, "content")
    # A message that is being written has no reason to stop yet.
    is_cut = message.get("stop_reason", "") is None or text_in(message, "stop_reason") in _CUT_OFF
    unfinished = len(blocks) - 1 if is_cut else None
    return ParsedCalls(
        tuple(
            read_call(
                tools.names,
                call_id=block.get("id"),
                name=block.get("name"),
                arguments=block.get("input"),
                complete=at != unfinished,
                echo=_echo(block),
            )
            for at, block in enumerate(blocks)
            if block.get("type") == "tool_use"
        )
    )


class AnthropicStream:
    """Collects the calls of a streamed message: feed it every event, then ask for the calls.

    It takes the events of `messages.create(stream=True)` and of `messages.stream(…)`, as objects or dicts.
    """

    __slots__ = ("_last", "_names", "_pieces")

    def __init__(self, tools: AnthropicTools) -> None:
        self._names = tools.names
        self._pieces = StreamedCalls()
        self._last: int | None = None

    def feed(self, event: object) -> None:
        """Take one event; those that are not about calls are passed over."""
        told = fields_of(event)
        index = told.get("index") if isinstance(told.get("index"), int) else None
        delta = fields_of(told.get("delta"))
        match told.get("type"):
            case "content_block_start":
                self._last = index
                block = fields_of(told.get("content_block"))
                if block.get("type") == "tool_use":
                    call_id, name = text_in(block, "id"), text_in(block, "name")
                    self._pieces.begin(index, call_id=call_id, name=name, echo=_echo(block))
            # Calls that the vendor runs itself come in such pieces, too.
            case "content_block_delta" if index in self._pieces and delta.get("type") == "input_json_delta":
                self._pieces.add(index, text_in(delta, "partial_json"))
            case "content_block_stop" if index in self._pieces:
                self._pieces.finish(index)
            case "message_delta" if self._last in self._pieces and text_in(delta, "stop_reason") in _CUT_OFF:
                self._pieces.cut_off(self._last)

    def calls(self) -> ParsedCalls:
        """The calls so far; one whose block has not ended is a `BrokenCall`."""
        # Of a call without arguments the API sends no pieces.
        return self._pieces.parsed(self._names, may_be_absent=True)


def _echo(block: Mapping[str, Any]) -> dict[str, JsonValue]:
    toolset = text_in(block, "toolset_name")
    return {"toolset_name": toolset} if toolset else {}
