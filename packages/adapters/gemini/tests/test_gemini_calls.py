"""The calls of a response are read as they are, in order; what is broken goes back to the model as an error."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from google.genai import types
from hypothesis import given, settings

from tests.adapters.hostile_answers import answers
from toolcrib_core import ToolCall, ToolDefinition, UnknownTool, UnreadableCall
from toolcrib_gemini import GeminiStream, parse_gemini_calls, to_gemini_results, to_gemini_tools

TOOLS = to_gemini_tools([ToolDefinition(namespace="fs", name=name, version="1.0.0") for name in ("read", "write")])


def response(*parts: dict[str, Any], reason: str | None = "STOP") -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finish_reason": reason}]}


def call(name: str | None = "fs__read", **rest: Any) -> dict[str, Any]:
    return {"function_call": {"name": name, **rest}}


PARTS = (
    {"text": "Let me look."},
    call(args={"path": "a"}, id="c1"),
    call("fs__write", args={"path": "b"}),
    call(),
)
WANTED = [
    ToolCall("fs:read@1.0.0", {"path": "a"}, "c1"),
    ToolCall("fs:write@1.0.0", {"path": "b"}, "call-2"),
    ToolCall("fs:read@1.0.0", {}, "call-3"),
]
CAMEL = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "Let me look."},
                    {"functionCall": {"name": "fs__read", "args": {"path": "a"}, "id": "c1"}},
                    {"functionCall": {"name": "fs__write", "args": {"path": "b"}}},
                    {"functionCall": {"name": "fs__read"}},
                ]
            },
            "finishReason": "STOP",
        }
    ]
}


@pytest.mark.req("AD-3")
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(types.GenerateContentResponse.model_validate(response(*PARTS)), id="object"),
        pytest.param(response(*PARTS), id="dict"),
        pytest.param(CAMEL, id="dict as on the wire"),
        pytest.param(list(PARTS), id="parts"),
    ],
)
def test_parallel_calls_keep_their_order_in_every_form_of_a_response(answer: object) -> None:
    assert parse_gemini_calls(answer, TOOLS).calls == WANTED


@pytest.mark.req("CT-6", "AD-3")
@pytest.mark.parametrize("as_stream", [False, True])
def test_the_last_call_of_an_answer_that_was_cut_off_does_not_run(*, as_stream: bool) -> None:
    whole = response(call(args={"path": "a"}), call("fs__write", args={"path": "b"}), reason="MAX_TOKENS")
    begun = response(call(args={"path": "a"}), call("fs__write", args={"path": "b"}), reason=None)
    stream = GeminiStream(TOOLS)
    for each in [begun, response(reason="MAX_TOKENS")] if as_stream else [whole]:
        stream.feed(each)

    assert [each.arguments for each in stream.calls().calls] == [{"path": "a"}]
    assert "ended before its arguments were complete" in stream.calls().broken[0].error.message


@pytest.mark.req("CT-6", "AD-3")
def test_a_call_before_a_text_that_was_cut_off_runs() -> None:
    answer = response(call(args={"path": "a"}), {"text": "And now"}, reason="MAX_TOKENS")

    assert [each.arguments for each in parse_gemini_calls(answer, TOOLS).calls] == [{"path": "a"}]


@pytest.mark.req("AD-3", "AD-4")
def test_only_an_id_that_the_api_gave_is_told_again() -> None:
    calls = parse_gemini_calls(response(call("fs__raed", id="c1"), call("fs__raed")), TOOLS)

    first, second = (part["function_response"] for part in to_gemini_results(calls, [])["parts"])

    assert first["id"] == "c1"
    assert "id" not in second


@pytest.mark.req("AD-3")
@pytest.mark.parametrize(
    ("part", "error", "said"),
    [
        pytest.param(call("fs__raed"), UnknownTool, "Did you mean `fs__read`?", id="unknown name"),
        pytest.param(call(args="{'a':"), UnreadableCall, "not JSON; it was not run", id="invalid JSON"),
        pytest.param(call(args=[1]), UnreadableCall, "must be a JSON object", id="no object"),
        pytest.param(call(None), UnreadableCall, "names no tool", id="no name"),
        pytest.param(call(will_continue=True), UnreadableCall, "ended before its arguments", id="half a call"),
    ],
)
def test_a_broken_call_is_an_error_that_can_be_sent_back(part: dict[str, Any], error: type, said: str) -> None:
    calls = parse_gemini_calls([part], TOOLS)

    assert calls.calls == []
    assert isinstance(calls.broken[0].error, error)
    told: Any = to_gemini_results(calls, [])["parts"][0]["function_response"]["response"]["error"]
    assert said in f"{told['message']} {told.get('hint')}"


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("as_object", [False, True])
def test_a_call_that_the_api_itself_could_not_read_is_not_taken_for_the_end(*, as_object: bool) -> None:
    answer = response(reason="MALFORMED_FUNCTION_CALL")

    with pytest.raises(UnreadableCall, match="MALFORMED_FUNCTION_CALL"):
        parse_gemini_calls(types.GenerateContentResponse.model_validate(answer) if as_object else answer, TOOLS)


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("answer", [None, {}, {"candidates": []}, {"candidates": [{"content": None}]}, "text", 7])
def test_a_response_without_calls_has_none(answer: object) -> None:
    assert len(parse_gemini_calls(answer, TOOLS)) == 0


@pytest.mark.req("AD-3")
def test_a_stream_gives_the_same_calls_as_the_whole_response() -> None:
    stream = GeminiStream(TOOLS)

    for part in PARTS:
        stream.feed(types.GenerateContentResponse.model_validate(response(part, reason=None)))

    assert stream.calls().calls == WANTED


PIECES: list[dict[str, Any]] = [
    {"json_path": "$.path", "string_value": "no", "will_continue": True},
    {"json_path": "$.path", "string_value": "tes"},
    {"json_path": "$.lines[0].text", "string_value": "Hi"},
    {"json_path": "$.lines[0]['line no']", "number_value": 3.0},
    {"json_path": "$.lines[1].text", "null_value": "NULL_VALUE"},
    {"json_path": "$.tags[0]", "string_value": "a"},
    {"json_path": "$.tags[0]", "string_value": "b"},
    {"json_path": "$.tags[1]", "bool_value": False},
    {"json_path": "$.size", "number_value": 0.5},
]


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("as_objects", [False, True])
def test_arguments_that_come_value_by_value_are_put_together(*, as_objects: bool) -> None:
    chunks = [call("fs__write", id="c1", will_continue=True)]
    chunks += [call(None, partial_args=[piece], will_continue=True) for piece in PIECES]
    chunks += [call(None), call(args={})]
    stream = GeminiStream(TOOLS)

    for part in chunks:
        chunk = response(part, reason=None)
        stream.feed(types.GenerateContentResponse.model_validate(chunk) if as_objects else chunk)

    written, read = stream.calls().calls
    assert written == ToolCall(
        "fs:write@1.0.0",
        {
            "path": "notes",
            "lines": [{"text": "Hi", "line no": 3}, {"text": None}],
            "tags": ["ab", False],
            "size": 0.5,
        },
        "c1",
    )
    assert read.tool == "fs:read@1.0.0"


@pytest.mark.req("AD-3")
def test_half_a_stream_leaves_a_broken_call() -> None:
    stream = GeminiStream(TOOLS)

    stream.feed(response(call("fs__write", partial_args=PIECES[:1], will_continue=True), reason=None))

    assert stream.calls().calls == []
    assert "ended before its arguments were complete" in stream.calls().broken[0].error.message


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("path", ["", "$", "path", "$.a[1]", "$[0]", "$..a", "$.a" * 300, "$.path[0]", "$.path.x.y"])
def test_a_piece_that_belongs_nowhere_breaks_the_call(path: str) -> None:
    pieces = [{"json_path": "$.path", "string_value": "x"}, {"jsonPath": path, "stringValue": "y"}]

    calls = parse_gemini_calls([call("fs__write", partialArgs=pieces)], TOOLS)

    assert calls.calls == []
    assert "which leads nowhere" in calls.broken[0].error.message


@pytest.mark.req("AD-3")
def test_arguments_without_end_are_not_collected() -> None:
    piece = {"json_path": "$.path", "string_value": "x" * 1_000_000, "will_continue": True}

    calls = parse_gemini_calls([call("fs__write", partial_args=[piece] * 20)], TOOLS)

    assert "too long" in calls.broken[0].error.message


@pytest.mark.req("AD-3")
@settings(max_examples=150, deadline=None)
@given(
    answers(
        "candidates content parts function_call functionCall id name args partial_args partialArgs json_path "
        "string_value number_value will_continue finish_reason finishReason",
        "fs__read $.a $.a[0] $['b'] c1 MALFORMED_FUNCTION_CALL STOP",
    )
)
def test_no_answer_however_wrong_raises_anything_but_that_it_is_unreadable(received: list[Any]) -> None:
    stream = GeminiStream(TOOLS)

    for each in received:
        stream.feed(each)
        with suppress(UnreadableCall):
            assert all(broken.error.hint for broken in parse_gemini_calls(each, TOOLS).broken)

    with suppress(UnreadableCall):
        assert all(broken.error.hint for broken in stream.calls().broken)
