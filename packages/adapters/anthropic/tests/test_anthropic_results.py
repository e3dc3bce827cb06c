"""Results become the one user message that the Anthropic API wants after calls."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import MessageParam, ToolResultBlockParam
from inline_snapshot import snapshot

from tests.adapters.sdk_types import as_sdk_reads
from toolcrib_anthropic import (
    LoadedTools,
    ResultContent,
    parse_anthropic_calls,
    to_anthropic_results,
    to_anthropic_tools,
)
from toolcrib_core import CatalogError, ToolDefinition, create_tool_error

TOOLS = to_anthropic_tools([ToolDefinition(namespace="t", name=name, version="1.0.0") for name in ("a", "b", "search")])


def answered(*results: ResultContent | LoadedTools) -> list[dict[str, Any]]:
    blocks = [{"type": "tool_use", "id": each.call_id, "name": "t__a", "input": {}} for each in results]
    message = to_anthropic_results(parse_anthropic_calls(blocks, TOOLS), reversed(results))
    assert message["role"] == "user"
    content: Any = message["content"]
    assert as_sdk_reads(MessageParam, message) == message
    assert [as_sdk_reads(ToolResultBlockParam, each) for each in content] == content
    return content


@pytest.mark.req("AD-4")
def test_text_values_and_errors_of_many_calls_go_in_the_order_of_the_calls() -> None:
    failure = create_tool_error("tool.t.a.full", "The disk is full.", hint="Delete something.")

    told = answered(
        ResultContent("t1", value="plain"), ResultContent("t2", value={"a": [1]}), ResultContent("t3", error=failure)
    )

    assert told == snapshot(
        [
            {"type": "tool_result", "tool_use_id": "t1", "content": "plain"},
            {"type": "tool_result", "tool_use_id": "t2", "content": '{"a":[1]}'},
            {
                "type": "tool_result",
                "tool_use_id": "t3",
                "content": "The disk is full. Delete something.",
                "is_error": True,
            },
        ]
    )


@pytest.mark.req("AD-4")
def test_pictures_and_documents_are_blocks_and_the_rest_is_named() -> None:
    (told,) = answered(
        ResultContent(
            "t1",
            blocks=(
                {"type": "text", "text": ""},
                {"type": "text", "text": "Here:"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                {"type": "image", "data": "aGk=", "mimeType": "image/tiff"},
                {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
                {
                    "type": "resource",
                    "resource": {"uri": "file:///r/report.pdf", "mimeType": "application/pdf", "blob": "aGk="},
                },
                {"type": "resource_link", "uri": "https://example.org/x", "name": "x"},
            ),
        )
    )

    assert told["content"] == snapshot(
        [
            {"type": "text", "text": "Here:"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            {"type": "text", "text": "[image: image/tiff, not shown]"},
            {"type": "text", "text": "[audio: audio/wav, not shown]"},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
                "title": "report.pdf",
            },
            {"type": "text", "text": "[x](https://example.org/x)"},
        ]
    )


@pytest.mark.req("AD-5")
def test_a_search_of_our_own_loads_what_it_found_by_references() -> None:
    calls = parse_anthropic_calls([{"type": "tool_use", "id": "t1", "name": "t__search", "input": {}}], TOOLS)
    found = LoadedTools.found(calls.calls[0], ["t:b@1.0.0", "t:a@1.0.0"], TOOLS.names)

    (told,) = to_anthropic_results(calls, [found])["content"]

    assert told["content"] == [
        {"type": "tool_reference", "tool_name": "t__b"},
        {"type": "tool_reference", "tool_name": "t__a"},
    ]
    assert as_sdk_reads(ToolResultBlockParam, told) == told


@pytest.mark.req("AD-5")
def test_a_search_that_found_nothing_says_so_as_text() -> None:
    calls = parse_anthropic_calls([{"type": "tool_use", "id": "t1", "name": "t__search", "input": {}}], TOOLS)

    (told,) = to_anthropic_results(calls, [LoadedTools.found(calls.calls[0], [], TOOLS.names)])["content"]

    assert told["content"] == '{"tools":[]}'


@pytest.mark.req("AD-4")
def test_calls_without_results_are_refused_before_the_api_does_it() -> None:
    calls = parse_anthropic_calls([{"type": "tool_use", "id": "t1", "name": "t__a", "input": {}}], TOOLS)

    with pytest.raises(CatalogError, match="no result for `t1`"):
        to_anthropic_results(calls, [])
    with pytest.raises(CatalogError, match="no call has the id `t9`"):
        to_anthropic_results(calls, [ResultContent("t1"), ResultContent("t9")])
