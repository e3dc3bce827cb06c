"""The configurations of clients that the documentation shows are imported and served as they stand there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from checks.workspace import ROOT
from tests.docs.data_blocks import variables
from tests.docs.fenced_blocks import Block, read_blocks

PAGE = ROOT / "docs/how-to/import-client-config.md"
CONFIGS = [block for block in read_blocks(PAGE.read_text("utf-8")) if block.language == "json" and block.title]
PROGRAMS = ("npx", "uvx", "docker")
META_TOOLS = {"tool_browse", "tool_execute", "tool_view"}
TOOLCRIB = Path(sys.executable).parent / "toolcrib"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """As at a reader's, whose servers are all the small one of the examples, whatever program brings them."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/examples/notes_server.py"\n', "utf-8")
        program.chmod(0o755)
    kept = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}
    return kept | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}


def _init(*options: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [str(TOOLCRIB), "init", *options]
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=lambda block: block.title)
async def test_a_pasted_configuration_is_imported_and_served(
    config: Block, environment: dict[str, str], tmp_path: Path
) -> None:
    pasted, imported = tmp_path / "pasted.json", tmp_path / "mcp.json"
    pasted.write_text(config.text, "utf-8")

    init = _init("--from", str(pasted), "--output", str(imported), "--yes", "--json", environment=environment)

    assert init.returncode == 0, init.stderr
    written = imported.read_text("utf-8")
    assert "your-" not in written  # what stands for a secret in the page
    servers = list(json.loads(written)["mcpServers"])
    set_by_reader = dict.fromkeys(variables(written), "value")
    serve = StdioServerParameters(
        command=str(TOOLCRIB), args=["serve", "--config", str(imported)], env=environment | set_by_reader
    )
    async with Client(serve, read_timeout_seconds=60) as client:
        assert {each.name for each in (await client.list_tools()).tools} == META_TOOLS
        for name in servers:
            # The path of a server waits for it.
            await client.call_tool("tool_browse", {"path": f"/{name}"})
        browsed = await client.call_tool("tool_browse", {"path": "/"})
        said = str(browsed.content)
    assert [name for name in servers if f"/{name}" not in said] == []


def test_the_four_clients_are_there_and_their_programs_are_known() -> None:
    titles = [str(block.title) for block in CONFIGS]

    assert titles == ["claude_desktop_config.json", ".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"]
    assert shutil.which(str(TOOLCRIB))
