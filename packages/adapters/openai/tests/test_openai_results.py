"""Results in the shapes of both APIs: text, structured, image, file, error, for one call or many."""

from __future__ import annotations

import json

import pytest
from openai.types.chat import ChatCompletionToolMessageParam
from openai.types.responses import ResponseCustomToolCallOutputParam
from openai.types.responses.response_input_param import FunctionCallOutput

from tests.adapters.openai_server import broken_call, calls, writes
from tests.adapters.sdk_types import are_exactly
from toolcrib_core import CatalogError, MalformedJson, ResultContent, ToolDefinition
from toolcrib_openai import parse_openai_calls, to_openai_results, to_openai_tools

T = ToolDefinition(name="t")
S = ToolDefinition(
    name="s", input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
)
TOOLS = to_openai_tools([T, S], free_form=True)
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
PICTURE = "data:image/png;base64,AAAA"
PDF = {"type": "resource", "resource": {"uri": "file:///a/report.pdf", "blob": "AAAA", "mimeType": "application/pdf"}}
SOUND = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}


def _chat(*ids: str) -> dict[str, object]:
    return {
        "tool_calls": [{"id": each, "type": "function", "function": {"name": "t", "arguments": "{}"}} for each in ids]
    }


@pytest.mark.req("AD-4")
@pytest.mark.parametrize(
    ("result", "output"),
    [
        (ResultContent("c1", value="plain text"), "plain text"),
        (ResultContent("c1", value={"a": [1, None]}), '{"a":[1,null]}'),
        (ResultContent("c1", value=None), "null"),
        (ResultContent("c1", blocks=()), ""),
        (
            ResultContent("c1", blocks=({"type": "text", "text": "Look:"}, IMAGE)),
            [
                {"type": "input_text", "text": "Look:"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            ],
        ),
        (
            ResultContent("c1", blocks=(PDF,)),
            [{"type": "input_file", "file_data": "data:application/pdf;base64,AAAA", "filename": "report.pdf"}],
        ),
        (
            ResultContent("c1", blocks=(SOUND, {"type": "text", "text": ""})),
            [{"type": "input_text", "text": "[audio: audio/wav, not shown]"}],
        ),
        (
            ResultContent("c1", blocks=({"type": "resource_link", "uri": "https://example.org/a", "name": "a"},)),
            "[a](https://example.org/a)",
        ),
        (ResultContent("c1", blocks=({"type": "novel", "x": 1},)), '{"type":"novel","x":1}'),
    ],
)
def test_a_result_of_the_responses_api_is_one_output_item(result: ResultContent, output: object) -> None:
    made = to_openai_results(parse_openai_calls([calls("c1", "t")], TOOLS), [result], TOOLS)

    assert made == [{"type": "function_call_output", "call_id": "c1", "output": output}]
    assert are_exactly(FunctionCallOutput, made)


@pytest.mark.req("AD-4")
def test_an_error_is_a_json_text_that_no_model_takes_for_a_result() -> None:
    error = MalformedJson("The text is not JSON.", hint="Send JSON.", details={"secret": "hunter2"})

    for answer in ([calls("c1", "t")], _chat("c1")):
        (made,) = to_openai_results(parse_openai_calls(answer, TOOLS), [ResultContent("c1", error=error)], TOOLS)
        told = json.loads(str(made.get("output", made.get("content"))))
        assert told == {
            "error": {
                "code": "toolbox.malformed-json",
                "message": "The text is not JSON.",
                "retryable": False,
                "hint": "Send JSON.",
            }
        }


@pytest.mark.req("AD-4")
def test_results_of_chat_completions_are_tool_messages_of_text() -> None:
    parsed = parse_openai_calls(_chat("c1", "c2"), TOOLS)
    results = [ResultContent("c2", value=3), ResultContent("c1", blocks=({"type": "text", "text": "See:"}, IMAGE))]

    made = to_openai_results(parsed, results, TOOLS)

    assert made == [
        {"role": "tool", "tool_call_id": "c1", "content": "See:\n[image: image/png, not shown]"},
        {"role": "tool", "tool_call_id": "c2", "content": "3"},
    ]
    assert are_exactly(ChatCompletionToolMessageParam, made)


@pytest.mark.req("AD-4")
def test_a_custom_tool_is_answered_by_an_output_of_its_own_kind() -> None:
    made = to_openai_results(
        parse_openai_calls([writes("c1", "s", "hi")], TOOLS), [ResultContent("c1", value="HI")], TOOLS
    )

    assert made == [{"type": "custom_tool_call_output", "call_id": "c1", "output": "HI"}]
    assert are_exactly(ResponseCustomToolCallOutputParam, made)


@pytest.mark.req("AD-4")
def test_the_caller_of_a_programmatic_call_is_sent_back() -> None:
    caller = {"type": "program", "caller_id": "p1"}

    made = to_openai_results(
        parse_openai_calls([{**calls("c1", "t"), "caller": caller}], TOOLS), [ResultContent("c1")], TOOLS
    )

    assert made[0]["caller"] == caller
    assert are_exactly(FunctionCallOutput, made)


@pytest.mark.req("AD-4", "AD-3")
def test_broken_calls_answer_for_themselves_in_their_place() -> None:
    parsed = parse_openai_calls([broken_call("c1", "t", "{"), calls("c2", "t"), calls("c3", "nobody")], TOOLS)

    made = to_openai_results(parsed, [ResultContent("c2", value=1)], TOOLS)

    assert [each["call_id"] for each in made] == ["c1", "c2", "c3"]
    assert [
        json.loads(str(each["output"])).get("error", {}).get("code") if at != 1 else None
        for at, each in enumerate(made)
    ] == [
        "toolbox.unreadable-call",
        None,
        "toolbox.unknown-tool",
    ]


@pytest.mark.req("AD-4")
@pytest.mark.parametrize(
    ("ids", "why"),
    [([], "no result for `c1`"), (["c1", "c9"], "no call has the id `c9`"), (["c1", "c1"], "more than one")],
)
def test_calls_and_results_that_do_not_match_are_refused_before_the_api_does(ids: list[str], why: str) -> None:
    parsed = parse_openai_calls([calls("c1", "t")], TOOLS)

    with pytest.raises(CatalogError, match=why):
        to_openai_results(parsed, [ResultContent(each) for each in ids], TOOLS)
