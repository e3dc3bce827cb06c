"""Calls of both APIs, whole or in pieces, as `ToolCall`s or as errors for the model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.adapters.http_server import Reply
from tests.adapters.openai_server import OpenAIModel, broken_call, calls, says, searches, writes
from toolcrib_core import BrokenCall, ParsedCalls, ToolCall, ToolDefinition
from toolcrib_openai import OpenAIStream, OpenAITools, parse_openai_calls, to_openai_tools

FORECAST = ToolDefinition(
    namespace="weather",
    name="forecast",
    input_schema={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
)
SHOUT = ToolDefinition(
    name="shout",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
FIND = ToolDefinition(name="find_tools", input_schema={"type": "object", "properties": {"query": {"type": "string"}}})
TOOLS = to_openai_tools([FORECAST, SHOUT], strict=True)
BOTH = [calls("c1", "weather__forecast", city="Oslo", days=None), calls("c2", "shout", text="hé")]


def _answer(api: str, turn: list[dict[str, Any]], tools: OpenAITools, *, stream: bool = False) -> Reply:
    path = "/v1/responses" if api == "responses" else "/v1/chat/completions"
    asked = {"model": "m", "input": [], "messages": [], "tools": tools.tools, "stream": stream}
    return OpenAIModel([turn])(path, json.dumps(asked).encode())


def _whole(api: str, turn: list[dict[str, Any]], tools: OpenAITools) -> dict[str, Any]:
    return json.loads(_answer(api, turn, tools).body)


def _events(api: str, turn: list[dict[str, Any]], tools: OpenAITools) -> list[dict[str, Any]]:
    lines = _answer(api, turn, tools, stream=True).body.decode().splitlines()
    return [json.loads(each[6:]) for each in lines if each.startswith("data: {")]


def _streamed(events: list[Any], tools: OpenAITools) -> ParsedCalls:
    stream = OpenAIStream(tools)
    for each in events:
        stream.feed(each)
    return stream.calls()


def _read(parsed: ParsedCalls) -> list[ToolCall]:
    assert not parsed.broken
    return parsed.calls


EXPECTED = [
    ToolCall(tool=FORECAST.id, arguments={"city": "Oslo"}, id="c1"),
    ToolCall(tool=SHOUT.id, arguments={"text": "hé"}, id="c2"),
]


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("api", ["responses", "chat"])
def test_parallel_calls_of_a_whole_answer_keep_their_order(api: str) -> None:
    answer = _whole(api, [says("Let me see."), *BOTH], TOOLS)
    as_object = (Response if api == "responses" else ChatCompletion).model_validate(answer)

    assert _read(parse_openai_calls(answer, TOOLS)) == EXPECTED
    assert _read(parse_openai_calls(as_object, TOOLS)) == EXPECTED


@pytest.mark.req("AD-3")
def test_calls_are_found_in_a_list_of_output_items_and_in_a_bare_chat_message() -> None:
    items = _whole("responses", BOTH, TOOLS)["output"]
    message = _whole("chat", BOTH, TOOLS)["choices"][0]["message"]

    assert _read(parse_openai_calls(items, TOOLS)) == _read(parse_openai_calls(message, TOOLS)) == EXPECTED


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("api", ["responses", "chat"])
def test_streamed_calls_are_those_of_the_whole_answer_though_their_pieces_come_mixed(api: str) -> None:
    events = _events(api, [says("Let me see."), *BOTH], TOOLS)
    kind: Any = TypeAdapter(ResponseStreamEvent if api == "responses" else ChatCompletionChunk)

    assert _read(_streamed(events, TOOLS)) == EXPECTED
    assert _read(_streamed([kind.validate_python(each) for each in events], TOOLS)) == EXPECTED


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("api", ["responses", "chat"])
def test_a_stream_that_ends_in_the_middle_of_a_call_leaves_an_error_for_the_model(api: str) -> None:
    events = _events(api, [calls("c1", "shout", text="a long text to be cut")], TOOLS)

    parsed = _streamed(events[:4], TOOLS)

    assert parsed.calls == []
    assert parsed.broken[0].call_id == "c1"
    assert "ended before its arguments were complete" in parsed.broken[0].error.message


@pytest.mark.req("AD-3")
def test_the_last_call_of_an_answer_that_was_cut_off_does_not_run() -> None:
    chat = _whole("chat", BOTH, TOOLS)
    chat["choices"][0]["finish_reason"] = "length"
    flat = _whole("responses", BOTH, TOOLS)
    flat["output"][-1]["status"] = "incomplete"

    for answer in (chat, flat):
        parsed = parse_openai_calls(answer, TOOLS)
        assert [each.id for each in parsed.calls] == ["c1"]
        assert [each.call_id for each in parsed.broken] == ["c2"]


@pytest.mark.req("AD-3")
def test_a_streamed_call_whose_item_ends_incomplete_does_not_run() -> None:
    events = _events("responses", [calls("c1", "shout", text="x")], TOOLS)
    for each in events:
        if each["type"] == "response.output_item.done":
            each["item"]["status"] = "incomplete"

    assert [each.call_id for each in _streamed(events, TOOLS).broken] == ["c1"]


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("text", ['{"text": "x"', '{"text": "a", "text": "b"}', "[1]", "null", "NaN", "{'text': 1}"])
def test_arguments_that_are_not_one_json_object_are_an_error_and_never_an_empty_object(text: str) -> None:
    parsed = parse_openai_calls(_whole("responses", [broken_call("c1", "shout", text)], TOOLS), TOOLS)

    assert parsed.calls == []
    (broken,) = parsed.broken
    assert broken.error.code == "toolbox.unreadable-call"
    assert broken.error.hint
    assert broken.tool_id == SHOUT.id
    assert broken.content[0]["type"] == "text"


@pytest.mark.req("CT-6", "AD-3")
@pytest.mark.parametrize("text", ["", "  ", None])
def test_a_call_whose_arguments_are_empty_does_not_run(text: str | None) -> None:
    item = {**broken_call("c1", "shout", ""), "arguments": text}
    message = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "shout", "arguments": text}}]}

    for answer in ([item], {"output": [item]}, message, {"choices": [{"message": message, "finish_reason": "stop"}]}):
        parsed = parse_openai_calls(answer, TOOLS)

        assert parsed.calls == []
        (broken,) = parsed.broken
        assert broken.error.message == "The call of `shout` came without arguments; it was not run."
        assert broken.error.hint == "Send the call again with one JSON object as its arguments: `{}` if it needs none."


@pytest.mark.req("CT-6")
@pytest.mark.parametrize("api", ["responses", "chat"])
def test_a_streamed_call_that_never_gets_arguments_does_not_run(api: str) -> None:
    parsed = _streamed(_events(api, [broken_call("c1", "shout", "")], TOOLS), TOOLS)

    assert parsed.calls == []
    assert [each.error.message for each in parsed.broken] == [
        "The call of `shout` came without arguments; it was not run."
    ]


@pytest.mark.req("CT-6")
@pytest.mark.parametrize("arguments", ["", "{}", '{"text": "x"}'])
@pytest.mark.parametrize("status", ["in_progress", "incomplete", "queued"])
def test_an_item_that_the_api_is_still_writing_does_not_run(status: str, arguments: str) -> None:
    item = {**calls("c1", "shout"), "status": status, "arguments": arguments}

    for parsed in (
        parse_openai_calls([item], TOOLS),
        parse_openai_calls({"status": "in_progress", "output": [item]}, TOOLS),
        _streamed([{"type": "response.output_item.done", "output_index": 0, "item": item}], TOOLS),
    ):
        assert parsed.calls == []
        assert "ended before its arguments were complete" in parsed.broken[0].error.message


@pytest.mark.req("CT-6")
@pytest.mark.parametrize("status", ["in_progress", "incomplete", "failed", "cancelled"])
def test_free_text_at_the_end_of_an_unfinished_response_does_not_run(status: str) -> None:
    tools = to_openai_tools([SHOUT], free_form=True)
    whole = {"status": status, "output": [{**writes("c1", "shout", "a")}, {**writes("c2", "shout", "rm -r /ho")}]}

    parsed = parse_openai_calls(whole, tools)

    # An item of this kind has no status of its own.
    assert [each.id for each in parsed.calls] == ["c1"]
    assert [each.call_id for each in parsed.broken] == ["c2"]


@pytest.mark.req("CT-6")
@pytest.mark.parametrize("end", ["incomplete", "failed"])
def test_a_stream_that_the_api_cuts_off_breaks_its_last_call(end: str) -> None:
    tools = to_openai_tools([SHOUT], free_form=True)
    events = _events("responses", [writes("c1", "shout", "a"), writes("c2", "shout", "rm -r /ho")], tools)
    for each in events:
        if each["type"] == "response.output_item.done":
            each["item"].pop("status")
    events[-1] = {"type": f"response.{end}", "response": {"status": end}}

    parsed = _streamed(events, tools)

    assert [each.id for each in parsed.calls] == ["c1"]
    assert [each.call_id for each in parsed.broken] == ["c2"]


@pytest.mark.req("CT-6")
def test_a_custom_call_without_its_text_does_not_run() -> None:
    tools = to_openai_tools([SHOUT], free_form=True)

    parsed = parse_openai_calls([{"type": "custom_tool_call", "call_id": "c1", "name": "shout", "input": None}], tools)

    assert parsed.calls == []
    assert "came without arguments" in parsed.broken[0].error.message


@pytest.mark.req("AD-3")
@pytest.mark.parametrize(
    ("item", "code"),
    [
        (calls("c1", "weather__forcast", city="Oslo"), "toolbox.unknown-tool"),
        ({"type": "function_call", "call_id": "c1", "name": None, "arguments": "{}"}, "toolbox.unreadable-call"),
        ({"type": "function_call", "call_id": "c1", "name": "shout", "arguments": 7}, "toolbox.unreadable-call"),
        ({"type": "custom_tool_call", "call_id": "c1", "name": "nobody", "input": "x"}, "toolbox.unknown-tool"),
    ],
)
def test_a_call_that_no_tool_answers_is_an_error_for_the_model(item: dict[str, Any], code: str) -> None:
    (broken,) = parse_openai_calls([item], TOOLS).broken

    assert broken.error.code == code
    assert broken.call_id == "c1"


@pytest.mark.req("AD-3")
def test_an_error_of_a_broken_call_names_no_value_of_its_arguments() -> None:
    (broken,) = parse_openai_calls([broken_call("c1", "shout", '{"text": "hunter2"')], TOOLS).broken

    assert "hunter2" not in json.dumps(broken.error.to_dict())
    assert "hunter2" not in repr(broken)


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["responses", "chat"])
def test_free_text_becomes_the_one_argument(api: str, stream: bool) -> None:  # noqa: FBT001  # a table of two
    tools = to_openai_tools([SHOUT], api=api, free_form=True)
    turn = [writes("c1", "shout", 'say "hi"\n')]
    parsed = (
        _streamed(_events(api, turn, tools), tools) if stream else parse_openai_calls(_whole(api, turn, tools), tools)
    )

    assert _read(parsed) == [ToolCall(tool=SHOUT.id, arguments={"text": 'say "hi"\n'}, id="c1")]


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("stream", [False, True])
def test_a_name_in_a_namespace_leads_to_its_tool(stream: bool) -> None:  # noqa: FBT001  # a table of two
    tools = to_openai_tools([FORECAST], namespaces=True)
    turn = [calls("c1", "forecast", namespace="weather", city="Oslo")]
    parsed = (
        _streamed(_events("responses", turn, tools), tools)
        if stream
        else parse_openai_calls(_whole("responses", turn, tools), tools)
    )

    assert _read(parsed) == [ToolCall(tool=FORECAST.id, arguments={"city": "Oslo"}, id="c1")]


@pytest.mark.req("AD-3", "AD-5")
@pytest.mark.parametrize("stream", [False, True])
def test_a_search_of_the_model_is_a_call_of_the_tool_that_searches(stream: bool) -> None:  # noqa: FBT001  # as above
    tools = to_openai_tools([FORECAST], loaded=[], search=FIND)
    turn = [searches("s1", query="weather")]
    parsed = (
        _streamed(_events("responses", turn, tools), tools)
        if stream
        else parse_openai_calls(_whole("responses", turn, tools), tools)
    )

    assert _read(parsed) == [ToolCall(tool=FIND.id, arguments={"query": "weather"}, id="s1")]


@pytest.mark.req("AD-3")
def test_a_search_that_nobody_offered_is_an_error_for_the_model() -> None:
    (broken,) = parse_openai_calls([searches("s1", query="x")], TOOLS).broken

    assert isinstance(broken, BrokenCall)
    assert broken.error.code == "toolbox.unknown-tool"


@pytest.mark.req("AD-3")
def test_nulls_are_only_taken_out_where_strict_mode_put_them() -> None:
    loose = to_openai_tools([FORECAST])

    parsed = parse_openai_calls([calls("c1", "weather__forecast", city="Oslo", days=None)], loose)

    assert parsed.calls[0].arguments == {"city": "Oslo", "days": None}


@pytest.mark.req("AD-3")
@pytest.mark.parametrize("answer", [None, {}, {"output": None}, {"choices": []}, "text", 7])
def test_an_answer_without_calls_has_none(answer: object) -> None:
    assert len(parse_openai_calls(answer, TOOLS)) == 0


@pytest.mark.req("AD-3", "AD-4")
def test_the_caller_of_a_streamed_call_is_kept_for_its_result() -> None:
    caller = {"type": "program", "caller_id": "p1"}

    parsed = _streamed(_events("responses", [{**calls("c1", "shout", text="x"), "caller": caller}], TOOLS), TOOLS)

    assert parsed.entries[0].echo["caller"] == caller
