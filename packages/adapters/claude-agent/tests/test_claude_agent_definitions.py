"""Definitions become tools of a server for the Claude Agent SDK: named within the budget, hinted at by their risk."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from inline_snapshot import snapshot
from mcp.types import Tool

from tests.adapters.corpus import corpus
from tests.adapters.golden import differences
from toolcrib_claude_agent import to_claude_agent_permissions, to_claude_agent_tools, tool_search_env
from toolcrib_core import CatalogError, ToolDefinition, ToolRisk


def tool(name: str, **rest: Any) -> ToolDefinition:
    return ToolDefinition(namespace="fs", name=name, version="1.0.0", **rest)


@pytest.mark.req("AD-1")
def test_a_tool_always_has_properties_and_says_what_it_may_do() -> None:
    read = tool("read", title="Read", description="Read a file.", risk=ToolRisk(effects="read", idempotent=True))

    made = to_claude_agent_tools([read, tool("any")], server="files", max_result_chars=90_000)

    assert made.tools == snapshot(
        [
            {
                "name": "fs__any",
                "description": "",
                "inputSchema": {"type": "object", "properties": {}},
                "annotations": {},
                "_meta": {"anthropic/maxResultSizeChars": 90000},
            },
            {
                "name": "fs__read",
                "title": "Read",
                "description": "Read a file.",
                "inputSchema": {"type": "object", "properties": {}},
                "annotations": {
                    "readOnlyHint": True,
                    "destructiveHint": False,
                    "openWorldHint": False,
                    "idempotentHint": True,
                },
                "_meta": {"anthropic/maxResultSizeChars": 90000},
            },
        ]
    )
    assert made.names.wire_name(read) == "mcp__files__fs__read"
    assert made.listed_name("fs:read@1.0.0") == "fs__read"


@pytest.mark.req("AD-7", "AD-10")
@pytest.mark.fault("B11")
def test_every_tool_of_the_corpus_is_one_that_the_protocol_knows_within_64_characters() -> None:
    tools = corpus()
    shuffled = random.Random(7).sample(tools, len(tools))

    made = to_claude_agent_tools(tools, server="a-server-with-a-name")

    listed: dict[str, Any] = dict(zip([each.id for each in made.names], made.tools, strict=True))
    assert differences("claude_agent", listed, tools) == []
    assert len(made.tools) == len(tools) >= 150
    for each in made.tools:
        assert Tool.model_validate(each).model_dump(by_alias=True, exclude_none=True) == each
        schema: Any = each["inputSchema"]
        assert schema["type"] == "object"
        assert isinstance(schema["properties"], dict)
    assert max(len(made.names.wire_name(each)) for each in tools) <= 64
    again = to_claude_agent_tools(shuffled, server="a-server-with-a-name")
    assert json.dumps(again.tools) == json.dumps(made.tools)


@pytest.mark.req("AD-10")
@pytest.mark.parametrize("server", ["", "a__b", "_a", "a_", "a b", "x" * 50])
def test_a_server_whose_name_leaves_no_room_or_no_doubt_is_refused(server: str) -> None:
    with pytest.raises(CatalogError):
        to_claude_agent_tools([tool("read")], server=server)


@pytest.mark.req("AD-6")
@pytest.mark.parametrize(
    ("risk", "read_only", "wanted"),
    [
        (ToolRisk(effects="none"), False, "allowed"),
        (ToolRisk(effects="read"), True, "allowed"),
        (ToolRisk(effects="read", requires_approval=True), True, "asked"),
        (ToolRisk(effects="write"), False, "asked"),
        (ToolRisk(effects="write"), True, "disallowed"),
        (ToolRisk(effects="read", destructive=True), True, "disallowed"),
        (ToolRisk(), False, "asked"),
        (ToolRisk(), True, "disallowed"),
    ],
)
def test_only_what_is_known_to_read_is_allowed_unasked(risk: ToolRisk, wanted: str, *, read_only: bool) -> None:
    tools = to_claude_agent_tools([tool("t", risk=risk)])

    permissions = to_claude_agent_permissions(tools, read_only=read_only)

    assert permissions._asdict() == {"allowed": [], "asked": [], "disallowed": []} | {wanted: ["mcp__toolcrib__fs__t"]}


@pytest.mark.req("AD-5")
def test_when_claude_code_searches_is_a_setting_of_its_own() -> None:
    assert tool_search_env("always") == {"ENABLE_TOOL_SEARCH": "true"}
    assert tool_search_env("never") == {"ENABLE_TOOL_SEARCH": "false"}
    assert tool_search_env(10) == {"ENABLE_TOOL_SEARCH": "auto:10"}
    with pytest.raises(CatalogError):
        tool_search_env(101)
