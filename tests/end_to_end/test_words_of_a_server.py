"""What an HTTP server answers to the call of a tool file, as each provider, the command line and a client read it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client, StdioServerParameters

from tests.adapters.http_server import Reply, serving
from toolcrib_anthropic import parse_anthropic_calls, to_anthropic_results, to_anthropic_tools
from toolcrib_claude_agent import create_claude_agent_server
from toolcrib_core.excerpts import MAX_EXCERPT
from toolcrib_gemini import parse_gemini_calls, to_gemini_results, to_gemini_tools
from toolcrib_openai import parse_openai_calls, to_openai_results, to_openai_tools
from toolcrib_runtime import Toolbox
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_toolpacks import RunSettings, ToolpackLoader, open_toolbox

pytestmark = [pytest.mark.req("CT-3"), pytest.mark.enable_socket]

SECRET: Final = "ghp_" + "a1B2" * 9
SAID: Final = f'{{"error": "no stock of “lamps”",\n "token": "{SECRET}", "trace": "{"x" * 5000}"}}'
BEGINNING: Final = 'The server or program itself said: “{"error": "no stock of "lamps"", "token": "'
ARGUMENTS: Final = {"item": "lamp"}
PACK: Final = """\
id: shop.order
version: "1.0.0"
title: Order an item
description: Orders an item of the shop.
tags: [shop]
deterministic: false
timeoutMs: 10000
limits: {{maxInputBytes: 65536, maxOutputBytes: 65536}}
inputSchema: {{type: object, properties: {{item: {{type: string}}}}, required: [item], additionalProperties: false}}
outputSchema: {{type: object}}
execution: {{kind: http, method: POST, url: "{url}/orders"}}
risk: {{effects: read}}
caps: {{network: [http]}}
"""


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A tool file for a server that refuses everything with one status."""
    with serving(lambda *_: Reply(getattr(request, "param", 422), SAID.encode())) as url:
        (tmp_path / "order.tool.yaml").write_text(PACK.format(url=url), "utf-8")
        yield tmp_path


@pytest.fixture
async def toolbox(folder: Path) -> AsyncIterator[Toolbox]:
    settings = RunSettings(network=NetGrant(allow_loopback=True, allow_http=True))
    async with open_toolbox(ToolpackLoader().load_dir(folder), settings=settings) as opened:
        yield opened


def _is_excerpt(text: str) -> bool:
    """Whether the text is the beginning of what the server said: marked, on one line, bounded, without its secret."""
    whole = text.startswith(BEGINNING) and text.endswith("…”") and "\n" not in text
    return whole and SECRET not in text and len(text) <= MAX_EXCERPT + 50


@pytest.mark.parametrize("folder", [422, 503], indirect=True)
async def test_every_provider_gets_the_words_of_the_server(toolbox: Toolbox) -> None:
    openai, chat = to_openai_tools(toolbox), to_openai_tools(toolbox, api="chat")
    anthropic, gemini = to_anthropic_tools(toolbox), to_gemini_tools(toolbox)
    asked = json.dumps(ARGUMENTS)
    function = {"id": "c1", "type": "function", "function": {"name": "shop__order", "arguments": asked}}
    from_openai = parse_openai_calls(
        [{"type": "function_call", "call_id": "c1", "name": "shop__order", "arguments": asked}], openai
    )
    from_chat = parse_openai_calls({"tool_calls": [function]}, chat)
    from_anthropic = parse_anthropic_calls(
        [{"type": "tool_use", "id": "c1", "name": "shop__order", "input": ARGUMENTS}], anthropic
    )
    from_gemini = parse_gemini_calls([{"function_call": {"name": "shop__order", "args": ARGUMENTS}}], gemini)

    (response,) = to_openai_results(from_openai, await toolbox.execute(from_openai.calls), openai)
    (message,) = to_openai_results(from_chat, await toolbox.execute(from_chat.calls), chat)
    block: Any = to_anthropic_results(from_anthropic, await toolbox.execute(from_anthropic.calls))
    content: Any = to_gemini_results(from_gemini, await toolbox.execute(from_gemini.calls))

    assert _is_excerpt(json.loads(str(response["output"]))["error"]["excerpt"])
    assert _is_excerpt(json.loads(str(message["content"]))["error"]["excerpt"])
    assert _is_excerpt(block["content"][0]["content"].split("\n", 1)[1])
    assert block["content"][0]["is_error"]
    assert _is_excerpt(content["parts"][0]["function_response"]["response"]["error"]["excerpt"])


async def test_the_claude_agent_sdk_gets_the_words_of_the_server(toolbox: Toolbox) -> None:
    server = create_claude_agent_server(toolbox)

    async with Client(server.config["instance"]) as client:
        result: Any = await client.call_tool("shop__order", ARGUMENTS)

    assert result.is_error
    assert _is_excerpt(result.content[0].text.split("\n", 1)[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "folders"), [(("call", "shop:order"), "--toolpacks"), (("toolpack", "run", "shop:order"), "--dir")]
)
def test_the_command_line_prints_the_words_of_the_server(folder: Path, command: tuple[str, ...], folders: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "toolcrib_cli", *command, "item=lamp", folders, str(folder), *_GRANTED],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=folder,
    )

    assert ended.returncode == 1
    assert any(_is_excerpt(line.strip()) for line in ended.stderr.splitlines()), ended.stderr
    assert SECRET not in ended.stdout + ended.stderr


@pytest.mark.slow
async def test_a_client_of_the_protocol_gets_the_words_of_the_server(folder: Path, tmp_path: Path) -> None:
    serve = ["-m", "toolcrib_cli", "serve", "--toolpacks", str(folder), "--state-dir", str(tmp_path / "state")]
    server = StdioServerParameters(command=sys.executable, args=[*serve, *_GRANTED])

    async with Client(server, read_timeout_seconds=30) as client:
        result: Any = await client.call_tool("tool_execute", {"tool_id": "shop:order", "args": ARGUMENTS})

    assert result.is_error
    assert _is_excerpt(json.loads(result.content[0].text)["excerpt"])


_GRANTED: Final = ("--allow", "http", "--allow", "loopback")
