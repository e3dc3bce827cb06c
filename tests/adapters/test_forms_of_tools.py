"""Every adapter takes the tools of a program in every form, and can leave out what its provider forbids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from mcp import Client

from tests.adapters.arithmetic import DEFINITIONS, TOOLBOX
from toolcrib_anthropic import to_anthropic_tools
from toolcrib_claude_agent import create_claude_agent_server, to_claude_agent_tools, to_sdk_mcp_tools
from toolcrib_core import (
    CatalogError,
    ToolDefinition,
    UnsupportedTool,
    create_registry,
    serialize_tool_definition,
)
from toolcrib_gemini import to_gemini_tools
from toolcrib_openai import to_openai_tools

ADAPTERS: Final[dict[str, Callable[..., Any]]] = {
    "openai": to_openai_tools,
    "anthropic": to_anthropic_tools,
    "gemini": to_gemini_tools,
    "claude-agent": to_claude_agent_tools,
}
STRICT_ABOUT_NAMES: Final = ("anthropic", "claude-agent")
ODD: Final = ToolDefinition(
    namespace="drive",
    name="list",
    version="1.0.0",
    input_schema={"type": "object", "properties": {"$top": {"type": "integer"}, "folder": {"type": "string"}}},
)

every_adapter = pytest.mark.parametrize("provider", ADAPTERS)


@pytest.mark.req("CT-15")
@every_adapter
def test_a_toolbox_a_registry_and_lists_make_the_same_request(provider: str) -> None:
    convert = ADAPTERS[provider]

    expected = convert(list(DEFINITIONS)).tools

    assert expected
    assert convert(TOOLBOX).tools == expected
    assert convert(TOOLBOX.registry).tools == expected
    assert convert(create_registry(DEFINITIONS)).tools == expected
    assert convert(TOOLBOX.tools).tools == expected
    assert convert([serialize_tool_definition(each) for each in DEFINITIONS]).tools == expected


@pytest.mark.req("CT-15")
@every_adapter
def test_one_tool_needs_no_list(provider: str) -> None:
    convert, runnable = ADAPTERS[provider], TOOLBOX.tools[0]

    assert convert(runnable).tools == convert(runnable.definition).tools == convert([runnable]).tools


@pytest.mark.req("CT-15")
@every_adapter
@pytest.mark.parametrize("given", [None, "math:add", len, {"add": 1}, [1]], ids=["null", "id", "code", "map", "number"])
def test_what_holds_no_tools_gets_a_sentence(provider: str, given: object) -> None:
    with pytest.raises(CatalogError, match="which is no tool") as caught:
        ADAPTERS[provider](given)

    assert caught.value.hint


@pytest.mark.req("CT-15")
@pytest.mark.parametrize("provider", STRICT_ABOUT_NAMES)
def test_a_parameter_that_the_provider_forbids_fails_the_request_and_the_message_says_how_to_go_on(
    provider: str,
) -> None:
    with pytest.raises(UnsupportedTool) as caught:
        ADAPTERS[provider]([*DEFINITIONS, ODD])

    assert "refuses 1 parameter of `drive:list@1.0.0` for its name: `$top`." in caught.value.message
    assert 'on_illegal="skip"' in str(caught.value.hint)


@pytest.mark.req("CT-15")
@every_adapter
def test_a_tool_that_the_provider_forbids_can_be_left_out_and_is_reported(provider: str) -> None:
    made = ADAPTERS[provider]([*DEFINITIONS, ODD], on_illegal="skip")

    forbids = provider in STRICT_ABOUT_NAMES
    assert list(made.skipped) == ([ODD.id] if forbids else [])
    assert (ODD.id in made.names) is not forbids
    assert ("drive__list" in str(made.tools)) is not forbids
    assert len(made.names) == len(DEFINITIONS) + (not forbids)


@pytest.mark.req("CT-15")
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_a_tool_that_is_left_out_may_be_named_among_those_to_load(provider: str) -> None:
    made = ADAPTERS[provider]([*DEFINITIONS, ODD], on_illegal="skip", loaded=[ODD, DEFINITIONS[0]])

    assert (ODD.id in made.names) is (provider not in STRICT_ABOUT_NAMES)


@pytest.mark.req("CT-15")
async def test_a_server_for_the_claude_agent_sdk_leaves_out_what_is_forbidden() -> None:
    async def handle(tool_id: str, arguments: dict[str, Any]) -> object:
        return [tool_id, arguments]

    server = create_claude_agent_server([*DEFINITIONS, ODD], handle, on_illegal="skip")

    assert list(server.tools.skipped) == [ODD.id]
    async with Client(server.config["instance"]) as client:
        assert len((await client.list_tools()).tools) == len(DEFINITIONS)
    assert len(to_sdk_mcp_tools([*DEFINITIONS, ODD], handle, on_illegal="skip")) == len(DEFINITIONS)


@pytest.mark.req("CT-15")
def test_a_server_of_runnable_tools_alone_has_nothing_that_runs_them_by_the_rules() -> None:
    for given in (TOOLBOX.tools, TOOLBOX.tools[0]):
        with pytest.raises(CatalogError, match=r"Nothing runs these tools. Give a toolbox"):
            create_claude_agent_server(given)
