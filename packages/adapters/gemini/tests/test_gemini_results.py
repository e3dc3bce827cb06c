"""Results become the one content that the Gemini API wants after calls."""

from __future__ import annotations

from typing import Any

import pytest
from google.genai import types
from inline_snapshot import snapshot

from toolcrib_core import CatalogError, ToolDefinition, create_tool_error
from toolcrib_gemini import ResultContent, parse_gemini_calls, to_gemini_results, to_gemini_tools

TOOLS = to_gemini_tools([ToolDefinition(namespace="t", name="a", version="1.0.0")])


def answered(*results: ResultContent) -> list[dict[str, Any]]:
    parts = [{"function_call": {"id": each.call_id, "name": "t__a", "args": {}}} for each in results]
    content = to_gemini_results(parse_gemini_calls(parts, TOOLS), reversed(results))
    read = types.Content.model_validate(content)
    assert read.model_dump(mode="json", exclude_none=True) == content
    told: Any = content["parts"]
    return [each["function_response"] for each in told]


@pytest.mark.req("AD-4")
def test_values_texts_and_errors_of_many_calls_go_in_the_order_of_the_calls() -> None:
    failure = create_tool_error("tool.t.a.full", "The disk is full.", hint="Delete something.")

    told = answered(
        ResultContent("c1", value="plain"), ResultContent("c2", value={"a": [1]}), ResultContent("c3", error=failure)
    )

    assert told == snapshot(
        [
            {"id": "c1", "name": "t__a", "response": {"output": "plain"}},
            {"id": "c2", "name": "t__a", "response": {"output": {"a": [1]}}},
            {
                "id": "c3",
                "name": "t__a",
                "response": {
                    "error": {
                        "code": "tool.t.a.full",
                        "message": "The disk is full.",
                        "retryable": False,
                        "hint": "Delete something.",
                    }
                },
            },
        ]
    )


@pytest.mark.req("AD-4")
def test_pictures_and_documents_are_parts_and_the_rest_is_named() -> None:
    (told,) = answered(
        ResultContent(
            "c1",
            value={"points": 3},
            blocks=(
                {"type": "text", "text": "Here:"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
                {
                    "type": "resource",
                    "resource": {"uri": "file:///r/report.pdf", "mimeType": "application/pdf", "blob": "aGk="},
                },
            ),
        )
    )

    assert told["response"] == {"output": "Here:\n[audio: audio/wav, not shown]"}
    assert told["parts"] == snapshot(
        [
            {"inline_data": {"mime_type": "image/png", "data": "aGk="}},
            {"inline_data": {"mime_type": "application/pdf", "data": "aGk=", "display_name": "report.pdf"}},
        ]
    )


@pytest.mark.req("AD-4")
def test_a_picture_alone_is_told_with_the_value() -> None:
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}

    (told,) = answered(ResultContent("c1", value={"points": 3}, blocks=(picture,)))

    assert told["response"] == {"output": {"points": 3}}


@pytest.mark.req("AD-4")
def test_a_value_with_a_reference_in_it_goes_as_text() -> None:
    (told,) = answered(ResultContent("c1", value={"schema": {"$ref": "#/x"}}))

    assert told["response"] == {"output": '{"schema":{"$ref":"#/x"}}'}


@pytest.mark.req("AD-4")
def test_calls_without_results_are_refused_before_the_api_does_it() -> None:
    calls = parse_gemini_calls([{"function_call": {"id": "c1", "name": "t__a"}}], TOOLS)

    with pytest.raises(CatalogError, match="no result for `c1`"):
        to_gemini_results(calls, [])
