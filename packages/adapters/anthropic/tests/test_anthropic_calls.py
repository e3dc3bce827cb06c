"""The calls of a message are read as they are, in order; what is broken goes back to the model as an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from hypothesis import given, settings
from pydantic import TypeAdapter

from tests.adapters.hostile_answers import answers
from toolcrib_anthropic import AnthropicStream, parse_anthropic_calls, to_anthropic_results, to_anthropic_tools
from toolcrib_core import ResultContent, ToolCall, ToolDefinition, UnknownTool, UnreadableCall

EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
TOOLS = to_anthropic_tools(
    [ToolDefinition(namespace="fs", name=name, version="1.0.0") for name in ("read", "write", "list")]
)


def use(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def message(*blocks: dict[str, Any], stop: str | None = "tool_use") -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": list(blocks),
        "stop_reason": stop,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


BLOCKS = (
    {"type": "text", "text": "Let me look."},
    use("t1", "fs__read", {"path": "a"}),
    use("t2", "fs__list", {}),
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
    use("t3", "fs__read", {"path": "b"}),
)
WANTED = [
    ToolCall("fs:read@1.0.0", {"path": "a"}, "t1"),
    ToolCall("fs:list@1.0.0", {}, "t2"),
    ToolCall("fs:read@1.0.0", {"path": "b"}, "t3"),
]


@pytest.mark.req("AD-3")
@pytest.mark.parametrize(
    "response",
    [
        pytest.param(Message.model_validate(message(*BLOCKS)), id="object"),
        pytest.param(message(*BLOCKS), id="dict"),
        pytest.param(list(BLOCKS), id="blocks"),
        pytest.param(Message.model_validate(message(*BLOCKS)).content, id="objects"),
    ],
)
def test_parallel_calls_keep_their_order_in_every_form_of_a_response(response: object) -> None:
    assert parse_anthropic_calls(response, TOOLS).calls == WANTED


@pytest.mark.req("AD-3")
@pytest.mark.parametrize(
    ("block", "error", "said"),
    [
        pytest.param(use("t", "fs__raed", {}), UnknownTool, "Did you mean `fs__read`?", id="unknown name"),
        pytest.param(use("t", "fs__read", "{'a':"), UnreadableCall, "not JSON; it was not run", id="invalid JSON"),
        pytest.param(use("t", "fs__read", [1]), UnreadableCall, "must be a JSON object", id="no object"),
        pytest.param({"type": "tool_use", "id": "t"}, UnreadableCall, "names no tool", id="no name"),
        pytest.param(use("t", "fs__read", None), UnreadableCall, "came without arguments", id="no input"),
        pytest.param(use("t", "fs__read", ""), UnreadableCall, "came without arguments", id="empty input"),
    ],
)
def test_a_broken_call_is_an_error_that_can_be_sent_back(block: dict[str, Any], error: type, said: str) -> None:
    calls = parse_anthropic_calls([block], TOOLS)

    assert calls.calls == []
    assert isinstance(calls.broken[0].error, error)
    (result,) = to_anthropic_results(calls, [])["content"]
    assert (result["tool_use_id"], result["is_error"]) == ("t", True)
    assert said in result["content"]


@pytest.mark.req("AD-3", "CT-6")
@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded", "refusal", None])
def test_a_call_that_was_cut_off_does_not_run_with_what_there_is_of_it(stop: str | None) -> None:
    response = message(use("t1", "fs__read", {"path": "a"}), use("t2", "fs__write", {}), stop=stop)

    calls = parse_anthropic_calls(response, TOOLS)

    assert [each.id for each in calls.calls] == ["t1"]
    assert [each.call_id for each in calls.broken] == ["t2"]
    assert "ended before its arguments were complete" in calls.broken[0].error.message


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("response", [None, {}, {"content": "text"}, {"content": None}, "text", 7])
def test_a_response_without_calls_has_none(response: object) -> None:
    assert len(parse_anthropic_calls(response, TOOLS)) == 0


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("as_objects", [False, True])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_stream_gives_the_same_calls_as_the_whole_message(size: int, *, as_objects: bool) -> None:
    stream = AnthropicStream(TOOLS)

    for event in events(*BLOCKS, size=size):
        stream.feed(EVENT.validate_python(event) if as_objects else event)
    stream.feed({"type": "ping"})

    assert stream.calls().calls == WANTED


@pytest.mark.req("AD-3")
def test_half_a_stream_leaves_a_broken_call_at_every_point_and_never_an_empty_one() -> None:
    whole = list(events(use("t1", "fs__write", {"path": "a", "text": "é\n"}), size=2))

    for end in range(1, len(whole)):
        stream = AnthropicStream(TOOLS)
        for event in whole[:end]:
            stream.feed(event)
        finished = any(each["type"] == "content_block_stop" for each in whole[:end])
        assert [each.arguments for each in stream.calls().calls] == ([{"path": "a", "text": "é\n"}] if finished else [])
        assert len(stream.calls()) == (1 if end > 1 else 0)


@pytest.mark.req("AD-3")
def test_a_stream_that_hit_its_limit_breaks_the_last_call_even_if_its_block_ended() -> None:
    stream = AnthropicStream(TOOLS)

    for event in events(use("t1", "fs__list", {}), use("t2", "fs__write", None), stop="max_tokens"):
        stream.feed(event)

    assert [each.id for each in stream.calls().calls] == ["t1"]
    assert [each.call_id for each in stream.calls().broken] == ["t2"]


@pytest.mark.req("AD-3", "AD-4")
def test_the_toolset_of_a_call_is_told_again_in_its_result() -> None:
    calls = parse_anthropic_calls([use("t1", "fs__read", {}) | {"toolset_name": "browser"}], TOOLS)

    (result,) = to_anthropic_results(calls, [ResultContent("t1", value="done")])["content"]

    assert result["toolset_name"] == "browser"


@pytest.mark.req("AD-3")
@settings(max_examples=150, deadline=None)
@given(
    answers(
        "type content id name input index delta partial_json content_block stop_reason toolset_name",
        "tool_use fs__read content_block_start content_block_delta content_block_stop message_delta input_json_delta "
        "max_tokens t1",
    )
)
def test_no_answer_however_wrong_raises(received: list[Any]) -> None:
    stream = AnthropicStream(TOOLS)

    for each in received:
        stream.feed(each)
        assert all(broken.error.hint for broken in parse_anthropic_calls(each, TOOLS).broken)

    assert all(broken.error.hint for broken in stream.calls().broken)


def events(*blocks: dict[str, Any], size: int = 5, stop: str = "tool_use") -> Iterator[dict[str, Any]]:
    """What the API streams for a message: arguments of None are not there at all."""
    yield {"type": "message_start", "message": message() | {"stop_reason": None}}
    for index, block in enumerate(blocks):
        is_call = block["type"] != "text"
        empty = block | {"input": {}} if is_call else block
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        written = json.dumps(block["input"]) if is_call and block["input"] is not None else ""
        for at in range(0, len(written), size):
            delta = {"type": "input_json_delta", "partial_json": written[at : at + size]}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}
