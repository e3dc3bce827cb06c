"""Choices of the Anthropic API, tools loaded in the middle of a conversation, and tools that come from it."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import ToolChoiceParam

from tests.adapters.corpus import corpus
from tests.adapters.sdk_types import as_sdk_reads
from toolcrib_anthropic import from_anthropic_tools, to_anthropic_choice, to_anthropic_tools, tool_additions
from toolcrib_core import InvalidDefinition, SchemaError, ToolDefinition, UnknownTool

READ = ToolDefinition(namespace="fs", name="read", version="1.0.0")
TOOLS = to_anthropic_tools([READ])


@pytest.mark.req("AD-6")
@pytest.mark.parametrize(
    ("choice", "parallel", "wanted"),
    [
        ("auto", True, {"type": "auto"}),
        ("any", False, {"type": "any", "disable_parallel_tool_use": True}),
        ("none", False, {"type": "none"}),
        (READ, True, {"type": "tool", "name": "fs__read"}),
        ("fs:read@1.0.0", False, {"type": "tool", "name": "fs__read", "disable_parallel_tool_use": True}),
    ],
)
def test_a_choice_is_written_as_the_api_wants_it(choice: Any, wanted: dict[str, Any], *, parallel: bool) -> None:
    made = to_anthropic_choice(choice, TOOLS, parallel=parallel)

    assert made == wanted
    assert as_sdk_reads(ToolChoiceParam, made) == made


@pytest.mark.req("AD-6")
def test_a_tool_that_is_not_there_cannot_be_chosen() -> None:
    with pytest.raises(UnknownTool, match=r"Did you mean `fs:read@1\.0\.0`"):
        to_anthropic_choice("fs:raed@1.0.0", TOOLS)


@pytest.mark.req("AD-5")
def test_tools_can_be_added_in_the_middle_of_a_conversation() -> None:
    from anthropic.types.beta import BetaRequestToolAdditionBlockParam  # older versions do not know it

    message = tool_additions([READ], TOOLS)

    assert message["role"] == "system"
    for each in message["content"]:
        assert (
            as_sdk_reads(BetaRequestToolAdditionBlockParam, each)
            == each
            == {
                "type": "tool_addition",
                "tool": {"type": "tool_reference", "name": "fs__read"},
            }
        )


@pytest.mark.req("AD-8")
def test_what_was_exported_comes_back_by_name_schema_and_description() -> None:
    originals = [each for each in corpus()[:300] if "___" not in to_anthropic_tools([each]).names.wire_name(each)]
    exported = to_anthropic_tools(originals).tools

    imported = from_anthropic_tools(exported)

    assert to_anthropic_tools(imported.definitions).tools == exported
    assert imported.unsaid == ()


@pytest.mark.req("AD-8")
def test_what_a_definition_has_no_place_for_is_named() -> None:
    imported = from_anthropic_tools(
        [
            {"type": "web_search_20250305", "name": "web_search"},
            {
                "name": "read",
                "input_schema": {"type": "object"},
                "strict": True,
                "cache_control": {"type": "ephemeral"},
            },
        ],
        namespace="mine",
    )

    assert [(each.namespace, each.name) for each in imported.definitions] == [("mine", "read")]
    assert imported.unsaid == (
        "`web_search` is a tool that the API runs itself.",
        "`read`: `strict` has no place in a definition.",
        "`read`: `cache_control` has no place in a definition.",
    )


@pytest.mark.req("AD-8")
@pytest.mark.parametrize(
    ("tool", "error"),
    [
        ({"input_schema": {}}, InvalidDefinition),
        ({"name": "a", "input_schema": "x"}, InvalidDefinition),
        ({"name": "a", "input_schema": {"type": "object", "properties": {"x": {"type": "strnig"}}}}, SchemaError),
    ],
)
def test_what_is_no_tool_is_refused(tool: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_anthropic_tools([tool])
