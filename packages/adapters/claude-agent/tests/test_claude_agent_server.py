"""The server that the Claude Agent SDK runs, asked over the protocol itself."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server
from claude_agent_sdk._internal.sdk_mcp_bridge import SdkMcpBridge
from mcp import Client
from mcp.types import CallToolResult, ImageContent

from tests.adapters.arithmetic import DEFINITIONS, TOOLBOX
from toolcrib_claude_agent import ResultContent, create_claude_agent_server, to_sdk_mcp_tools
from toolcrib_core import CatalogError, ToolDefinition, create_registry, create_tool_error

ECHO = ToolDefinition(
    namespace="test",
    name="echo",
    version="1.0.0",
    description="Say it again.",
    input_schema={
        "type": "object",
        "properties": {"text": {"type": "string", "pattern": r"^\p{L}+$"}, "times": {"type": "integer", "minimum": 1}},
        "required": ["text"],
        "additionalProperties": False,
    },
)


def text_of(result: CallToolResult) -> str:
    return "".join(each.text for each in result.content if each.type == "text")


async def answer(given: object, **arguments: Any) -> CallToolResult:
    """What the server says to a call whose handler gives or raises this."""

    async def handle(tool_id: str, received: dict[str, Any]) -> object:
        assert (tool_id, received) == (ECHO.id, arguments)
        if isinstance(given, Exception):
            raise given
        return given

    server = create_claude_agent_server([ECHO], handle)
    async with Client(server.config["instance"]) as client:
        return await client.call_tool("test__echo", arguments)


@pytest.mark.req("AD-1", "AD-9")
async def test_a_toolbox_is_listed_and_runs_its_own_tools() -> None:
    server = create_claude_agent_server(TOOLBOX, name="math")
    async with Client(server.config["instance"]) as client:
        listed = await client.list_tools()
        added = await client.call_tool("math__add", {"a": 2, "b": 3})
        failed = await client.call_tool("math__divide", {"a": 1, "b": 0})

    assert [each.model_dump(by_alias=True, exclude_none=True) for each in listed.tools] == server.tools.tools
    assert (text_of(added), added.is_error) == ("5", False)
    assert failed.is_error
    assert server.permissions.allowed == ["mcp__math__math__add", "mcp__math__math__divide"]
    options = ClaudeAgentOptions(mcp_servers={"math": server.config}, allowed_tools=server.permissions.allowed)
    assert options.mcp_servers == {"math": server.config}


@pytest.mark.req("AD-9")
async def test_the_bridge_of_the_sdk_reaches_the_tools() -> None:
    server = create_claude_agent_server(TOOLBOX, name="math")
    bridge = SdkMcpBridge("math", server.config["instance"])
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2.1"},
    }

    await bridge.handle({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    await bridge.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})
    listed = await bridge.handle({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    call = {"name": "math__add", "arguments": {"a": 1, "b": 1}}
    called = await bridge.handle({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call})
    await bridge.aclose()

    assert listed is not None
    assert [each["name"] for each in listed["result"]["tools"]] == ["math__add", "math__divide"]
    assert called is not None
    assert called["result"]["content"] == [{"type": "text", "text": "2"}]


@pytest.mark.req("AD-4")
@pytest.mark.parametrize(
    ("given", "text", "structured"),
    [
        pytest.param("plain", "plain", None, id="text"),
        pytest.param({"a": [1]}, '{"a":[1]}', {"a": [1]}, id="object"),
        pytest.param([1, 2], "[1,2]", None, id="list"),
        pytest.param(None, "null", None, id="nothing"),
        pytest.param(ResultContent("", value=3), "3", None, id="result"),
        pytest.param({"content": [{"type": "text", "text": "as the SDK has it"}]}, "as the SDK has it", None, id="SDK"),
    ],
)
async def test_what_a_handler_gives_is_a_result(given: object, text: str, structured: object) -> None:
    result = await answer(given, text="Hi")

    assert (text_of(result), result.structured_content, result.is_error) == (text, structured, False)


@pytest.mark.req("AD-4")
async def test_pictures_go_as_they_are() -> None:
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}

    result = await answer(ResultContent("", value={"points": 1}, blocks=(picture,)), text="Hi")

    assert isinstance(result.content[0], ImageContent)
    assert result.structured_content is None


@pytest.mark.req("AD-3")
@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("test__ecoh", {}, "Did you mean `mcp__toolcrib__test__echo`?"),
        ("test__echo", {"text": "1"}, "`/text` must match the pattern"),
        ("test__echo", {"text": "ü", "times": 0}, "`/times` must be at least 1"),
        ("test__echo", {"txet": "ü"}, "Did you mean `text`?"),
    ],
)
async def test_a_call_that_cannot_run_is_told_what_to_send_instead(
    name: str, arguments: dict[str, Any], said: str
) -> None:
    async def never(*_: object) -> object:
        raise AssertionError

    server = create_claude_agent_server(create_registry([ECHO]), never)
    async with Client(server.config["instance"]) as client:
        result = await client.call_tool(name, arguments)

    assert result.is_error
    assert said in text_of(result)


@pytest.mark.req("AD-4")
async def test_an_error_of_the_tool_is_told_in_its_own_words() -> None:
    result = await answer(create_tool_error("tool.test.echo.hoarse", "Hoarse.", hint="Rest."), text="Hi")

    assert (text_of(result), result.is_error) == ("Hoarse. Rest.", True)


@pytest.mark.req("AD-4")
@pytest.mark.parametrize("given", [RuntimeError("password=hunter2"), object(), {"content": [{"type": "no-such"}]}])
async def test_a_fault_of_the_handler_is_logged_and_not_told(given: object, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        result = await answer(given, text="Hi")

    assert result.is_error
    assert "hunter2" not in text_of(result)
    assert "`" in text_of(result)


@pytest.mark.req("AD-1")
async def test_an_object_that_runs_tools_by_name_can_be_the_handler() -> None:
    server = create_claude_agent_server(DEFINITIONS, TOOLBOX, name="math")
    async with Client(server.config["instance"]) as client:
        assert text_of(await client.call_tool("mcp__math__math__add", {"a": 1, "b": 2})) == "3"


@pytest.mark.req("AD-1")
def test_tools_that_nothing_runs_are_refused() -> None:
    with pytest.raises(CatalogError, match="Nothing runs these tools"):
        create_claude_agent_server([ECHO])


@pytest.mark.req("AD-1", "AD-2")
async def test_tools_of_the_sdk_keep_patterns_away_from_its_validation_and_hold_to_them_themselves() -> None:
    async def handle(_: str, received: dict[str, Any]) -> object:
        return received["text"]

    (echo,) = to_sdk_mcp_tools([ECHO], handle)

    assert "pattern" not in echo.input_schema["properties"]["text"]
    assert "pattern" in echo.input_schema["properties"]["text"]["description"]
    config = create_sdk_mcp_server("mine", tools=[echo])
    async with Client(config["instance"]) as client:
        said = await client.call_tool("test__echo", {"text": "ü"})
        refused = await client.call_tool("test__echo", {"text": "1"})
    assert text_of(said) == "ü"
    assert refused.is_error
    assert "must match the pattern" in text_of(refused)
