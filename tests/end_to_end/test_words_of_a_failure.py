"""What a server says of a failure reaches the model by every way that a result takes."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from toolcrib_anthropic import parse_anthropic_calls, to_anthropic_results, to_anthropic_tools
from toolcrib_claude_agent import to_claude_agent_result
from toolcrib_core import ToolCall, ToolError
from toolcrib_gemini import parse_gemini_calls, to_gemini_results, to_gemini_tools
from toolcrib_openai import parse_openai_calls, to_openai_results, to_openai_tools
from toolcrib_runtime import create_toolbox, tool
from toolcrib_runtime.calls import ToolResult

MODULE = '''
from toolcrib_runtime import create_toolbox, tool
from toolcrib_core import ToolError

@tool(effects="read")
def forecast(city: str) -> str:
    """The weather of a city."""
    raise ToolError(
        "The weather server answered with status 422.",
        category="validation",
        hint="Correct the arguments.",
        details={"status": 422, "excerpt": f"no city called {city};\\n token ghp_" + "a1B2" * 9},
    )

toolbox = create_toolbox([forecast])
'''
MARKED = "The server or program itself said: “no city called Atlantis; token ••••”"
CALL_ID = "c1"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "weather.py"
    path.write_text(MODULE, "utf-8")
    return path


@pytest.fixture
async def failed(module: Path) -> ToolResult:
    namespace = runpy.run_path(str(module))
    result = await namespace["toolbox"].execute(ToolCall(tool="forecast", arguments={"city": "Atlantis"}, id=CALL_ID))
    assert isinstance(result, ToolResult)
    return result


@tool(namespace="default", name="forecast")
def forecast(city: str) -> str:
    """The weather of a city."""
    return city


def _openai_call(kind: str) -> Mapping[str, Any]:
    if kind == "responses":
        return {"type": "function_call", "call_id": CALL_ID, "name": "forecast", "arguments": '{"city": "Atlantis"}'}
    function = {"name": "forecast", "arguments": '{"city": "Atlantis"}'}
    return {"tool_calls": [{"id": CALL_ID, "type": "function", "function": function}]}


@pytest.mark.req("CT-3")
async def test_the_text_of_a_result_has_the_words_of_the_server(failed: ToolResult) -> None:
    assert failed.text == f"The weather server answered with status 422. Correct the arguments.\n{MARKED}"
    assert failed.content == ({"type": "text", "text": failed.text},)


@pytest.mark.req("CT-3")
@pytest.mark.parametrize("kind", ["responses", "chat"])
async def test_openai_gets_the_words_of_the_server(failed: ToolResult, kind: str) -> None:
    tools = to_openai_tools([forecast.definition])
    call = _openai_call(kind)
    response = {"output": [call]} if kind == "responses" else call

    (answer,) = to_openai_results(parse_openai_calls(response, tools), [failed], tools)

    text = answer["output" if kind == "responses" else "content"]
    assert json.loads(str(text))["error"]["excerpt"] == MARKED


@pytest.mark.req("CT-3")
async def test_anthropic_gets_the_words_of_the_server(failed: ToolResult) -> None:
    tools = to_anthropic_tools([forecast.definition])
    block = {"type": "tool_use", "id": CALL_ID, "name": "forecast", "input": {"city": "Atlantis"}}

    answer: Any = to_anthropic_results(parse_anthropic_calls([block], tools), [failed])

    assert answer["content"] == [
        {"type": "tool_result", "tool_use_id": CALL_ID, "content": failed.text, "is_error": True}
    ]


@pytest.mark.req("CT-3")
async def test_gemini_gets_the_words_of_the_server(failed: ToolResult) -> None:
    tools = to_gemini_tools([forecast.definition])
    part = {"function_call": {"id": CALL_ID, "name": "forecast", "args": {"city": "Atlantis"}}}

    answer: Any = to_gemini_results(parse_gemini_calls([part], tools), [failed])

    assert answer["parts"][0]["function_response"]["response"]["error"]["excerpt"] == MARKED


@pytest.mark.req("CT-3")
async def test_the_claude_agent_gets_the_words_of_the_server(failed: ToolResult) -> None:
    assert to_claude_agent_result(failed) == {
        "content": [{"type": "text", "text": failed.text}],
        "isError": True,
    }


@pytest.mark.req("CT-3")
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["gateway", "proxy", "transparent"])
async def test_a_client_of_the_protocol_gets_the_words_of_the_server(module: Path, tmp_path: Path, mode: str) -> None:
    command = ["-m", "toolcrib_cli", "serve", "--toolbox", f"{module}:toolbox", "--state-dir", str(tmp_path / "state")]
    server = StdioServerParameters(command=sys.executable, args=[*command, "--mode", mode])
    arguments = {"city": "Atlantis"}

    async with Client(server, read_timeout_seconds=30) as client:
        if mode == "transparent":
            name = next(each.name for each in (await client.list_tools()).tools if "forecast" in each.name)
            result: Any = await client.call_tool(name, arguments)
        else:
            result = await client.call_tool("tool_execute", {"tool_id": "weather:forecast", "args": arguments})

    assert result.is_error
    assert json.loads(result.content[0].text)["excerpt"] == MARKED


@pytest.mark.req("CT-3")
@pytest.mark.slow
def test_the_command_line_prints_the_words_of_the_server(module: Path, tmp_path: Path) -> None:
    command = ["-m", "toolcrib_cli", "call", "forecast", "city=Atlantis", "--toolbox", f"{module}:toolbox"]

    ended = subprocess.run(
        [sys.executable, *command, "--yes", "--state-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert ended.returncode == 1
    assert ended.stderr == (
        f"error: The weather server answered with status 422.\n  {MARKED}\nhint: Correct the arguments.\n"
    )


@pytest.mark.req("CT-3")
async def test_a_write_that_may_have_happened_keeps_the_words_of_the_server() -> None:
    @tool(effects="write")
    def pay() -> None:
        """Pay."""
        from toolcrib_runtime.errors import FetchFailed

        raise FetchFailed("The bank answered with status 503.", details={"excerpt": "queued"})

    result = await create_toolbox([pay]).call("pay", {})

    assert isinstance(result.error, ToolError)
    assert result.error.category == "unknown_outcome"
    assert result.text.endswith("\nThe server or program itself said: “queued”")
