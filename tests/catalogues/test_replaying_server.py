"""The server that replays a catalogue, as a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, types

from tests.catalogues import replaying_server
from tests.catalogues.catalogues import invented_servers
from tests.catalogues.replaying_server import ReplayingServer


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    file = tmp_path / "catalogue.jsonl"
    rows = [{"server": server, "tool": tool} for server, tools in invented_servers().items() for tool in tools]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return file


async def test_the_process_lists_the_tools_of_one_server_and_echoes_calls(catalogue: Path) -> None:
    script = ["-I", "-S", replaying_server.__file__, str(catalogue), "clinic"]

    async with Client(StdioServerParameters(command=sys.executable, args=script), read_timeout_seconds=20) as client:
        listed = await client.list_tools()
        called = await client.call_tool("create_patient", {"title": "Mx Heron"})

    told = [tool.model_dump(by_alias=True, exclude_unset=True) for tool in listed.tools]
    assert told == invented_servers()["clinic"]
    (block,) = called.content
    assert isinstance(block, types.TextContent)
    assert json.loads(block.text) == {"name": "create_patient", "arguments": {"title": "Mx Heron"}}


def test_a_call_of_a_tool_that_is_not_listed_is_an_error() -> None:
    server = ReplayingServer([])

    answer = server.answer({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "lost"}})

    assert answer is not None
    assert answer["result"]["isError"] is True
    assert server.calls == [("lost", {})]


def test_notifications_are_not_answered_and_strange_methods_are_refused() -> None:
    server = ReplayingServer([])

    assert server.answer({"jsonrpc": "2.0", "method": "notifications/initialized"}) is None
    refused = server.answer({"jsonrpc": "2.0", "id": 1, "method": "prompts/list"})

    assert refused is not None
    assert refused["error"]["code"] == -32601
