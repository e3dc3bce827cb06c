"""One tool file: called from Python, from the command line and through the gateway, and exported to every provider."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from toolcrib_toolpacks import Toolpack, ToolpackLoader, open_toolbox

FILE = """\
id: text.statistics.words
version: "1.2.0"
title: Count words
description: Counts the words of a text, and finds the longest.
tags: [text]
deterministic: true
timeoutMs: 10000
limits: {maxInputBytes: 65536, maxOutputBytes: 65536}
inputSchema: {$ref: schemas/text.json}
outputSchema:
  type: object
  properties:
    words: {type: integer}
    longest: {type: string}
  required: [words, longest]
execution: {kind: python, module: "words:count"}
risk: {effects: none, idempotent: true, dataSensitivity: public}
searchCases: [how many words are in this text]
"""
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "least": {"type": "integer", "minimum": 0, "default": 0}},
    "required": ["text"],
    "additionalProperties": False,
}
CODE = """\
def count(text, least=0):
    words = [each for each in text.split() if len(each) >= least]
    return {"words": len(words), "longest": max(words, key=len, default="")}
"""
ARGUMENTS = {"text": "one three eleven", "least": 4}
ANSWER = {"words": 2, "longest": "eleven"}

PROVIDERS = {
    "toolcrib_openai": "to_openai_tools",
    "toolcrib_anthropic": "to_anthropic_tools",
    "toolcrib_gemini": "to_gemini_tools",
    "toolcrib_claude_agent": "to_claude_agent_tools",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("everywhere") / "packs"
    (root / "schemas").mkdir(parents=True)
    (root / "words.tool.yaml").write_text(FILE, "utf-8")
    (root / "words.py").write_text(CODE, "utf-8")
    (root / "schemas/text.json").write_text(json.dumps(SCHEMA), "utf-8")
    return root


@pytest.fixture(scope="module")
def pack(folder: Path) -> Toolpack:
    (loaded,) = ToolpackLoader().load_dir(folder)
    return loaded


def _toolcrib(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolcrib_cli", *words], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.req("TP-13", "TP-20")
async def test_the_pack_is_called_from_python(pack: Toolpack) -> None:
    async with open_toolbox([pack]) as toolbox:
        result = await toolbox.call("text:statistics.words", ARGUMENTS)

    assert result.unwrap() == ANSWER


@pytest.mark.req("TP-28")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["text:statistics.words", "text.statistics.words", "text:statistics.words@1.2.0"])
def test_the_pack_is_called_from_the_command_line(folder: Path, name: str) -> None:
    pairs = [f"{key}={value}" for key, value in ARGUMENTS.items()]

    ended = _toolcrib("toolpack", "run", name, *pairs, "--dir", str(folder))

    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout) == ANSWER


@pytest.mark.req("TP-13", "TP-28")
@pytest.mark.slow
async def test_the_pack_is_found_and_called_through_the_gateway(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "toolcrib_cli", "serve", "--toolpacks", str(folder), "--state-dir", str(tmp_path)]
    server = StdioServerParameters(command=command[0], args=command[1:])

    async with Client(server, read_timeout_seconds=30) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("tool_browse", {"query": "how many words are in this text"})
        tool_id = re.findall(r"text:\S+", _text(found))[0]
        result = await client.call_tool("tool_execute", {"tool_id": tool_id, "args": ARGUMENTS})
        refused = await client.call_tool("tool_execute", {"tool_id": tool_id, "args": {"txt": "x"}})

    assert "tool_execute" in names
    assert tool_id == "text:statistics.words@1.2.0"
    assert json.loads(_text(result)) == ANSWER
    assert "text" in _text(refused)
    assert refused.is_error


@pytest.mark.req("TP-13")
@pytest.mark.parametrize("module", PROVIDERS)
def test_the_pack_is_exported_to_a_provider_with_its_description_and_inputs(pack: Toolpack, module: str) -> None:
    adapter = import_module(module)

    exported = getattr(adapter, PROVIDERS[module])([pack.definition])
    tools = _plain(exported.tools)

    assert "Counts the words of a text" in json.dumps(tools)
    assert {"text", "least"} in [set(schema["properties"]) for schema in _schemas(tools)]


def _text(result: Any) -> str:
    return str(result.content[0].text)


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=lambda each: each.model_dump(mode="json", exclude_none=True)))


def _schemas(value: Any) -> list[dict[str, Any]]:
    """Every schema with properties, wherever a provider puts it."""
    if isinstance(value, list):
        return [found for each in value for found in _schemas(each)]
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("properties"), dict):
        return [value]
    return [found for each in value.values() for found in _schemas(each)]
